"""rule-violation: does the draft break a rule?

Rules are data: packs in ``rules/`` beside this file, and those that the judge's option ``rules`` names. A rule's text
is quoted from its document, the draft's words from the draft, and no credential from either.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, JsonValue, ValidationError, model_validator

from tribunal.errors import ConfigurationError
from tribunal.judging import Abstain, Packet, judge
from tribunal.model import Answer, Frozen
from tribunal.redaction import Secret, find_secrets, mask
from workers.judges.branches import with_branches
from workers.judges.budget import Budget
from workers.judges.files import UnreadableError, read_file
from workers.judges.text import (
    PASSAGE_LIMIT,
    Kind,
    Passage,
    attributed,
    excerpt,
    narrated,
    negated,
    passages,
    question,
    quoted,
    readable,
)

BUILT_IN = Path(__file__).parent / "rules"
HITS_LIMIT = 20
"""At most so many hits are reported, those that veto first."""
WARNING_COST = 40
"""What the hit of a lesser rule takes from the score of 100."""
VETO_CONFIDENCE = 0.8
"""A veto below this is a doubt: the panel warns."""
READ_LIMIT = 250_000
"""Characters of a draft that are read."""
BUDGET_SHARE = 0.6
"""What the reading may take of the seat's time."""

Exemption = Literal["negation", "quotation", "question", "narration", "attribution"]


class Rule(Frozen):
    """One rule, as its pack states it."""

    id: Annotated[str, Field(min_length=1, max_length=80)]
    rule_file: Annotated[str, Field(min_length=1, max_length=120)]
    """The document that holds the rule's words, beside the pack."""
    lines: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    """First and last line of the rule in its document, from 1."""
    title: str
    severity: Literal["veto", "warn"]
    """Whether a hit blocks the draft; a ``warn`` has a confidence below 0.8, so that the panel takes it as a doubt."""
    confidence: Annotated[float, Field(ge=0, le=1)]
    detector: Literal["patterns", "secrets"] = "patterns"
    patterns: tuple[str, ...] = ()
    """Regular expressions on folded text (lower case, no accents)."""
    unless: tuple[str, ...] = ()
    """Where one of these is in the same clause (up to a semicolon), the rule is not broken."""
    followed_unless: tuple[str, ...] = ()
    """Nor where one of these is in the same sentence or the next one."""
    exceptions: tuple[Exemption, ...] = ("negation", "quotation", "question", "narration")
    """Where the draft denies the words, quotes them, asks, tells what happened, or (claims) says who claims it."""
    where: tuple[Kind, ...] = ("prose", "code", "quote")

    @model_validator(mode="after")
    def _holds_together(self) -> "Rule":
        if (self.severity == "veto") != (self.confidence >= VETO_CONFIDENCE):
            raise ValueError(f"a confidence of at least {VETO_CONFIDENCE} for veto, below it for warn")
        if (self.detector == "patterns") != bool(self.patterns):
            raise ValueError('patterns, or detector = "secrets" without any')
        for pattern in (*self.patterns, *self.unless, *self.followed_unless):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"a regular expression, but {pattern!r} is none ({error})") from error
        return self


class Pack(Frozen):
    """A file of rules."""

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]


class Loaded(NamedTuple):
    """A rule ready for use."""

    rule: Rule
    text: str
    """The rule's own words, on one line."""
    pattern: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    followed_unless: re.Pattern[str] | None


class Hit(NamedTuple):
    """A rule and the draft's words that break it."""

    rule: Rule
    text: str
    match: str


class Reading(NamedTuple):
    """What reading a draft gave."""

    hits: list[Hit]
    """Each broken rule with the first words that break it, in the order of the rules."""
    read: int
    """Characters that were read, counted in the text as the judges read it."""
    whole: bool
    """Whether that is all of it."""


@judge
def rule_violation(packet: Packet) -> Answer | Abstain:
    """Finds what in the draft breaks a rule: credentials, unsafe autonomy, dishonesty, and the rules of extra packs.

    A draft that it could not read to its end is never clean: what was found counts, and without it the seat abstains.
    """
    budget = Budget(packet.seconds * BUDGET_SHARE)
    hits, read, whole = find_hits(packet.subject, rules_of(packet.options), lambda: budget.spent)
    far = "" if whole else f"only the first {read:,} of {len(packet.subject):,} characters were read"
    if far and not hits:
        return Abstain(reason=f"{far}; they break no rule, the rest may: shorten the draft")
    vetoes = [hit for hit in hits if hit.rule.severity == "veto"]
    gravest_first = [*vetoes, *(hit for hit in hits if hit.rule.severity == "warn")]
    score = 0 if vetoes else max(0, 100 - WARNING_COST * len({hit.rule.id for hit in hits}))
    if hits:
        named = dict.fromkeys(f"{hit.rule.id} ({hit.rule.title})" for hit in gravest_first)
        reason = f"breaks {', '.join(named)}{'; ' if far else ''}{far}"
    else:
        reason = "breaks no rule"
    return {
        "score": score,
        "veto": bool(hits),
        "confidence": max((hit.rule.confidence for hit in vetoes or hits), default=0.8),
        "reason": reason,
        "rules_hit": [
            {
                "rule_id": hit.rule.id,
                "rule_file": hit.rule.rule_file,
                "rule_excerpt": hit.text,
                "draft_match": hit.match,
                "lines": list(hit.rule.lines),
                "confidence": hit.rule.confidence,
            }
            for hit in gravest_first[:HITS_LIMIT]
        ],
    }


def find_hits(draft: str, rules: tuple[Loaded, ...], spent: Callable[[], bool] = lambda: False) -> Reading:
    """The rules that ``draft`` breaks; reading ends at ``READ_LIMIT``, and earlier once ``spent`` says so."""
    text = readable(draft)
    begin = text[:READ_LIMIT]
    secrets = find_secrets(begin)
    found: dict[int, str] = {}
    if secrets:
        leaked = _shown(begin, secrets[0])
        found = {index: leaked for index, loaded in enumerate(rules) if loaded.rule.detector == "secrets"}
    # Masked before it is cut into passages: a part of a key is no longer recognised as one.
    parts = _sentences(with_branches(passages(mask(begin, secrets))))
    read = 0
    for at, part in enumerate(parts):
        if spent():
            break
        following = parts[at + 1].folded if at + 1 < len(parts) else ""
        for index, loaded in enumerate(rules):
            if index not in found and _breaks(loaded, part, following):
                found[index] = excerpt(part.text)
        read += len(part.text) + 1
    else:
        read = len(begin)
    hits = [Hit(rules[index].rule, rules[index].text, found[index]) for index in sorted(found)]
    return Reading(hits, min(read, len(begin)), whole=read == len(text))


def _sentences(parts: Iterable[Passage]) -> list[Passage]:
    """The passages, with those put together again that only a semicolon parts."""
    whole: list[Passage] = []
    for part in parts:
        last = whole[-1] if whole else None
        if (
            last
            and last.text.endswith(";")
            and last.kind == part.kind == "prose"
            and last.lead == part.lead
            and len(last.text) + len(part.text) < PASSAGE_LIMIT
        ):
            whole[-1] = last._replace(text=f"{last.text} {part.text}", folded=f"{last.folded} {part.folded}")
        else:
            whole.append(part)
    return whole


def _shown(text: str, secret: Secret) -> str:
    value = text[secret.start : secret.end]
    return excerpt(mask(value, [Secret(secret.kind, 0, len(value))]))


def _breaks(loaded: Loaded, passage: Passage, following: str) -> bool:
    """Whether the passage has words that break a rule of patterns and are not exempt."""
    rule, pattern = loaded.rule, loaded.pattern
    if pattern is None or passage.kind not in rule.where:
        return False
    at = 0
    # One match may hide a later one that begins inside it: "Never push --force main, but … push --force main".
    while match := pattern.search(passage.folded, at):
        start, end = match.span()
        if not (_excused(loaded, passage, start, end, following) or _exempt(rule, passage, start, end)):
            return True
        at = start + 1
    return False


def _excused(loaded: Loaded, passage: Passage, start: int, end: int, following: str) -> bool:
    before, after = passage.folded[:start].rpartition(";")[2], passage.folded[end:].partition(";")[0]
    if loaded.unless and loaded.unless.search(before + passage.folded[start:end] + after):
        return True
    return bool(loaded.followed_unless and loaded.followed_unless.search(f"{passage.folded} {following}"))


def _exempt(rule: Rule, passage: Passage, start: int, end: int) -> bool:
    return (
        ("negation" in rule.exceptions and negated(passage, start, end))
        or ("quotation" in rule.exceptions and quoted(passage, start, end))
        or ("question" in rule.exceptions and question(passage))
        or ("narration" in rule.exceptions and narrated(passage, start, end))
        or ("attribution" in rule.exceptions and attributed(passage, start))
    )


def rules_of(options: Mapping[str, JsonValue]) -> tuple[Loaded, ...]:
    """The built-in rules and those of the packs that the option ``rules`` names (paths of TOML files).

    Raises:
        ConfigurationError: an option is unknown or wrong, or a pack is.
    """
    unknown = set(options) - {"rules"}
    named = options.get("rules", [])
    if unknown or not isinstance(named, list) or not all(isinstance(path, str) for path in named):
        raise ConfigurationError(
            f'rule-violation takes the option "rules", a list of paths; {json.dumps(dict(options))[:200]} came'
        )
    return built_in_rules() + tuple(rule for path in named for rule in _extra_pack(Path(str(path))))


@cache
def built_in_rules() -> tuple[Loaded, ...]:
    """The rules of every pack beside this file."""
    return tuple(rule for path in sorted(BUILT_IN.glob("*.toml")) for rule in load_pack(path))


def _extra_pack(path: Path) -> tuple[Loaded, ...]:
    try:
        facts = path.expanduser().stat()
    except OSError as error:
        raise ConfigurationError(f"rule pack {path}: cannot be read ({error.strerror}); check the path") from error
    return _cached_pack(path.expanduser(), facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=64)
def _cached_pack(path: Path, _modified: int, _size: int) -> tuple[Loaded, ...]:
    return load_pack(path)


def load_pack(path: Path) -> tuple[Loaded, ...]:
    """The rules of one pack, each with its words from its document.

    Raises:
        ConfigurationError: the pack or a document cannot be read, or does not fit; the message names what.
    """
    try:
        pack = Pack.model_validate_json(json.dumps(tomllib.loads(read_file(path))))
        return tuple(_load(rule, path.parent) for rule in pack.rules)
    except UnreadableError as error:
        raise ConfigurationError(f"rule pack {path}: {error}") from error
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise ConfigurationError(f"rule pack {path}: not valid TOML of strings, numbers and lists: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(f"rule pack {path}: {where}: {first['msg']}") from error


def _load(rule: Rule, folder: Path) -> Loaded:
    root = folder.resolve()
    document = read_file(root / rule.rule_file, root).splitlines()
    first, last = rule.lines
    words = _plain(" ".join(document[first - 1 : last]))
    if not words:
        raise UnreadableError(f"{rule.id}: {rule.rule_file} has no text on the lines {first} to {last}")
    return Loaded(rule, excerpt(words), _any(rule.patterns), _any(rule.unless), _any(rule.followed_unless))


_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_EMPHASIS = re.compile(r"\*{1,3}|`+|(?<!\w)_{1,2}|_{1,2}(?!\w)")


def _plain(words: str) -> str:
    """A rule's words without Markdown: they are shown where Markdown is escaped."""
    return _EMPHASIS.sub("", _LIST_MARK.sub("", words)).strip()


def _any(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None
