"""What a judge sends, as a vote: rubbish costs the vote, and never what it flagged (I6, I9)."""

import json
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tribunal.config import builtin_catalogue
from tribunal.docket import Ballot
from tribunal.model import Authority, Decision, Grade, Stage, Vote, VoteStatus, canonical
from tribunal.panels import Panel
from tribunal.procedures import PROCEDURES, Procedure, read_vote
from tribunal.procedures.base import Outcome
from tribunal.strict_json import check_depth, salvage
from workers.child import ANSWER_LIMIT, reply_of

PANELS = builtin_catalogue().panels
YES: dict[str, Any] = {"verdict": "approve", "confidence": 0.9}
SURROGATE = "the diff says: \udce9"


def nested(levels: int) -> Any:
    value: Any = "deep"
    for _ in range(levels):
        value = [value]
    return value


def endless() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


class Level(IntEnum):
    HIGH = 3


UNFIT = {
    "a lone surrogate": SURROGATE,
    "a lone surrogate as a key": {SURROGATE: 1},
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "200 levels": nested(200),
    "3,000 levels": nested(3_000),
    "itself": endless(),
    "an integer without end": 10**5_000,
    "bytes": b"\xff",
    "an object": object(),
}


def through_a_child(procedure: Procedure, seat: str, raw: Any) -> Vote:
    """As the worker gets it from the judge's process: over a pipe, as JSON."""
    reply = json.loads(json.dumps(reply_of(raw)).encode())
    return read_vote(procedure, seat, seat, reply["answer"])


def directly(procedure: Procedure, seat: str, raw: Any) -> Vote:
    return read_vote(procedure, seat, seat, raw)


WAYS = pytest.mark.parametrize("read", [directly, through_a_child])


def votes_of(panel: Panel, first: Vote, other: dict[str, Any]) -> tuple[Stage, ...]:
    """The first seat's vote, and the same clean one of all others."""
    procedure = PROCEDURES[panel.procedure]
    cast_votes = [
        first if seat == panel.seats[0] else read_vote(procedure, seat.name, seat.judge, other) for seat in panel.seats
    ]
    by_stage = {seat.name: seat.stage for seat in panel.seats}
    numbers = sorted(set(by_stage.values()))
    return tuple(
        Stage(stage=number, votes=tuple(vote for vote in cast_votes if by_stage[vote.seat] == number))
        for number in numbers
    )


def decide(panel: Panel, first: Vote, other: dict[str, Any]) -> Outcome:
    return PROCEDURES[panel.procedure].decide(panel, {}, votes_of(panel, first, other))


@WAYS
@pytest.mark.parametrize("unfit", UNFIT.values(), ids=list(UNFIT))
def test_i9_a_flag_beside_what_is_no_json_escalates(read: Any, unfit: Any) -> None:
    panel = PANELS["routine-review"]
    raw = {**YES, "aside": unfit, "injection_detected": True, "design_decision": True}

    vote = read(PROCEDURES["routine-review"], "mimir", raw)
    decision = decide(panel, vote, YES)

    assert vote.status is VoteStatus.ERROR
    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.authority) == ("escalate", None)
    assert decision.details["injection"] == decision.details["design_decision"] == ["mimir"]


@WAYS
@pytest.mark.parametrize("unfit", UNFIT.values(), ids=list(UNFIT))
def test_i9_a_design_decision_beside_it_is_merged_by_a_person(read: Any, unfit: Any) -> None:
    vote = read(PROCEDURES["routine-review"], "mimir", {**YES, "aside": unfit, "design_decision": True})
    decision = decide(PANELS["routine-review"], vote, YES)
    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.authority) == ("approved", Authority.HUMAN)


@WAYS
@pytest.mark.parametrize("unfit", UNFIT.values(), ids=list(UNFIT))
def test_a_veto_beside_it_holds_and_a_score_does_not(read: Any, unfit: Any) -> None:
    """The kept answer can be read: a veto needs no full panel, but an approval does."""
    fine = {"score": 100, "veto": False}
    recommendation, consensus = PROCEDURES["recommendation"], PROCEDURES["consensus"]

    veto = read(recommendation, "memory-conflict", {**fine, "veto": True, "aside": unfit})
    vetoed = decide(PANELS["recommendation"], veto, fine)
    clean = decide(PANELS["recommendation"], read(recommendation, "memory-conflict", {**fine, "aside": unfit}), fine)
    secure = read(consensus, "reflection-validator", {"verdict": "VALIDATED", "security_veto": True, "aside": unfit})
    code = read(consensus, "code-reviewer", {"verdict": "RECHAZADO", "reasoning": "a security hole", "aside": unfit})

    assert isinstance(vetoed, Decision)
    assert (vetoed.outcome, vetoed.details["missing"]) == ("veto", {"memory-conflict": "error"})
    assert isinstance(clean, Decision)
    assert (clean.outcome, clean.details["reason"]) == ("warn", "unavailable")
    for vote in (secure, code):
        rejected = consensus.decide(PANELS["consensus"], {}, (Stage(stage=1, votes=(vote,)),))
        assert isinstance(rejected, Decision)
        assert rejected.outcome == "rejected"


def test_the_words_of_a_broken_vote_are_kept_readable() -> None:
    raw = {**YES, "reasoning": SURROGATE, "confidence": float("nan"), "required_edits": ("a",)}

    direct = directly(PROCEDURES["routine-review"], "mimir", raw)
    sent = through_a_child(PROCEDURES["routine-review"], "mimir", raw)

    assert direct.answer == {
        "verdict": "approve",
        "confidence": "nan",
        "reasoning": "the diff says: \\udce9",
        "required_edits": ["a"],
    }
    assert sent.answer is not None
    assert sent.answer["reasoning"] == "the diff says: \\udce9"
    assert "ValueError" in str(sent.reason)
    assert str(sent.reason).endswith("the judge said: the diff says: \\udce9")


def test_an_answer_that_is_too_large_keeps_its_flags() -> None:
    raw = {"padding": ["x" * 5_000] * 1_000, **YES, "injection_detected": True}
    vote = through_a_child(PROCEDURES["routine-review"], "mimir", raw)
    assert vote.status is VoteStatus.ERROR
    assert "2,097,152 bytes expected" in str(vote.reason)
    assert len(vote.model_dump_json()) < 100_000 < ANSWER_LIMIT
    decision = decide(PANELS["routine-review"], vote, YES)
    assert isinstance(decision, Decision)
    assert decision.outcome == "escalate"


def test_what_python_has_and_json_writes_is_an_answer_like_any() -> None:
    reply = reply_of({"verdict": "approve", "level": Level.HIGH, "edits": ("a", "b"), 1: "one", "pair": "\ud83d\ude00"})
    assert reply == {
        "answer": {"verdict": "approve", "level": 3, "edits": ["a", "b"], "1": "one", "pair": "\U0001f600"}
    }


@pytest.mark.parametrize("result", [object(), b"yes", float("nan"), SURROGATE, 10**5_000], ids=type)
def test_what_is_no_object_at_all_is_a_fault(result: Any) -> None:
    reply = reply_of(result)
    assert reply["retryable"] is False
    assert "Error: " in reply["error"]
    assert json.dumps(reply, ensure_ascii=False).encode()


@pytest.mark.parametrize(("levels", "status"), [(99, VoteStatus.VOTED), (100, VoteStatus.ERROR)])
def test_a_vote_that_counts_can_be_read_by_every_reader_after(levels: int, status: VoteStatus) -> None:
    vote = directly(PROCEDURES["routine-review"], "mimir", {**YES, "aside": nested(levels - 1)})
    assert vote.status is status
    assert Ballot.model_validate_json(Ballot(vote=vote, decisive=False).model_dump_json()).vote == vote


@pytest.mark.parametrize("panel", list(PANELS))
@pytest.mark.parametrize("status", [{}, {"status": "voted"}, {"status": "error"}])
def test_the_consensus_documents_timeout_key_means_not_answered_everywhere(panel: str, status: dict[str, Any]) -> None:
    procedure = PROCEDURES[PANELS[panel].procedure]
    seat = PANELS[panel].seats[0].name
    full = {"verdict": "VALIDATED" if panel == "consensus" else "approve", "score": 100, "veto": False}

    assert read_vote(procedure, seat, seat, {**full, "timeout": False}).status is VoteStatus.VOTED
    late = read_vote(procedure, seat, seat, {**full, **status, "timeout": True, "reasoning": "half an answer"})

    assert (late.status, late.reason) == (VoteStatus.TIMEOUT, "half an answer")


@pytest.mark.parametrize("wrong", ["true", 1, None, [True]])
def test_a_timeout_that_is_no_boolean_is_an_error(wrong: JsonValue) -> None:
    vote = read_vote(PROCEDURES["routine-review"], "mimir", "mimir", {**YES, "timeout": wrong})
    assert vote.status is VoteStatus.ERROR
    assert "timeout: true or false" in str(vote.reason)


def test_two_timeouts_with_verdicts_do_not_approve() -> None:
    late: JsonValue = {"verdict": "APROBADO", "timeout": True}
    seats = [seat.name for seat in PANELS["consensus"].seats]
    words: list[JsonValue] = [{"verdict": "VALIDATED"}, late, {"verdict": "VALIDO"}, {**cast("Any", late)}]
    votes = (read_vote(PROCEDURES["consensus"], seat, seat, word) for seat, word in zip(seats, words, strict=True))
    decision = PROCEDURES["consensus"].decide(PANELS["consensus"], {}, (Stage(stage=1, votes=tuple(votes)),))
    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.grade) == ("conditional", Grade.MIDDLE)


# What is kept of anything.


WILD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.binary(max_size=3)
    | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(st.characters(exclude_categories=()), max_size=4) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(WILD)
def test_whatever_comes_what_is_kept_is_json(value: Any) -> None:
    kept = salvage(value)
    check_depth(kept)
    assert json.loads(canonical(kept).encode()) == kept


@given(st.dictionaries(st.text(max_size=4), WILD, max_size=3))
def test_i9_whatever_comes_with_it_a_flag_is_heard(more: dict[str, Any]) -> None:
    raw = {**more, "injection_detected": True, "security_veto": True}
    for name, procedure in PROCEDURES.items():
        for vote in (directly(procedure, "a", cast("Any", raw)), through_a_child(procedure, "a", raw)):
            assert vote.answer is not None, name
            assert vote.answer["injection_detected"] is vote.answer["security_veto"] is True


@given(WILD)
def test_any_value_is_a_vote_or_a_fault(value: Any) -> None:
    for procedure in PROCEDURES.values():
        assert isinstance(directly(procedure, "a", value), Vote)
    reply = reply_of(value)
    assert json.loads(json.dumps(reply)) == reply
    assert reply.keys() <= {"answer", "error", "retryable"}


def test_what_is_kept_is_bounded_and_flags_come_first() -> None:
    def much() -> Iterator[tuple[str, Any]]:
        for number in range(10_000):
            yield f"key-{number}", ["x" * 10_000] * 10

    kept = salvage({**dict(much()), "injection_detected": True})

    assert isinstance(kept, dict)
    assert kept["injection_detected"] is True
    assert len(canonical(kept)) < 200_000
