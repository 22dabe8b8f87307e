"""consensus: what holds for any votes (I5, I8, I10, totality, exactness)."""

from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tribunal.config import builtin_catalogue
from tribunal.model import Decision, Grade, Stage, Vote, VoteStatus, canonical
from tribunal.procedures import Rendering, Undecided
from tribunal.procedures.base import Outcome
from tribunal.procedures.consensus import Consensus

PANEL = builtin_catalogue().panels["consensus"]
CONSENSUS = Consensus()
WORDS = {
    "reflection-validator": ("REQUIRES_RETHINKING", "CORRECTED", "VALIDATED"),
    "code-reviewer": ("RECHAZADO", "CAMBIOS_MENORES", "APROBADO"),
    "business-analyst": ("INVÁLIDO", "INCOMPLETO", "VÁLIDO"),
    "performance-auditor": ("REGRESSION", "DEGRADED", "OPTIMAL"),
}
TENTHS = {
    "default": (3, 3, 2, 2),
    "security": (2, 5, 1, 2),
    "business": (2, 2, 4, 2),
    "architecture": (4, 3, 1, 2),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ANSWERING = st.fixed_dictionaries(
    {"verdict": st.sampled_from([word for words in WORDS.values() for word in words]) | JSON},
    optional={
        "reasoning": st.sampled_from(["security", "fine"]) | JSON,
        "severity": st.just("CRITICAL") | JSON,
        "security_veto": st.booleans() | JSON,
        "injection_detected": st.booleans() | JSON,
        "confidence": st.floats(0, 1) | JSON,
    },
)
VOTES = st.lists(
    st.builds(
        Vote,
        seat=st.sampled_from([*WORDS, "stranger"]),
        judge=st.just("j"),
        status=st.sampled_from(VoteStatus),
        answer=st.none() | ANSWERING | st.dictionaries(st.text(max_size=8), JSON, max_size=3),
    ),
    max_size=6,
)
FACTS = st.dictionaries(st.sampled_from(["skip", "gate", "round"]), JSON, max_size=2)


def decide(votes: list[Vote], options: dict[str, Any] | None = None, facts: dict[str, Any] | None = None) -> Outcome:
    panel = PANEL.model_copy(update={"options": options or {}})
    return CONSENSUS.decide(panel, facts or {}, (Stage(stage=1, votes=tuple(votes)),))


def voted(seat: str, **answer: Any) -> Vote:
    return Vote(seat=seat, judge=seat, status=VoteStatus.VOTED, answer=answer)


@given(VOTES, FACTS, st.data())
def test_the_order_of_votes_never_matters(votes: list[Vote], facts: dict[str, Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(votes))
    one, other = decide(votes, facts=facts), decide(shuffled, facts=facts)
    assert canonical(one.model_dump(mode="json")) == canonical(other.model_dump(mode="json"))


@given(VOTES, FACTS, st.dictionaries(st.sampled_from(["approve", "profile", "x"]), JSON, max_size=2))
def test_no_input_of_the_right_type_raises(votes: list[Vote], facts: dict[str, Any], options: dict[str, Any]) -> None:
    outcome = decide(votes, options, facts)
    assert isinstance(outcome, Decision | Undecided)
    for vote in votes:
        assert CONSENSUS.decisive(vote.seat, vote.answer or {}) in (True, False)


@given(
    st.tuples(*[st.sampled_from((0, 1, 2)) for _ in WORDS]),
    st.sampled_from(list(TENTHS)),
)
def test_the_arithmetic_is_exact(halves: tuple[int, ...], profile: str) -> None:
    """An oracle in whole numbers: twentieths of the weighted sum, eighths of the distance from the mean."""
    votes = [voted(seat, verdict=words[half]) for (seat, words), half in zip(WORDS.items(), halves, strict=True)]
    twentieths = sum(tenth * half for tenth, half in zip(TENTHS[profile], halves, strict=True))
    dissents = any(abs(4 * half - sum(halves)) > 4 for half in halves)
    expected = "approved" if twentieths >= 15 else "conditional" if twentieths >= 10 else "rejected"
    decision = decide(votes, {"profile": profile})
    assert isinstance(decision, Decision)
    assert decision.outcome == ("conditional" if expected == "approved" and dissents else expected)
    assert decision.details["weighted_score"] == float(Fraction(twentieths, 20))


@given(
    st.fixed_dictionaries(
        {seat: st.tuples(st.sampled_from(words), st.booleans(), st.booleans()) for seat, words in WORDS.items()}
    ),
    st.sampled_from([None, *(s for s in VoteStatus if s not in (VoteStatus.VOTED, VoteStatus.OPEN))]),
)
def test_i8_no_missing_vote_gives_an_approval(
    said: dict[str, tuple[str, bool, bool]], instead: VoteStatus | None
) -> None:
    votes = {
        seat: voted(seat, verdict=word, security_veto=veto, injection_detected=flag)
        for seat, (word, veto, flag) in said.items()
    }
    for kept in product((True, False), repeat=len(votes)):
        partial = [
            vote if keep else vote.model_copy(update={"status": instead, "answer": None})
            for vote, keep in zip(votes.values(), kept, strict=True)
            if keep or instead
        ]
        decision = decide(partial)
        assert isinstance(decision, Decision)
        if not all(kept):
            assert decision.grade is not Grade.PERMISSIVE
        if any(keep and veto for keep, (_, veto, _) in zip(kept, said.values(), strict=True)):
            assert decision.outcome == "rejected"
        if any(flag for _, _, flag in said.values()) and all(kept):
            assert decision.grade is not Grade.PERMISSIVE


@given(VOTES, FACTS)
def test_i10_the_decision_replays_from_the_ledgers_json(votes: list[Vote], facts: dict[str, Any]) -> None:
    stage = Stage(stage=1, votes=tuple(votes))
    replayed = Stage.model_validate_json(stage.model_dump_json())
    first, again = (CONSENSUS.decide(PANEL, facts, (history,)) for history in (stage, replayed))
    assert first.model_dump_json() == again.model_dump_json()
    later = stage.model_copy(update={"votes": tuple(vote.model_copy(update={"elapsed_ms": 7}) for vote in stage.votes)})
    assert CONSENSUS.decide(PANEL, facts, (later,)) == first


@given(VOTES)
def test_the_output_can_always_be_printed(votes: list[Vote]) -> None:
    history = (Stage(stage=1, votes=tuple(votes)),)
    rendering = Rendering(
        subject="",
        facts={},
        history=history,
        case_id="c1",
        ref=None,
        type=None,
        opened_at=0,
        elapsed_ms=0,
        path=None,
    )
    outcome = CONSENSUS.decide(PANEL, {}, history)
    if isinstance(outcome, Decision):
        output: Any = CONSENSUS.output(PANEL, outcome, rendering)
        assert output["summary"]["final_verdict"] == outcome.outcome.upper()
        assert len(output["judges"]) == 4
        assert canonical(output)
