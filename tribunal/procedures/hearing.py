"""What each seat of a ``recommendation`` panel said, and which of it vetoes the draft.

A seat vetoes if it says so with confidence (any seat), if memory-conflict names a file of the user's feedback or
profile, if rule-violation hits one of a few rules, or if hallucination-fast is sure of one fabricated entity.
Source: the recommendation document, "Veto rules".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated

from pydantic import Field, StringConstraints

from tribunal.model import Frozen, Stage, Vote
from tribunal.panels import Panel, Seat
from tribunal.procedures.base import Procedure
from tribunal.procedures.opinions import Confidence, Opinion, RuleHit, read_opinion
from tribunal.procedures.votes import flagging, readable, seated_votes

MEMORY, RULES, FABRICATION, EXPERTISE = (
    "memory-conflict",
    "rule-violation",
    "hallucination-fast",
    "expertise-asymmetry",
)
"""Names of seats or judges that have rules of their own."""

_SAME = {"regla": "rule", "rules": "rule", "reglas": "rule"}
_JOINING = (",", "&", "and", "or", "y", "o")
_NUMBERING = frozenset({"no", "nr", "nº", "num", "núm", "number", "numero", "número"})

# Lax about the sequence alone, so that a JSON array does; its strings stay strict.
Names = Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(strict=False)]


class VetoRules(Frozen):
    """When a seat's answer vetoes."""

    veto_confidence: Confidence = 0.8
    """``veto: true`` counts from this confidence on; below it is a doubt."""
    fabricated_confidence: Confidence = 0.9
    vetoing_memory: Names = ("feedback_", "user_")
    """Beginnings of the names of memory files."""
    vetoing_rules: Names = (
        *("Rule #1", "PAT hardcoded", "PAT hard-coded", "PAT hardcodeado"),
        *("Rule #8", "agent without spec", "agente sin spec"),
    )
    """By number or by title: of a title all words must be there, in any order."""
    vetoing_rule_files: Names = ("autonomous-safety.md", "radical-honesty.md")
    """With or without what is behind the dot."""


@dataclass(frozen=True)
class Cause:
    """One reason why a seat vetoes. Its texts are the judge's, neither shortened nor redacted."""

    sentence: str
    instead: str
    """What to do instead."""
    confidence: float
    quote: str | None = None


@dataclass(frozen=True)
class Heard:
    """A seat as it was heard."""

    seat: Seat
    vote: Vote
    said: Opinion | None
    """What it said, where that can be read: in a faulty vote too."""
    injection: bool = False
    causes: tuple[Cause, ...] = ()
    """Why it vetoes; of a seat that did not answer too, where its faulty vote says so."""

    @property
    def name(self) -> str:
        """The seat's name."""
        return self.seat.name

    @property
    def opinion(self) -> Opinion | None:
        """What counts of it; None where the seat did not answer."""
        return self.said if self.vote.answered else None

    @property
    def reason(self) -> str:
        """Why, in the seat's own words or in the docket's; empty if nobody said."""
        return ((self.said.reason if self.said else self.vote.reason) or "").strip()

    @property
    def doubts(self) -> bool:
        """Whether it objects, too unsure for a veto."""
        return self.opinion is not None and self.opinion.veto and not self.causes

    @property
    def objections(self) -> list[str]:
        """What the seat vetoes for, one sentence each."""
        return [cause.sentence for cause in self.causes]

    @property
    def weight(self) -> Fraction:
        """What the seat's score counts for; with 0 it is only printed."""
        return Fraction(self.seat.weight)


def hear(procedure: Procedure, panel: Panel, history: tuple[Stage, ...], rules: VetoRules) -> tuple[Heard, ...]:
    """The panel's seats in the panel's order, whatever the order of the votes."""
    votes = seated_votes(procedure, panel.seats, history)
    flagged = flagging(panel.seats, history, "injection_detected")
    return tuple(_heard(procedure, seat, votes[seat.name], seat.name in flagged, rules) for seat in panel.seats)


def causes(roles: Iterable[str], opinion: Opinion, rules: VetoRules) -> tuple[Cause, ...]:
    """Why an answer vetoes; empty where it does not. ``roles``: the names of the seat and of its judge."""
    found: list[Cause] = []
    known = set(roles)
    if MEMORY in known:
        found += _memory_causes(opinion, rules)
    if RULES in known:
        found += _rule_causes(opinion, rules)
    if FABRICATION in known:
        found += _fabrication_causes(opinion, rules)
    if opinion.veto and opinion.certainty >= rules.veto_confidence:
        said = f"objects with confidence {opinion.certainty:g}"
        instead = "Change what is objected to, then submit the draft again"
        found.append(Cause(said, instead, opinion.certainty, opinion.quote))
    return tuple(found)


def _heard(procedure: Procedure, seat: Seat, vote: Vote, injection: bool, rules: VetoRules) -> Heard:
    answer = readable(procedure, vote)
    said = None if answer is None else read_opinion(answer)
    if not isinstance(said, Opinion):
        return Heard(seat, vote, None, injection)
    return Heard(seat, vote, said, injection, causes((seat.name, seat.judge), said, rules))


def _memory_causes(opinion: Opinion, rules: VetoRules) -> list[Cause]:
    beginnings = tuple(name.casefold() for name in rules.vetoing_memory)
    return [
        Cause(
            f"contradicts the memory file {found.memory_file}",
            f"Follow {found.memory_file}" + (f": {found.memory_excerpt}" if found.memory_excerpt else ""),
            opinion.certainty,
            found.draft_match or found.memory_excerpt,
        )
        for found in opinion.evidence
        if any(name.startswith(beginnings) for name in _file_names(found.memory_file))
    ]


def _rule_causes(opinion: Opinion, rules: VetoRules) -> list[Cause]:
    return [
        Cause(
            f"breaks {' in '.join(hit.names)}",
            f"Follow {hit.names[0]}" + (f": {hit.rule_excerpt}" if hit.rule_excerpt else ""),
            opinion.certainty,
            hit.draft_match or hit.rule_excerpt,
        )
        for hit in opinion.rules_hit
        if _hits(hit, rules)
    ]


def _fabrication_causes(opinion: Opinion, rules: VetoRules) -> list[Cause]:
    found: list[Cause] = []
    for made_up in opinion.fabricated:
        confidence = opinion.certainty if made_up.confidence is None else made_up.confidence
        if confidence >= rules.fabricated_confidence:
            entity, closest = made_up.entity, made_up.closest_match
            instead = f"Check whether {closest} is meant" if closest else f"Leave out {entity}, or show that it exists"
            sentence = f"finds that {entity} does not exist"
            found.append(Cause(sentence, instead, confidence, made_up.draft_match or made_up.entity))
    return found


def _hits(hit: RuleHit, rules: VetoRules) -> bool:
    wanted = [_words(rule) for rule in rules.vetoing_rules]
    files = [_file_pattern(file) for file in rules.vetoing_rule_files]
    return any(
        any(_names_rule(words, rule) for rule in wanted) or any(file.search(name) for file in files)
        for name in hit.names
        for words in [_words(name)]
    )


def _names_rule(words: list[str], rule: list[str]) -> bool:
    """Whether ``words`` name the rule: a number behind the rule's first words, alone or listed; or all of a title.

    So ``Rules #1 and #8`` names both, ``Rule #12`` and ``rule 8.3`` neither. A bare number names a rule too.
    """
    rule = [word for word in rule if word not in _JOINING]
    if not rule or not rule[-1][0].isdigit():
        return bool(rule) and set(rule) <= set(words)
    words = [word for word in words if word not in _NUMBERING]
    listed = rf"(?:\d[\d.]* (?:(?:{'|'.join(_JOINING)}) )+)*"
    named = rf"(?<!\S){''.join(f'{re.escape(word)} ' for word in rule[:-1])}{listed}{re.escape(rule[-1])}(?!\S)"
    bare = rule[-1] in words and all(word[0].isdigit() or word in _JOINING for word in words)
    return bare or re.search(named, " ".join(words)) is not None


def _words(text: str) -> list[str]:
    """The words, and the numbers with their parts: ``8.3`` is one, and not 8."""
    words = re.findall(r"[^\W\d_]+|\d+(?:\.\d+)*|[,&]", text[:1000].casefold())
    return [_SAME.get(word) or word.lstrip("0") or word for word in words]


@lru_cache(maxsize=64)
def _file_pattern(file: str) -> re.Pattern[str]:
    """The file's name with its ending, or without: alone, or anywhere if it is of several words (so no common one)."""
    stem, dot, ending = file.rpartition(".")
    if not dot or not stem:
        return re.compile(rf"(?i)(?<![\w.-]){re.escape(file)}(?![\w-]|\.\w)")
    words = re.split("[-_ ]+", stem)
    loose = "[-_ ]+".join(map(re.escape, words))
    bare = rf"(?<![\w.-]){loose}(?![\w-]|\.\w)" if len(words) > 1 else rf"^\W*{loose}\W*$"
    return re.compile(rf"(?i)(?<![\w.-]){loose}\.{re.escape(ending)}(?![\w-]|\.\w)|{bare}")


def _file_names(path: str) -> list[str]:
    """The last parts of the path and of each word in it: a judge may add words about the file."""
    parts = (path.strip("\"'`<>() \t\r\n"), *re.split(r"[\s`'\"<>()\[\]{},;:|=*]+", path))
    return [re.split(r"[/\\]", part)[-1].casefold() for part in parts]
