"""routine-review: the tie-break, rounds, merge authority and flags, each rule on both sides of its boundary."""

from typing import Any

import pytest

from tribunal.config import builtin_catalogue
from tribunal.model import Authority, Case, Decision, Grade, Stage, Vote, VoteStatus
from tribunal.panels import Panel, Seat
from tribunal.procedures import Convene, Rendering, Undecided, read_vote
from tribunal.procedures.base import Outcome
from tribunal.procedures.routine_review import RoutineReview

PANEL = builtin_catalogue().panels["routine-review"]
REVIEW = RoutineReview()
YES: dict[str, Any] = {"verdict": "approve", "confidence": 0.9}
NO: dict[str, Any] = {"verdict": "request_changes", "confidence": 0.9}
OPEN, CUT = VoteStatus.OPEN, VoteStatus.CUT
ABSTAINS: dict[str, Any] = {"status": "abstain"}


def vote(seat: str, raw: Any) -> Vote:
    return (
        Vote(seat=seat, judge=seat, status=raw) if isinstance(raw, VoteStatus) else read_vote(REVIEW, seat, seat, raw)
    )


def history(mimir: Any, forseti: Any, **thor: Any) -> tuple[Stage, ...]:
    first = Stage(stage=1, votes=(vote("mimir", mimir), vote("forseti", forseti)))
    return (first, Stage(stage=2, votes=(vote("thor", thor["thor"]),))) if thor else (first,)


def ask(mimir: Any, forseti: Any, facts: Any = None, panel: Panel = PANEL, **thor: Any) -> Outcome:
    return REVIEW.decide(panel, facts or {}, history(mimir, forseti, **thor))


def decide(mimir: Any, forseti: Any, facts: Any = None, panel: Panel = PANEL, **thor: Any) -> Decision:
    decision = ask(mimir, forseti, facts, panel, **thor)
    assert isinstance(decision, Decision)
    return decision


def rendering(given: tuple[Stage, ...], **facts: Any) -> Rendering:
    return Rendering(
        subject="",
        facts=facts,
        history=given,
        case_id="c1",
        ref=None,
        type=None,
        opened_at=0,
        elapsed_ms=0,
        path=None,
    )


def test_both_approve() -> None:
    decision = decide(YES, YES)
    assert (decision.outcome, decision.grade, decision.authority) == ("approved", Grade.PERMISSIVE, Authority.AUTO)


def test_both_request_changes() -> None:
    decision = decide(NO, NO)
    assert (decision.outcome, decision.grade, decision.authority) == ("needs_revision", Grade.MIDDLE, None)


@pytest.mark.parametrize(
    ("mimir", "forseti", "why"),
    [
        (YES, NO, "disagreement: mimir says approve, forseti says request_changes"),
        (YES, ABSTAINS, "forseti (abstained)"),
        (None, NO, "mimir (timeout)"),
        (YES, {"verdict": "approve", "confidence": 100}, "forseti (error)"),
        (YES, {"verdict": "approve", "confidence": 0.49}, "forseti 0.49"),
        (NO, {"verdict": "request_changes"}, "forseti 0"),
        ({"verdict": "approve", "confidence": 0.2}, YES, "mimir 0.2"),
    ],
)
def test_what_the_two_do_not_settle_goes_to_the_tie_break(mimir: Any, forseti: Any, why: str) -> None:
    outcome = ask(mimir, forseti)
    assert isinstance(outcome, Convene)
    assert outcome.stage == 2
    assert why in outcome.reason


def test_a_confidence_at_the_threshold_is_enough() -> None:
    assert decide(YES, {"verdict": "approve", "confidence": 0.5}).outcome == "approved"
    strict = PANEL.model_copy(update={"options": {"threshold": 0.95}})
    assert isinstance(ask(YES, YES, panel=strict), Convene)


@pytest.mark.parametrize("silent", [None, ABSTAINS, {"status": "error"}, {"verdict": "approved"}, []])
def test_nobody_reviewed_it(silent: Any) -> None:
    assert decide(silent, None).outcome == "escalate"
    assert decide(silent, None, thor=YES).outcome == "escalate"


@pytest.mark.parametrize(("thor", "outcome"), [(YES, "approved"), (NO, "needs_revision")])
def test_thor_binds_and_his_own_confidence_is_not_tested(thor: dict[str, Any], outcome: str) -> None:
    assert decide(YES, NO, thor=thor).outcome == outcome
    assert decide(YES, NO, thor={"verdict": thor["verdict"], "confidence": 0}).outcome == outcome
    assert decide(ABSTAINS, NO, thor={"verdict": thor["verdict"]}).outcome == outcome


@pytest.mark.parametrize("silent", [None, ABSTAINS, {"verdict": "hm"}, CUT])
def test_a_tie_that_thor_does_not_break_escalates(silent: Any) -> None:
    decision = decide(YES, NO, thor=silent)
    assert decision.outcome == "escalate"
    assert "disagreement" in str(decision.details["tiebreak"])


def test_thor_where_he_was_not_needed_changes_nothing_but_his_flags_count() -> None:
    assert decide(YES, YES, thor=NO) == decide(YES, YES)
    assert decide(YES, YES, thor=None).outcome == "approved"
    assert decide(YES, YES, thor={**YES, "design_decision": True}).authority is Authority.HUMAN
    assert decide(YES, YES, thor={**YES, "injection_detected": True}).outcome == "escalate"


@pytest.mark.parametrize(
    "flagged",
    [
        {**YES, "injection_detected": True},
        {"status": "abstain", "injection_detected": True},
        {"verdict": "rubbish", "injection_detected": True},
    ],
)
def test_i9_an_injection_flag_escalates_on_any_vote_that_arrived(flagged: dict[str, Any]) -> None:
    for decision in (
        decide(flagged, YES),
        decide(YES, flagged, thor=YES),
        decide(YES, NO, thor=flagged),
        decide(OPEN, flagged),
        decide(flagged, None),
    ):
        assert (decision.outcome, decision.authority) == ("escalate", None)
        assert "injection" in decision.reasons[0]


def test_a_flag_that_is_not_strictly_true_makes_the_vote_an_error() -> None:
    assert isinstance(ask({**YES, "injection_detected": "true"}, YES), Convene)
    assert isinstance(ask({**YES, "design_decision": None}, YES), Convene)


@pytest.mark.parametrize(
    ("round_", "outcome"),
    [(1, "needs_revision"), (2, "escalate"), (3, "escalate"), (None, "escalate"), ("1", "escalate")],
)
def test_the_round_ceiling_and_what_is_no_round(round_: Any, outcome: str) -> None:
    assert decide(NO, NO, {"round": round_}).outcome == outcome
    assert decide(YES, NO, {"round": round_}, thor=NO).outcome == outcome


@pytest.mark.parametrize("round_", [True, 0, -1, 1.0, [], {}])
def test_a_round_that_is_none_counts_as_the_last(round_: Any) -> None:
    assert decide(NO, NO, {"round": round_}).outcome == "escalate"
    assert decide(NO, NO, {"round": round_}).details["round"] == 2


def test_the_rounds_are_the_panels_not_the_facts() -> None:
    assert decide(NO, NO, {"round": 2, "max_rounds": 9}).outcome == "escalate"
    patient = PANEL.model_copy(update={"options": {"max_rounds": 3}})
    assert decide(NO, NO, {"round": 2}, patient).outcome == "needs_revision"


def test_an_approval_in_the_last_round_stands() -> None:
    assert decide(YES, YES, {"round": 2}).outcome == "approved"


def test_required_edits_are_thors_then_mimirs_then_forsetis_once_each() -> None:
    mimir = {**NO, "required_edits": ["b", "a", "b"]}
    forseti = {**YES, "required_edits": [" c ", "a", ""]}
    thor = {**NO, "required_edits": ["d", "c"]}
    assert decide(mimir, forseti, thor=thor).details["required_edits"] == ["d", "c", "b", "a"]
    assert decide(mimir, NO).details["required_edits"] == ["b", "a"]
    assert decide(mimir, NO, {"round": 2}).details["required_edits"] == ["b", "a"]


def test_an_approval_requires_no_edits() -> None:
    assert decide({**NO, "required_edits": ["a"]}, YES, thor=YES).details["required_edits"] == []


@pytest.mark.parametrize(
    ("mimir", "forseti", "thor"),
    [
        ({**YES, "design_decision": True}, YES, {}),
        (YES, {**YES, "design_decision": True}, {}),
        (YES, {**NO, "design_decision": True}, {"thor": YES}),
        (YES, NO, {"thor": {**YES, "design_decision": True}}),
        (YES, {"status": "abstained", "design_decision": True}, {"thor": YES}),
    ],
)
def test_a_design_decision_is_merged_by_a_person(mimir: Any, forseti: Any, thor: Any) -> None:
    decision = decide(mimir, forseti, **thor)
    assert (decision.outcome, decision.authority) == ("approved", Authority.HUMAN)
    (seat,) = [*decision.details["design_decision"]]  # type: ignore[misc]  # a list of names
    assert f"design decision, flagged by {seat}" in "; ".join(decision.reasons)


def test_a_protected_path_is_merged_by_a_person() -> None:
    decision = decide(YES, YES, {"protected": [".github/workflows/ci.yml"]})
    assert decision.authority is Authority.HUMAN
    assert ".github/workflows/ci.yml" in "; ".join(decision.reasons)
    assert decide(YES, YES, {"protected": []}).authority is Authority.AUTO


@pytest.mark.parametrize("protected", [None, "x", 1, {}, [1], [None]])
def test_protected_paths_of_another_form_do_not_open_the_way(protected: Any) -> None:
    assert decide(YES, YES, {"protected": protected}).authority is Authority.HUMAN


def test_no_authority_but_on_an_approval() -> None:
    for decision in (decide(NO, NO), decide(None, None), decide(YES, NO, thor=None)):
        assert decision.authority is None
        assert "merge_authority" not in REVIEW.output(PANEL, decision, rendering(()))


def test_open_seats_are_waited_for() -> None:
    assert isinstance(ask(YES, OPEN), Undecided)
    assert isinstance(ask(OPEN, OPEN), Undecided)
    assert isinstance(ask(YES, NO, thor=OPEN), Undecided)


def test_only_an_injection_is_decisive() -> None:
    assert REVIEW.decisive("mimir", {**YES, "injection_detected": True})
    assert not REVIEW.decisive("mimir", YES)
    assert not REVIEW.decisive("mimir", {"injection_detected": "true"})


def test_i2_a_late_vote_counts_for_nothing() -> None:
    late = Vote(seat="forseti", judge="forseti", status=VoteStatus.LATE, answer={**YES, "injection_detected": True})
    (first,) = history(YES, None)
    with_late = (first.model_copy(update={"votes": (first.votes[0], late)}),)
    assert isinstance(REVIEW.decide(PANEL, {}, with_late), Convene)


def test_the_output_of_a_resolved_round() -> None:
    given = history(YES, {**NO, "required_edits": ["a.py:1 — x"], "reasoning": "leaks", "mood": "bad"}, thor=YES)
    decision = REVIEW.decide(PANEL, {"round": 2}, given)
    assert isinstance(decision, Decision)
    output: Any = REVIEW.output(PANEL, decision, rendering(given, round=2))
    assert list(output) == [
        "outcome",
        "verdict",
        "reasoning",
        "required_edits",
        "seats",
        "round",
        "merge_authority",
    ]
    assert (output["outcome"], output["verdict"], output["round"]) == ("resolved", "approved", 2)
    assert output["merge_authority"] == "auto"
    assert list(output["seats"]) == ["mimir", "forseti", "thor"]
    assert output["seats"]["forseti"] == {
        "status": "voted",
        "verdict": "request_changes",
        "confidence": 0.9,
        "required_edits": ["a.py:1 — x"],
        "reasoning": "leaks",
        "injection_detected": False,
        "design_decision": False,
    }


def test_the_output_that_asks_for_the_tie_break_has_the_peers() -> None:
    given = history(YES, ABSTAINS)
    convene = REVIEW.decide(PANEL, {}, given)
    assert isinstance(convene, Convene)
    output: Any = REVIEW.tiebreak_output(PANEL, convene, rendering(given))
    assert (output["outcome"], output["verdict"], output["round"]) == ("needs_tiebreak", None, 1)
    assert output["peers"]["mimir"]["verdict"] == "approve"
    assert output["peers"]["forseti"]["status"] == "abstained"
    assert output["seats"]["thor"] is None
    assert "merge_authority" not in output


def test_the_gate_reads_the_diff() -> None:
    diff = "--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    case = Case(panel="routine-review", subject=diff)
    assert REVIEW.gate(PANEL, case) == {"protected": [], "round": 1, "max_rounds": 2}
    touching = case.model_copy(update={"subject": diff.replace("src/x.py", ".github/workflows/ci.yml")})
    assert REVIEW.gate(PANEL, touching)["protected"] == [".github/workflows/ci.yml"]
    own = PANEL.model_copy(update={"options": {"protected_paths": ["src/**"], "max_rounds": 5}})
    assert REVIEW.gate(own, case) == {"protected": ["src/x.py"], "round": 1, "max_rounds": 5}


def test_a_panel_is_checked() -> None:
    assert REVIEW.check_panel(PANEL) == []
    third = Seat(name="tyr", judge="tyr", timeout=5)
    faults = REVIEW.check_panel(PANEL.model_copy(update={"seats": (*PANEL.seats_of(1), third)}))
    assert faults == [
        "routine-review has two seats in stage 1; 3 came: mimir, forseti, tyr",
        "routine-review has one seat in stage 2; 0 came: none",
    ]


def test_wrong_options_never_approve_and_say_why() -> None:
    decision = decide(YES, YES, panel=PANEL.model_copy(update={"options": {"treshold": 0.1}}))
    assert decision.outcome == "escalate"
    assert "treshold" in decision.reasons[0]
