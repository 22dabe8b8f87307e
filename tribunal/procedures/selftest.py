"""The twelve checks that the seed lists for its tally, as data: votes in, and what must come out.

Source: seed routine-review-tribunal, "Verifying the engine".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue


@dataclass(frozen=True)
class Example:
    """One tally: the JSON object that goes in, and the keys of the output that matter."""

    given: Mapping[str, JsonValue]
    expected: Mapping[str, JsonValue]
    absent: tuple[str, ...] = ()
    """Keys that the output must not have."""


@dataclass(frozen=True)
class Check:
    """One of the twelve."""

    name: str
    examples: tuple[Example, ...] = field(default=())


def _vote(verdict: str, *edits: str, confidence: float = 0.9, **more: JsonValue) -> JsonValue:
    return {
        "verdict": verdict,
        "confidence": confidence,
        "required_edits": list(edits),
        "reasoning": "read line by line",
        "injection_detected": False,
        "design_decision": False,
        "status": "voted",
        **more,
    }


def _resolved(verdict: str, *edits: str, **more: JsonValue) -> dict[str, JsonValue]:
    return {"outcome": "resolved", "verdict": verdict, "required_edits": list(edits), **more}


_YES = _vote("approve")
_NO = _vote("request_changes")
_DESIGN = _vote("approve", design_decision=True)
_ABSTAINS: JsonValue = {"status": "abstain"}
_TIE: dict[str, JsonValue] = {"outcome": "needs_tiebreak", "verdict": None}
_AUTO: dict[str, JsonValue] = _resolved("approved", merge_authority="auto")
_HUMAN: dict[str, JsonValue] = _resolved("approved", merge_authority="human")
_A, _B, _C = "a.py:1 — name it", "b.py:2 — close it", "c.py:3 — test it"

SELF_TEST: tuple[Check, ...] = (
    Check(
        "unanimous approve",
        (Example({"mimir": _YES, "forseti": _YES, "thor": None}, _resolved("approved", round=1)),),
    ),
    Check(
        "unanimous request_changes, edits without duplicates",
        (
            Example(
                {"mimir": _vote("request_changes", _A, _B), "forseti": _vote("request_changes", _B, _C), "thor": None},
                _resolved("needs_revision", _A, _B, _C),
            ),
        ),
    ),
    Check(
        "disagreement resolved both ways by thor",
        (
            Example({"mimir": _YES, "forseti": _NO, "thor": None}, _TIE),
            Example({"mimir": _YES, "forseti": _NO, "thor": _YES}, _resolved("approved")),
            Example(
                {"mimir": _YES, "forseti": _vote("request_changes", _A), "thor": _vote("request_changes", _C, _A)},
                _resolved("needs_revision", _C, _A),
            ),
        ),
    ),
    Check(
        "unanimous with low confidence convenes the tie-break",
        (Example({"mimir": _YES, "forseti": _vote("approve", confidence=0.4), "thor": None}, _TIE),),
    ),
    Check(
        "one seat abstains: tie-break; both: escalate",
        (
            Example({"mimir": _YES, "forseti": _ABSTAINS, "thor": None}, _TIE),
            Example({"mimir": _ABSTAINS, "forseti": _ABSTAINS, "thor": None}, _resolved("escalate")),
        ),
    ),
    Check(
        "an injection flag escalates, a voting seat's or thor's",
        (
            Example(
                {"mimir": _YES, "forseti": _vote("approve", injection_detected=True), "thor": None},
                _resolved("escalate"),
            ),
            Example(
                {"mimir": _YES, "forseti": _NO, "thor": _vote("approve", injection_detected=True)},
                _resolved("escalate"),
            ),
        ),
    ),
    Check(
        "the round ceiling escalates",
        (
            Example(
                {"mimir": _vote("request_changes", _A), "forseti": _NO, "thor": None, "case": {"round": 2}},
                _resolved("escalate", _A, round=2),
            ),
        ),
    ),
    Check(
        "merge authority, unanimous without a flag: auto",
        (Example({"mimir": _YES, "forseti": _YES, "thor": None}, _AUTO),),
    ),
    Check(
        "merge authority, unanimous with one flag: human",
        (Example({"mimir": _YES, "forseti": _DESIGN, "thor": None}, _HUMAN),),
    ),
    Check(
        "merge authority, thor's tie-break with a flag: human",
        (Example({"mimir": _YES, "forseti": _NO, "thor": _DESIGN}, _HUMAN),),
    ),
    Check(
        "merge authority, thor's tie-break without a flag: auto",
        (Example({"mimir": _YES, "forseti": _NO, "thor": _YES}, _AUTO),),
    ),
    Check(
        "no merge authority on a verdict that is not approved",
        (
            Example(
                {"mimir": _NO, "forseti": _vote("request_changes", design_decision=True), "thor": None},
                _resolved("needs_revision"),
                absent=("merge_authority",),
            ),
        ),
    ),
)
