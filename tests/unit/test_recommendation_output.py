"""Around the rules of ``recommendation``: the gate, the panel's options, the document's own format."""

import json
from typing import Any

import pytest
from pydantic import JsonValue
from recommendation_panel import (
    CLEAN,
    DRAFT,
    PROCEDURE,
    SEATS,
    case_of,
    decided,
    outcome,
    panel_of,
    rendering_of,
    scored,
    stage_of,
)

from tribunal.errors import ConfigurationError
from tribunal.model import Decision, Grade, Risk, Stage, canonical, sha256
from tribunal.panels import Panel, Seat
from tribunal.procedures.recommendation import Options, Recommendation

PASS, VETO, WARN = "pass", "veto", "warn"


# The gate.


def test_a_greeting_runs_no_judge_and_passes() -> None:
    panel = panel_of()

    facts = PROCEDURE.gate(panel, case_of("Hello! How can I help you today?"))
    decision = PROCEDURE.decide(panel, facts, ())

    assert facts == {
        "risk_class": "low",
        "classified": "low",
        "matched": [],
        "skip": "risk class low: no judge is needed",
    }
    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.grade, decision.details["skipped"]) == (PASS, Grade.PERMISSIVE, True)


def test_a_dangerous_draft_is_judged_and_the_facts_say_why() -> None:
    facts = PROCEDURE.gate(panel_of(), case_of("Run rm -rf /srv/data on the production host."))

    assert "skip" not in facts
    assert facts["risk_class"] == facts["classified"] == "critical"
    assert "data-loss" in json.dumps(facts["matched"])


@pytest.mark.parametrize(
    ("floor", "given", "draft", "risk"),
    [
        ("context", Risk.LOW, "rm -rf /", "low"),
        ("context", Risk.CRITICAL, "Hello!", "critical"),
        ("classifier", Risk.LOW, "rm -rf /", "critical"),
        ("classifier", Risk.CRITICAL, "Hello!", "critical"),
        ("classifier", Risk.LOW, "Hello!", "low"),
        ("classifier", None, "You should use a list.", "medium"),
    ],
)
def test_a_given_risk_class_wins_unless_the_panel_sets_the_classifier_as_floor(
    floor: str, given: Risk | None, draft: str, risk: str
) -> None:
    facts = PROCEDURE.gate(panel_of(options={"risk_floor": floor}), case_of(draft, given))

    assert facts["risk_class"] == risk
    assert ("skip" in facts) == (risk == "low")


def test_a_panel_may_have_every_draft_judged() -> None:
    case = case_of("Hello there.", Risk.LOW)
    assert "skip" in PROCEDURE.gate(panel_of(), case)
    assert "skip" not in PROCEDURE.gate(panel_of(options={"skip_low": False}), case)


@pytest.mark.parametrize("skip", [True, 1, "", None, ["x"]])
def test_only_a_reason_skips(skip: JsonValue) -> None:
    decision = PROCEDURE.decide(panel_of(), {"skip": skip}, ())

    assert isinstance(decision, Decision)
    assert decision.outcome == WARN


# Options and the panel.


def test_thresholds_are_the_panels() -> None:
    strict = panel_of(options={"pass_score": 95, "veto_confidence": 0.5, "fabricated_confidence": 0.2})

    assert decided(scored("memory-conflict", 80), strict).details["reason"] == "low score"
    assert decided(scored("rule-violation", 100, veto=True, confidence=0.5), strict).outcome == VETO
    assert decided(scored("hallucination-fast", 100, fabricated=["x"], confidence=0.2), strict).outcome == VETO


def test_vetoing_memories_and_rules_are_the_panels() -> None:
    own = panel_of(
        options={"vetoing_memory": ["team_"], "vetoing_rules": ["SEC-4"], "vetoing_rule_files": ["house.md"]}
    )

    assert decided(scored("memory-conflict", 100, evidence=["team_style.md"]), own).outcome == VETO
    assert decided(scored("memory-conflict", 100, evidence=["feedback_git.md"]), own).outcome == PASS
    assert decided(scored("rule-violation", 100, rules_hit=["SEC-4"]), own).outcome == VETO
    assert decided(scored("rule-violation", 100, rules_hit=["SEC-41"]), own).outcome == PASS
    assert decided(scored("rule-violation", 100, rules_hit=["house.md"]), own).outcome == VETO


WRONG_OPTIONS: list[dict[str, Any]] = [
    {"pass_score": 101},
    {"pass_score": "80"},
    {"veto_confidence": 80},
    {"risk_floor": "none"},
    {"vetoing_rules": "Rule #1"},
    {"vetoing_rules": [1]},
    {"vetoing_memory": [""]},
    {"pass_scroe": 80},
]


@pytest.mark.parametrize("options", WRONG_OPTIONS)
def test_wrong_options_open_no_case_and_never_pass_one(options: dict[str, Any]) -> None:
    panel = panel_of(options=options)

    with pytest.raises(ConfigurationError, match=next(iter(options))):
        PROCEDURE.gate(panel, case_of(DRAFT))
    assert decided({}, panel).details["reason"] == "misconfigured"
    assert decided({"tone": None, "rule-violation": {"score": 0, "veto": True}}, panel).outcome == VETO


def test_the_defaults_are_the_designs() -> None:
    assert Options() == Options(pass_score=80, veto_confidence=0.8, fabricated_confidence=0.9, risk_floor="context")


def test_a_panel_needs_one_stage_and_a_score_that_counts() -> None:
    late = Seat(name="late", judge="late", timeout=2, stage=2, weight="0.0")
    wrong = Panel(name="mine", procedure="recommendation", answer_within=3, seats=(late,))

    assert PROCEDURE.check_panel(panel_of()) == []
    assert PROCEDURE.check_panel(wrong) == [
        'seat "late": stage 1 expected, there is no other; 2 came',
        'at least one seat whose weight is not "0" expected; without one no draft can pass',
    ]


def test_the_documents_seat_names_are_understood() -> None:
    assert [PROCEDURE.seat_name(f"{seat}-judge") for seat in SEATS] == list(SEATS)
    assert PROCEDURE.seat_name("tone-judge") == "tone-judge"


def test_the_fail_safe_never_permits() -> None:
    assert Recommendation.fail_safe.grade is Grade.MIDDLE


# The document's own format.


def test_the_output_is_the_documents() -> None:
    votes = stage_of({**CLEAN, "rule-violation": None}).votes
    decision = outcome(Stage(stage=1, votes=votes))
    assert isinstance(decision, Decision)

    printed = PROCEDURE.output(panel_of(), decision, rendering_of(*votes, path="output/x.json"))

    banner = printed.pop("banner")
    assert isinstance(banner, str)
    assert "rule-violation" in banner
    assert printed == {
        "verdict": "WARN",
        "skipped": False,
        "reason": "timeout",
        "draft_hash": f"sha256:{sha256(DRAFT)}",
        "judges": {
            "memory-conflict": {"score": 100, "veto": False, "evidence": []},
            "rule-violation": {"score": None, "status": "timeout", "reason": "no answer"},
            "hallucination-fast": {"score": 100, "veto": False, "fabricated": []},
            "expertise-asymmetry": {"score": 90, "veto": False, "audit_level": "high", "mode": "normal"},
        },
        "consensus_score": 100,
        "veto_judges": [],
        "audit_path": "output/x.json",
        "latency_ms": 812,
    }


def test_what_passes_has_no_banner_and_no_reason() -> None:
    votes = stage_of(CLEAN).votes
    decision = outcome(Stage(stage=1, votes=votes))
    assert isinstance(decision, Decision)

    printed = PROCEDURE.output(panel_of(), decision, rendering_of(*votes))

    assert (printed["verdict"], printed["banner"], printed["audit_path"]) == ("PASS", "", None)
    assert "reason" not in printed


def test_a_skipped_case_is_the_documents_pass() -> None:
    decision = PROCEDURE.decide(panel_of(), {"risk_class": "low", "skip": "low"}, ())
    assert isinstance(decision, Decision)

    printed = PROCEDURE.output(panel_of(), decision, rendering_of())

    assert (printed["verdict"], printed["skipped"], printed["judges"], printed["banner"]) == ("PASS", True, {}, "")


def test_the_fail_safe_can_be_printed_without_a_vote() -> None:
    printed = PROCEDURE.output(panel_of(), Recommendation.fail_safe, rendering_of())

    assert (printed["verdict"], printed["reason"], printed["judges"]) == ("WARN", "unavailable", {})
    assert "did not judge this answer" in str(printed["banner"])
    assert Recommendation.fail_safe.reasons[0] in str(printed["banner"])
    assert canonical(printed)


def test_without_a_draft_there_is_no_hash_of_it() -> None:
    printed = PROCEDURE.output(panel_of(), Recommendation.fail_safe, rendering_of(subject=""))
    assert printed["draft_hash"] is None


def test_a_seat_whose_faulty_vote_vetoes_is_shown_so() -> None:
    votes = stage_of({**CLEAN, "rule-violation": {"score": 0, "veto": True, "aside": float("nan")}}).votes
    decision = outcome(Stage(stage=1, votes=votes))
    assert isinstance(decision, Decision)

    printed: Any = PROCEDURE.output(panel_of(), decision, rendering_of(*votes))

    assert (printed["verdict"], printed["veto_judges"]) == ("VETO", ["rule-violation"])
    entry = printed["judges"]["rule-violation"]
    assert (entry["veto"], entry["status"], entry["score"]) == (True, "error", None)
    assert "rule-violation" in printed["banner"]


def test_the_audit_file_is_named_by_the_day_in_utc_and_the_drafts_hash() -> None:
    stem = f"recommendation-tribunal/2026-03-01/{sha256(DRAFT)}"

    assert PROCEDURE.paths(rendering_of()) == (f"{stem}.json", f"{stem}.c1.json")
