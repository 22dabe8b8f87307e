"""What holds for ``recommendation`` whatever the judges say: the invariants I8 and I10, order, totality."""

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from recommendation_panel import CLEAN, FACTS, PROCEDURE, SEATS, outcome, panel_of, rendering_of, stage_of

from tribunal.model import Decision, Grade, Stage, Vote, VoteStatus, canonical
from tribunal.panels import Panel
from tribunal.procedures.base import Outcome, Undecided

MISSING = (VoteStatus.TIMEOUT, VoteStatus.ERROR, VoteStatus.ABSTAINED, VoteStatus.LATE, VoteStatus.CUT, None)
KEYS = [
    "score",
    "veto",
    "confidence",
    "reason",
    "injection_detected",
    "evidence",
    "rules_hit",
    "fabricated",
    "audit_level",
    "mode",
    "domain",
    "status",
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
wild_answers = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), json_values, max_size=6)
names = st.sampled_from(
    ["feedback_git.md", "notes.md", "Rule #1", "Rule #12", "radical-honesty.md", "src/a.py", "<b>`x`"]
)
fitting_answers = st.fixed_dictionaries(
    {"score": st.none() | st.integers(0, 100)},
    optional={
        "veto": st.booleans(),
        "confidence": st.none() | st.floats(0, 1),
        "reason": st.none() | st.text(max_size=30),
        "injection_detected": st.booleans(),
        "evidence": st.lists(names, max_size=2),
        "rules_hit": st.lists(names, max_size=2),
        "fabricated": st.lists(st.fixed_dictionaries({"entity": names, "confidence": st.floats(0, 1)}), max_size=2),
        "audit_level": st.sampled_from(["blind", "low", "medium", "high"]),
        "unknown": json_values,
    },
)
statuses = st.sampled_from([VoteStatus.VOTED] * 6 + [status for status in VoteStatus if status is not VoteStatus.VOTED])


@st.composite
def votes_of(draw: st.DrawFn, seat: str, answers: st.SearchStrategy[dict[str, JsonValue]]) -> Vote:
    return Vote(
        seat=seat,
        judge=seat,
        status=draw(statuses),
        answer=draw(st.none() | answers),
        reason=draw(st.none() | st.text(max_size=10)),
        attempt=draw(st.integers(0, 2)),
        elapsed_ms=draw(st.none() | st.integers(0, 9999)),
    )


def full_stages(answers: st.SearchStrategy[dict[str, JsonValue]]) -> st.SearchStrategy[Stage]:
    return st.tuples(*(votes_of(seat, answers) for seat in SEATS)).map(lambda votes: Stage(stage=1, votes=votes))


@st.composite
def wild_stages(draw: st.DrawFn) -> Stage:
    """Any votes at all: of seats twice, of strangers, of no seat."""
    seats = draw(st.lists(st.sampled_from([*SEATS, "stranger"]), max_size=6))
    return Stage(stage=draw(st.integers(1, 3)), votes=tuple(draw(votes_of(seat, wild_answers)) for seat in seats))


def written(found: Outcome) -> str:
    return canonical(found.model_dump(mode="json"))


@given(full_stages(fitting_answers), st.permutations(range(len(SEATS))))
def test_the_order_of_votes_never_matters(stage: Stage, order: list[int]) -> None:
    shuffled = Stage(stage=1, votes=tuple(stage.votes[place] for place in order))

    assert written(outcome(shuffled)) == written(outcome(stage))


@pytest.mark.parametrize("missing", [set(some) for n in range(1, 5) for some in itertools.combinations(SEATS, n)])
@pytest.mark.parametrize("status", MISSING)
def test_i8_no_partial_panel_passes(missing: set[str], status: VoteStatus | None) -> None:
    clean = stage_of(CLEAN).votes
    votes = [vote for vote in clean if vote.seat not in missing]
    if status:
        votes += [vote.model_copy(update={"status": status}) for vote in clean if vote.seat in missing]

    found = outcome(Stage(stage=1, votes=tuple(votes)))

    assert isinstance(found, Decision)
    assert found.grade is Grade.MIDDLE
    assert found.details["reason"] in {"timeout", "unavailable"}


@given(full_stages(fitting_answers), st.sets(st.sampled_from(SEATS), min_size=1), st.sampled_from(MISSING))
def test_i8_no_missing_vote_turns_anything_into_a_pass(
    stage: Stage, missing: set[str], status: VoteStatus | None
) -> None:
    votes = [
        vote.model_copy(update={"status": status}) if status and vote.seat in missing else vote
        for vote in stage.votes
        if status or vote.seat not in missing
    ]

    found = outcome(Stage(stage=1, votes=tuple(votes)))

    assert isinstance(found, Undecided) or found.grade is not Grade.PERMISSIVE  # type: ignore[union-attr]  # no Convene


@given(full_stages(fitting_answers))
def test_a_pass_means_that_every_seat_answered_and_none_objected(stage: Stage) -> None:
    found = outcome(stage)

    if isinstance(found, Decision) and found.grade is Grade.PERMISSIVE:
        answers = [vote.answer or {} for vote in stage.votes]
        assert all(vote.answered for vote in stage.votes)
        assert not any(answer.get("veto") or answer.get("injection_detected") for answer in answers)
        assert any(answer["score"] is not None for answer in answers[:3])


@given(full_stages(fitting_answers))
def test_i9_a_flag_never_ends_permissive(stage: Stage) -> None:
    answers = [{**(vote.answer or {"score": 100}), "injection_detected": True} for vote in stage.votes]
    flagged = tuple(
        vote.model_copy(update={"answer": answer}) for vote, answer in zip(stage.votes, answers, strict=True)
    )

    found = outcome(Stage(stage=1, votes=flagged))

    assert isinstance(found, Undecided) or found.grade is not Grade.PERMISSIVE  # type: ignore[union-attr]  # no Convene


@given(wild_stages(), st.dictionaries(st.sampled_from(["skip", "risk_class", "x"]), json_values), st.text(max_size=80))
def test_no_input_of_the_right_type_raises(stage: Stage, facts: Mapping[str, JsonValue], draft: str) -> None:
    for panel in (panel_of(), panel_of("tone"), panel_of(options={"pass_score": "x"})):
        found = PROCEDURE.decide(panel, facts, (stage,))
        decision = found if isinstance(found, Decision) else PROCEDURE.fail_safe

        printed = PROCEDURE.output(panel, decision, rendering_of(*stage.votes, subject=draft))

        assert Decision.model_validate_json(decision.model_dump_json()) == decision
        assert printed["verdict"] in {"PASS", "WARN", "VETO"}
        assert (printed["banner"] == "") == (printed["verdict"] == "PASS")
        assert canonical(printed)


@given(wild_answers)
def test_any_answer_can_be_checked_and_what_is_accepted_counts(answer: dict[str, JsonValue]) -> None:
    panel = panel_of("tone")
    wrong = PROCEDURE.check_answer("tone", answer)
    vote = Vote(seat="tone", judge="tone", status=VoteStatus.VOTED, answer=answer)

    found = outcome(Stage(stage=1, votes=(vote,)), panel)

    assert isinstance(found, Decision)
    assert (found.details["missing"] == {}) == (wrong is None)
    assert isinstance(PROCEDURE.decisive("tone", answer), bool)


@given(full_stages(fitting_answers))
def test_i10_time_attempts_and_the_dockets_words_are_not_in_the_decision(stage: Stage) -> None:
    other = tuple(
        vote.model_copy(update={"attempt": 2, "elapsed_ms": 1, "reason": "worker celery@host lost", "judge": "another"})
        for vote in stage.votes
    )

    assert written(outcome(Stage(stage=1, votes=other))) == written(outcome(stage))


@given(full_stages(fitting_answers))
def test_i10_a_replay_from_the_ledgers_json_gives_the_same_bytes(stage: Stage) -> None:
    panel = panel_of()
    stored = Stage.model_validate_json(stage.model_dump_json())
    snapshot = Panel.model_validate_json(panel.model_dump_json())

    assert written(PROCEDURE.decide(snapshot, FACTS, (stored,))) == written(outcome(stage, panel))
