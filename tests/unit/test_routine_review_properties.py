"""routine-review: what holds for any votes (I8, I9, I10, totality)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tribunal.config import builtin_catalogue
from tribunal.model import Decision, Grade, Stage, Vote, VoteStatus, canonical
from tribunal.procedures import Convene, Undecided
from tribunal.procedures.routine_review import RoutineReview

PANEL = builtin_catalogue().panels["routine-review"]
REVIEW = RoutineReview()
SEATS = ("mimir", "forseti", "thor")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ANSWERS = st.fixed_dictionaries(
    {"verdict": st.sampled_from(["approve", "request_changes"])},
    optional={
        "confidence": st.sampled_from([0, 0.4, 0.5, 1.0]),
        "required_edits": st.lists(st.sampled_from(["a", "b", "c"]), max_size=3),
        "injection_detected": st.booleans(),
        "design_decision": st.booleans(),
    },
)
ANYTHING = st.builds(
    Vote,
    seat=st.sampled_from([*SEATS, "stranger"]),
    judge=st.just("j"),
    status=st.sampled_from(VoteStatus),
    answer=st.none() | ANSWERS | st.dictionaries(st.sampled_from(["verdict", "confidence", "x"]), JSON, max_size=3),
)
HISTORY = st.lists(
    st.builds(Stage, stage=st.integers(1, 3), votes=st.lists(ANYTHING, max_size=4).map(tuple)), max_size=3
)
FACTS = st.dictionaries(st.sampled_from(["round", "protected", "max_rounds"]), JSON | st.integers(-1, 3), max_size=3)
MISSING = st.sampled_from([None, VoteStatus.TIMEOUT, VoteStatus.ERROR, VoteStatus.ABSTAINED, VoteStatus.CUT])


def voted(seat: str, answer: dict[str, Any]) -> Vote:
    return Vote(seat=seat, judge=seat, status=VoteStatus.VOTED, answer=answer)


def stages(votes: list[Vote], convened: bool) -> tuple[Stage, ...]:
    first = Stage(stage=1, votes=tuple(vote for vote in votes if vote.seat != "thor"))
    second = Stage(stage=2, votes=tuple(vote for vote in votes if vote.seat == "thor"))
    return (first, second) if convened else (first,)


@given(HISTORY, FACTS, st.data())
def test_the_order_of_votes_never_matters(history: list[Stage], facts: dict[str, Any], data: st.DataObject) -> None:
    shuffled = [
        stage.model_copy(update={"votes": tuple(data.draw(st.permutations(stage.votes)))})
        for stage in data.draw(st.permutations(history))
    ]
    one, other = (REVIEW.decide(PANEL, facts, tuple(each)) for each in (history, shuffled))
    assert canonical(one.model_dump(mode="json")) == canonical(other.model_dump(mode="json"))


@given(HISTORY, FACTS, st.dictionaries(st.sampled_from(["threshold", "max_rounds", "x"]), JSON, max_size=2))
def test_no_input_of_the_right_type_raises(
    history: list[Stage], facts: dict[str, Any], options: dict[str, Any]
) -> None:
    outcome = REVIEW.decide(PANEL.model_copy(update={"options": options}), facts, tuple(history))
    assert isinstance(outcome, Decision | Convene | Undecided)


@given(st.tuples(ANSWERS, ANSWERS), st.sets(st.sampled_from(["mimir", "forseti"]), min_size=1), MISSING, FACTS)
def test_i8_a_partial_first_stage_never_approves(
    answers: tuple[dict[str, Any], dict[str, Any]], gone: set[str], instead: VoteStatus | None, facts: dict[str, Any]
) -> None:
    votes = [
        voted(seat, answer) if seat not in gone else Vote(seat=seat, judge=seat, status=instead or VoteStatus.TIMEOUT)
        for seat, answer in zip(SEATS, answers, strict=False)
        if seat not in gone or instead
    ]
    outcome = REVIEW.decide(PANEL, facts, stages(votes, convened=False))
    assert not (isinstance(outcome, Decision) and outcome.grade is Grade.PERMISSIVE)
    both_gone = REVIEW.decide(PANEL, facts, stages(votes, convened=True))
    assert isinstance(both_gone, Decision)
    assert both_gone.outcome == "escalate"


@given(st.tuples(ANSWERS, ANSWERS, ANSWERS), MISSING, FACTS)
def test_i8_without_thor_a_tie_never_approves(
    answers: tuple[dict[str, Any], ...], instead: VoteStatus | None, facts: dict[str, Any]
) -> None:
    votes = [voted(seat, answer) for seat, answer in zip(SEATS, answers, strict=True)]
    first = REVIEW.decide(PANEL, facts, stages(votes, convened=False))
    if not isinstance(first, Convene):
        return
    silent = [Vote(seat="thor", judge="thor", status=instead)] if instead else []
    without = REVIEW.decide(PANEL, facts, stages([*votes[:2], *silent], convened=True))
    assert isinstance(without, Decision)
    assert without.outcome == "escalate"
    bound = REVIEW.decide(PANEL, facts, stages(votes, convened=True))
    assert isinstance(bound, Decision)
    if bound.grade is Grade.PERMISSIVE:
        assert answers[2]["verdict"] == "approve"


@given(st.tuples(ANSWERS, ANSWERS, ANSWERS), FACTS)
def test_i9_a_flag_on_any_vote_keeps_the_diff_from_merging_itself(
    answers: tuple[dict[str, Any], ...], facts: dict[str, Any]
) -> None:
    votes = [voted(seat, answer) for seat, answer in zip(SEATS, answers, strict=True)]
    decision = REVIEW.decide(PANEL, facts, stages(votes, convened=True))
    assert isinstance(decision, Decision)
    if any(answer.get("injection_detected") for answer in answers):
        assert decision.outcome == "escalate"
    if decision.authority == "auto":
        assert not any(answer.get("design_decision") for answer in answers)
        assert not facts.get("protected")
    assert (decision.authority is not None) == (decision.outcome == "approved")


@given(HISTORY, FACTS)
def test_i10_the_decision_replays_from_the_ledgers_json(history: list[Stage], facts: dict[str, Any]) -> None:
    replayed = tuple(Stage.model_validate_json(stage.model_dump_json()) for stage in history)
    later = tuple(
        stage.model_copy(update={"votes": tuple(vote.model_copy(update={"elapsed_ms": 7}) for vote in stage.votes)})
        for stage in history
    )
    first = REVIEW.decide(PANEL, facts, tuple(history)).model_dump_json()
    assert REVIEW.decide(PANEL, facts, replayed).model_dump_json() == first
    assert REVIEW.decide(PANEL, facts, later).model_dump_json() == first
