"""What each seat of a ``recommendation`` panel said, and which of it vetoes the draft.

A seat vetoes if it says so with confidence (any seat), if memory-conflict names a file of the user's feedback or
profile, if rule-violation hits one of a few rules, or if hallucination-fast is sure of one fabricated entity.
Source: the recommendation document, "Veto rules".
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field, StringConstraints

from tribunal.model import Frozen, Stage, Vote
from tribunal.panels import Panel, Seat
from tribunal.procedures.base import Procedure
from tribunal.procedures.opinions import Confidence, Opinion, RuleHit, read_opinion
from tribunal.procedures.votes import flagging, seated_votes

MEMORY, RULES, FABRICATION, EXPERTISE = (
    "memory-conflict",
    "rule-violation",
    "hallucination-fast",
    "expertise-asymmetry",
)
"""Names of seats or judges that have rules of their own."""

# Lax about the sequence alone, so that a JSON array does; its strings stay strict.
Names = Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(strict=False)]


class VetoRules(Frozen):
    """When a seat's answer vetoes."""

    veto_confidence: Confidence = 0.8
    """``veto: true`` counts from this confidence on; below it is a doubt."""
    fabricated_confidence: Confidence = 0.9
    vetoing_memory: Names = ("feedback_", "user_")
    """Beginnings of the names of memory files."""
    vetoing_rules: Names = ("Rule #1", "Rule #8")
    vetoing_rule_files: Names = ("autonomous-safety.md", "radical-honesty.md")


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
    opinion: Opinion | None
    """None where the seat did not answer."""
    injection: bool = False
    causes: tuple[Cause, ...] = ()

    @property
    def name(self) -> str:
        """The seat's name."""
        return self.seat.name

    @property
    def reason(self) -> str:
        """Why, in the seat's own words or in the docket's; empty if nobody said."""
        return ((self.opinion.reason if self.opinion else self.vote.reason) or "").strip()

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
    return tuple(_heard(seat, votes[seat.name], seat.name in flagged, rules) for seat in panel.seats)


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


def _heard(seat: Seat, vote: Vote, injection: bool, rules: VetoRules) -> Heard:
    opinion = read_opinion(vote.answer or {}) if vote.answered else None
    if isinstance(opinion, Opinion):
        return Heard(seat, vote, opinion, injection, causes((seat.name, seat.judge), opinion, rules))
    return Heard(seat, vote, None, injection)


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
    files = [rf"(?i)(?<![\w.-]){re.escape(file)}(?![\w-]|\.\w)" for file in rules.vetoing_rule_files]
    return any(
        any(_names_rule(_words(name), rule) for rule in wanted) or any(re.search(file, name) for file in files)
        for name in hit.names
    )


def _names_rule(words: list[str], rule: list[str]) -> bool:
    """Whether the rule's words come in ``words`` in a row, so that Rule #12 is not Rule #1; a bare number does too."""
    size = len(rule)
    in_a_row = any(words[start : start + size] == rule for start in range(len(words) - size + 1))
    return bool(rule) and (in_a_row or (words == rule[-1:] and rule[-1].isdigit()))


def _words(text: str) -> list[str]:
    words = re.findall(r"[^\W\d_]+|\d+", text[:1000].casefold())
    return ["rule" if word == "regla" else word.lstrip("0") or word for word in words]


def _file_names(path: str) -> list[str]:
    """The last parts of the path and of its first word: a judge may add a word about the file."""
    return [re.split(r"[/\\]", part.strip("`'\"<>()"))[-1].casefold() for part in (path.strip(), *path.split()[:1])]
