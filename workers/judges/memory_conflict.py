"""memory-conflict: does the draft contradict what the user once said?

Memory is a folder of ``feedback_*.md`` and ``user_*.md`` and an index, ``MEMORY.md``. A conflict is a directive of the
draft and one of memory on the same act with opposed sense; both are cited. Repeating memory in other words is none.
"""

import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tribunal.judging import Abstain, Packet, judge
from tribunal.model import Answer
from tribunal.redaction import redact
from workers.judges.budget import Budget
from workers.judges.directives import Directive, describes_person, directives
from workers.judges.files import UnreadableError, read_file, real_folder, split_front_matter
from workers.judges.phrases import PURPOSES, does
from workers.judges.text import WORD, Passage, excerpt, fold, language, passages, question, readable, stem

INDEX = "MEMORY.md"
PERSON = "user_"
PREFIXES = ("feedback_", PERSON)
FILES_LIMIT = 500
RULES_LIMIT = 4000
CANDIDATES = 25
"""So many of the likeliest rules are compared with each of the draft's directives."""
EVIDENCE_LIMIT = 10
CONFIDENCE = 0.88


class Rule(NamedTuple):
    """One directive of memory and where it is."""

    file: str
    line: str
    directive: Directive


class Memory(NamedTuple):
    """What a memory folder holds."""

    rules: list[Rule]
    files: int
    notes: list[str]
    """What could not be read, one clause each."""


class Conflict(NamedTuple):
    """A rule and the draft's words against it."""

    rule: Rule
    match: str


@judge
def memory_conflict(packet: Packet) -> Answer | Abstain:
    """Finds what in the draft goes against the user's remembered feedback, and cites both."""
    if packet.context.memory is None:
        return _nothing("no memory was given")
    budget = Budget(packet.seconds * 0.8)
    try:
        memory = read_memory(real_folder(packet.context.memory))
    except UnreadableError as error:
        return Abstain(reason=f"memory could not be read: {error}")
    if memory.notes and not memory.rules:
        return Abstain(reason=f"memory could not be read: {'; '.join(memory.notes[:3])}")
    noted = f" (not read: {'; '.join(memory.notes[:3])})" if memory.notes else ""
    if not memory.rules:
        return _nothing(f"the memory folder lays nothing down in {memory.files} files")
    related, conflicts = compare(packet.subject, memory.rules, budget)
    if budget.spent and not conflicts:
        return Abstain(reason="the draft is too long to be compared with memory in time")
    if conflicts:
        files = ", ".join(dict.fromkeys(conflict.rule.file for conflict in conflicts))
        return {
            "score": 0,
            "veto": True,
            "confidence": CONFIDENCE,
            "reason": f"goes against {files}{noted}",
            "evidence": [
                {
                    "memory_file": conflict.rule.file,
                    "memory_excerpt": excerpt(redact(conflict.rule.line)),
                    "draft_match": excerpt(conflict.match),
                }
                for conflict in conflicts
            ],
        }
    if not related:
        return _nothing(f"none of the {len(memory.rules)} remembered rules concerns this draft{noted}")
    reason = f"agrees with memory (rules that concern it: {related}){noted}"
    return {"score": 100, "veto": False, "confidence": 0.7 if memory.notes else 0.8, "reason": reason, "evidence": []}


def _nothing(reason: str) -> Answer:
    return {"score": None, "veto": False, "confidence": 1.0, "reason": reason, "evidence": []}


_INDEX_LINE = re.compile(r"\s{0,8}[-*+] \[([^\]\n]{1,200})\]\(([\w.-]{1,120}\.md)\)\s*(?:[—–:-]+\s*)?(.*)")
_EXPLAINING = re.compile(
    r"\W{0,4}(?:why|reason|because|context|example|por que|motivo|razon|contexto|ejemplo)\W{0,4}:", re.I
)
_APPLYING = re.compile(r"^\W{0,4}(?:how to apply|rule|what to do|regla|como aplicarla?|que hacer)\W{0,4}:\W*", re.I)
_MARKS = re.compile(r"\*\*|__|`")


def read_memory(folder: Path) -> Memory:
    """What the folder's files lay down; a file that cannot be read is noted and left out.

    Raises:
        UnreadableError: the folder cannot be listed.
    """
    try:
        names = sorted(
            path.name for path in folder.iterdir() if path.name.startswith(PREFIXES) and path.suffix == ".md"
        )
    except OSError as error:
        raise UnreadableError(f"the folder {folder.name} cannot be read ({error.strerror})") from error
    rules: list[Rule] = []
    notes = [f"{len(names) - FILES_LIMIT} more files"] if len(names) > FILES_LIMIT else []
    for name in names[:FILES_LIMIT]:
        try:
            rules += _rules_of(name, read_file(folder / name, folder))
        except UnreadableError as error:
            notes.append(str(error) if name in str(error) else f"{name}: {error}")
    if os.path.lexists(folder / INDEX):
        try:
            rules += _rules_of_index(read_file(folder / INDEX, folder))
        except UnreadableError as error:
            notes.append(str(error))
    if len(rules) > RULES_LIMIT:
        notes.append(f"{len(rules) - RULES_LIMIT} more rules")
    return Memory(rules[:RULES_LIMIT], len(names), notes)


def _rules_of(name: str, text: str) -> list[Rule]:
    document = split_front_matter(readable(text))
    lines: list[str] = []
    for passage in passages(document.body):
        if passage.kind != "code" and lines and lines[-1].endswith(";"):
            lines[-1] = f"{lines[-1]} {passage.text}"
        elif passage.kind != "code":
            lines.append(passage.text)
    description = document.header.get("description")
    if isinstance(description, str):
        lines.insert(0, excerpt(description, 600))
    return [rule for line in lines for rule in _rules_of_line(name, line)]


def _rules_of_index(text: str) -> list[Rule]:
    found: list[Rule] = []
    for line in readable(text).split("\n"):
        entry = _INDEX_LINE.match(line)
        if entry and entry[2].startswith(PREFIXES):
            found += _rules_of_line(entry[2], excerpt(entry[3] or entry[1], 600))
    return found


def _rules_of_line(name: str, line: str) -> list[Rule]:
    if _EXPLAINING.match(fold(line)):
        return []
    plain = _MARKS.sub("", line)
    plain = plain[len(applying[0]) :] if (applying := _APPLYING.match(fold(plain))) else plain
    stated = [directive for directive in directives(plain, stated=True) if directive.strength == "stated"]
    if name.startswith(PERSON):
        names = frozenset(WORD.findall(fold(name.removeprefix(PERSON).removesuffix(".md").replace("_", " "))))
        stated = [directive for directive in stated if not describes_person(directive.words, names)]
    return [Rule(name, line, directive) for directive in stated]


def compare(draft: str, rules: list[Rule], budget: Budget) -> tuple[int, list[Conflict]]:
    """How many rules concern the draft, and the conflicts, one a file, until the budget is spent."""
    weights = _weights(rules)
    by_token: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        for token in rule.directive.tokens:
            by_token.setdefault(token, []).append(number)
    parts = passages(redact(readable(draft)))
    related: set[int] = set()
    conflicts: dict[str, Conflict] = {}
    for conflict in _observed(parts, rules):
        conflicts.setdefault(conflict.rule.file, conflict)
    for passage in parts:
        if budget.spent or len(conflicts) >= EVIDENCE_LIMIT:
            break
        for said in _said(passage):
            ranked = _rank(said, by_token, weights)
            for number in ranked:
                rule = rules[number]
                if _concerns(rule.directive, said):
                    related.add(number)
                if said.strength == "stated" and _opposed(rule.directive, said):
                    conflicts.setdefault(rule.file, Conflict(rule, passage.text))
    return len(related), list(conflicts.values())


def _said(passage: Passage) -> list[Directive]:
    """What a passage of the draft tells to do or leave; a comment in code and a quotation tell nothing."""
    if passage.kind == "code" and passage.text.startswith(("#", "//", "--", "/*")):
        return []
    found = directives(_MARKS.sub("", passage.text), code=passage.kind == "code")
    if (
        question(passage)
        or passage.kind == "quote"
        or re.search(r"\b(?:never|avoid|don't|nunca|evita|no)\b[^.]{0,40}:$", passage.lead)
    ):
        return [directive._replace(strength="described") for directive in found]
    return found


def _weights(rules: list[Rule]) -> dict[str, float]:
    """A token's weight: the rarer in memory, the more it tells (inverse document frequency)."""
    counts = Counter(token for rule in rules for token in rule.directive.tokens)
    return {token: math.log(1 + len(rules) / count) for token, count in counts.items()}


def _rank(said: Directive, by_token: dict[str, list[int]], weights: dict[str, float]) -> list[int]:
    """The rules that share most with a directive, by the weight of the shared tokens, at most :data:`CANDIDATES`."""
    scores: dict[int, float] = {}
    for token in said.tokens:
        for number in by_token.get(token, ()):
            scores[number] = scores.get(number, 0.0) + weights[token]
    return sorted(scores, key=lambda number: (-scores[number], number))[:CANDIDATES]


_REMOVING = frozenset(stem(word) for word in ("delete", "remove", "replace", "disable", "skip", "uninstall"))


def _concerns(rule: Directive, said: Directive) -> bool:
    return len(rule.tokens & said.tokens) >= max(1, math.ceil(len(rule.tokens) / 2))


def _opposed(rule: Directive, said: Directive) -> bool:
    """Whether the draft does what memory avoids, or avoids what memory asks for."""
    if rule.excepted & said.tokens:
        return False
    removing = said.polarity == "do" and bool((said.tokens & _REMOVING) - rule.tokens)
    avoids = said.polarity == "avoid" or removing
    if rule.polarity == "avoid":
        if avoids:
            return False
        # "never deploy on Fridays": where the rule names a circumstance, the draft must be in it.
        placed = not rule.context or bool(rule.context & (said.tokens | said.context))
        return placed and does(rule.parts, said.parts)
    if not avoids:
        return False
    # "skip the tests for this change": what it is for does not narrow what is left.
    left = frozenset(token for part in said.parts if part.preposition not in PURPOSES for token in part.tokens)
    left = left - _REMOVING if removing else left
    # One must hold the other, and make up half of it: not mocking the database in a test is not leaving out the test.
    small, large = sorted((rule.tokens, left), key=len)
    return bool(small) and small <= large and 2 * len(small) >= len(large)


_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u26ff\u2705\u2728\u274c\u2b50]")
_LANGUAGES = {"spanish": "es", "english": "en"}


def _observed(parts: list[Passage], rules: list[Rule]) -> list[Conflict]:
    """Conflicts with the draft's own form: emojis where none are wanted, another language than the one asked for."""
    found: list[Conflict] = []
    emoji = next((passage.text for passage in parts if passage.kind != "code" and _EMOJI.search(passage.text)), None)
    prose = " ".join(passage.text for passage in parts[:400] if passage.kind == "prose")
    spoken = language(prose)
    for rule in rules:
        about = rule.directive.tokens
        if emoji and rule.directive.polarity == "avoid" and about == {stem("emoji")}:
            found.append(Conflict(rule, emoji))
        wanted = {code for name, code in _LANGUAGES.items() if about == {stem(name)}}
        if (
            wanted
            and spoken
            and rule.directive.polarity == "do"
            and spoken not in wanted
            and not rule.directive.context
        ):
            found.append(Conflict(rule, excerpt(prose, 120)))
    return found
