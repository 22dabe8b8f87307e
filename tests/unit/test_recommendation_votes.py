"""Votes of ``recommendation``: what is none, and what decides before all have come."""

import pytest
from pydantic import JsonValue
from recommendation_panel import (
    PROCEDURE,
    decided,
    outcome,
    panel_of,
    rendering_of,
    stage_of,
)

from tribunal.model import Decision, Stage, Vote, VoteStatus
from tribunal.procedures.base import Undecided

VETO, WARN = "veto", "warn"


def _open(*seats: str) -> tuple[Vote, ...]:
    return tuple(Vote(seat=seat, judge=seat, status=VoteStatus.OPEN) for seat in seats)


# Votes that break their shape.


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"veto": "false", "score": 100},
        {"veto": 0, "score": 100},
        {"score": 100.0},
        {"score": True},
        {"score": "100"},
        {"score": 101},
        {"score": -1},
        {"score": 90, "confidence": 100},
        {"score": 90, "confidence": True},
        {"score": 90, "confidence": "0.9"},
        {"score": 90, "injection_detected": "true"},
        {"score": 90, "reason": ["a"]},
        {"score": 90, "evidence": "feedback_git.md"},
        {"score": 90, "evidence": [{"file": "feedback_git.md"}]},
        {"score": 90, "rules_hit": [{"rule": "Rule #1"}]},
        {"score": 90, "rules_hit": [1]},
        {"score": 90, "fabricated": [{"entity": "x", "confidence": 2}]},
        {"score": 90, "audit_level": "none"},
        {"score": 90, "mode": "rewrite"},
        {"score": 90, "more": "\ud800"},
        {"reason": "looks good"},
    ],
)
def test_an_answer_of_another_shape_is_no_vote(answer: dict[str, JsonValue]) -> None:
    wrong = PROCEDURE.check_answer("rule-violation", answer)

    assert wrong
    assert decided({"rule-violation": answer}).outcome == WARN


@pytest.mark.parametrize(
    "answer",
    [
        {"score": 90, "model": "any", "tokens": 12, "nested": {"a": [1]}},
        {"score": None},
        {"veto": False},
        {"score": 0, "confidence": 1},
        {"score": 90, "rules_hit": [{"rule_id": "Rule #3", "severity": "high"}]},
        {"score": 90, "fabricated": [{"entity": "x", "closest_match": None, "confidence": 0.1}]},
        {"audit_level": "blind", "mode": "rewrite-blind"},
    ],
)
def test_unknown_keys_are_ignored(answer: dict[str, JsonValue]) -> None:
    assert PROCEDURE.check_answer("rule-violation", answer) is None


def test_the_error_names_the_field_and_what_came() -> None:
    assert PROCEDURE.check_answer("rule-violation", {"score": 90, "confidence": 100}) == (
        "confidence: Input should be less than or equal to 1; 100 came"
    )


def test_a_voted_vote_that_does_not_validate_counts_as_an_error() -> None:
    broken = Vote(seat="tone", judge="tone", status=VoteStatus.VOTED, answer={"score": "high"})

    found = outcome(Stage(stage=1, votes=(broken,)), panel_of("tone"))

    assert isinstance(found, Decision)
    assert found.details["missing"] == {"tone": "error"}


def test_strangers_and_late_votes_count_for_nothing() -> None:
    stranger = Vote(seat="stranger", judge="x", status=VoteStatus.VOTED, answer={"score": 0, "veto": True})
    late = Vote(seat="tone", judge="tone", status=VoteStatus.LATE, answer={"score": 0, "veto": True})
    vote = Vote(seat="tone", judge="tone", status=VoteStatus.VOTED, answer={"score": 100})

    found = outcome(Stage(stage=1, votes=(stranger, late, vote)), panel_of("tone"))

    assert isinstance(found, Decision)
    assert found.details["veto_judges"] == []


# Early decisions.


def test_a_veto_decides_while_other_seats_are_open() -> None:
    veto = stage_of({"rule-violation": {"score": 0, "veto": True, "confidence": 0.95}}).votes

    found = outcome(
        Stage(stage=1, votes=(*veto, *_open("memory-conflict", "hallucination-fast", "expertise-asymmetry")))
    )

    assert isinstance(found, Decision)
    assert found.outcome == VETO


@pytest.mark.parametrize(
    "answer", [{"score": 100}, {"score": 0, "veto": True, "confidence": 0.7}, {"score": 90, "injection_detected": True}]
)
def test_without_a_veto_an_open_seat_leaves_it_undecided(answer: JsonValue) -> None:
    votes = stage_of({"rule-violation": answer, "memory-conflict": None}).votes

    assert outcome(Stage(stage=1, votes=(*votes, *_open("hallucination-fast", "expertise-asymmetry")))) == Undecided()


def test_a_seat_cut_by_a_veto_is_reported_as_not_awaited() -> None:
    votes = (
        *stage_of({"rule-violation": {"score": 0, "veto": True}}).votes,
        Vote(seat="memory-conflict", judge="memory-conflict", status=VoteStatus.CUT),
    )
    panel = panel_of("rule-violation", "memory-conflict")

    found = outcome(Stage(stage=1, votes=votes), panel)
    assert isinstance(found, Decision)
    printed = PROCEDURE.output(panel, found, rendering_of(*votes))

    assert found.details["missing"] == {"memory-conflict": "not awaited"}
    assert "memory-conflict did not answer (not awaited)" in found.reasons
    assert printed["judges"]["memory-conflict"]["reason"] == "not awaited"  # type: ignore[index, call-overload]  # JSON


@pytest.mark.parametrize(
    ("seat", "answer", "expected"),
    [
        ("tone", {"score": 0, "veto": True, "confidence": 0.95}, True),
        ("tone", {"score": 0, "veto": True}, True),
        ("tone", {"score": 0, "veto": True, "confidence": 0.94}, False),
        ("tone", {"score": 100, "injection_detected": True}, True),
        ("tone", {"status": "abstained", "injection_detected": True}, True),
        ("tone", {"score": 100, "rules_hit": ["Rule #1"]}, False),
        ("rule-violation", {"score": 100, "rules_hit": ["Rule #1"]}, True),
        ("rule-violation", {"score": 100, "rules_hit": ["Rule #1"], "confidence": 0.5}, False),
        ("hallucination-fast", {"score": 100, "fabricated": [{"entity": "x", "confidence": 0.95}]}, True),
        ("tone", {"score": 100}, False),
        ("tone", {"veto": "yes"}, False),
    ],
)
def test_a_decisive_vote_asks_the_aggregator_at_once(seat: str, answer: dict[str, JsonValue], expected: bool) -> None:
    assert PROCEDURE.decisive(seat, answer) is expected
