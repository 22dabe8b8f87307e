"""The ``recommendation`` panel: what passes, what is warned about, what is blocked."""

import json

import pytest
from pydantic import JsonValue
from recommendation_panel import (
    FACTS,
    PROCEDURE,
    SEATS,
    decided,
    outcome,
    panel_of,
    scored,
)

from tribunal.model import Decision, Grade, Stage, Vote, VoteStatus
from tribunal.panels import Panel, Seat

PASS, VETO, WARN = "pass", "veto", "warn"


def test_four_clean_seats_pass() -> None:
    decision = decided({})

    assert (decision.outcome, decision.grade) == (PASS, Grade.PERMISSIVE)
    assert decision.details["consensus_score"] == 100
    assert decision.details["veto_judges"] == []
    assert (decision.details["audit_level"], decision.details["mode"]) == ("high", "normal")


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize(("confidence", "expected"), [(0.8, VETO), (1, VETO), (None, VETO), (0.79999, WARN), (0, WARN)])
def test_any_seat_vetoes_from_confidence_four_fifths_on(seat: str, confidence: float | None, expected: str) -> None:
    decision = decided(scored(seat, 100, veto=True, confidence=confidence))

    assert decision.outcome == expected
    assert decision.details["reason"] == ("veto" if expected == VETO else "doubt")
    assert decision.details["veto_judges"] == ([seat] if expected == VETO else [])
    assert list(decision.details["doubts"]) == ([] if expected == VETO else [seat])  # type: ignore[arg-type]  # a dict


def test_an_absent_confidence_counts_as_one() -> None:
    assert decided({"rule-violation": {"score": 100, "veto": True}}).outcome == VETO


def test_confidence_without_a_veto_is_no_veto() -> None:
    assert decided(scored("rule-violation", 100, confidence=1)).outcome == PASS


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"memory_file": "feedback_git.md", "memory_excerpt": "never force push", "draft_match": "push -f"}, VETO),
        ({"memory_file": "memory/user_profile.md"}, VETO),
        ({"memory_file": "C:\\memory\\USER_Profile.md"}, VETO),
        ("feedback_git.md", VETO),
        ("`feedback_git.md`: never force push to main/master", VETO),
        ({"memory_file": "project_feedback_git.md"}, PASS),
        ({"memory_file": "feedback_old/notes.md"}, PASS),
        ({"memory_file": "MEMORY.md"}, PASS),
        ("users.md", PASS),
        ("see feedback_commits.md", VETO),
        ("file: feedback_commits.md", VETO),
        ("file:feedback_commits.md#L3", VETO),
        ("conflicts with [the commits](memory/feedback_commits.md).", VETO),
        ("my memory/feedback_commits.md", VETO),
        ("see project_feedback_git.md", PASS),
        ("see feedback_old/notes.md", PASS),
    ],
)
def test_memory_conflict_vetoes_on_the_users_feedback_and_profile(found: JsonValue, expected: str) -> None:
    decision = decided(scored("memory-conflict", 90, confidence=0.1, evidence=[found]))

    assert decision.outcome == expected


@pytest.mark.parametrize(
    ("hit", "expected"),
    [
        (
            {"rule_id": "Rule #1", "rule_file": "critical-rules.md", "rule_excerpt": "no PAT", "draft_match": "ghp"},
            VETO,
        ),
        ({"rule_id": "Rule #8"}, VETO),
        ("Rule #1 (PAT hardcoded)", VETO),
        ("rule 8", VETO),
        ("Rule#01", VETO),
        ("Regla #8: agente sin spec", VETO),
        ("#1", VETO),
        ({"rule_id": "AS-3", "rule_file": "docs/rules/autonomous-safety.md"}, VETO),
        ({"rule_file": "Radical-Honesty.md#L12"}, VETO),
        ("radical-honesty.md: no flattery", VETO),
        ("autonomous-safety", VETO),
        ("Autonomous Safety, section 2", VETO),
        ({"rule_id": "AS-3", "rule_file": "rules/radical_honesty"}, VETO),
        ("PAT hardcoded", VETO),
        ("a hard-coded PAT", VETO),
        ("agent launched without a spec", VETO),
        ("agente sin spec", VETO),
        ("Rule No. 8", VETO),
        ("Regla nº 8", VETO),
        ("Rules #3, #5 and #8", VETO),
        ("#3, #8", VETO),
        ({"rule_id": "style guide, rule 8.3", "rule_file": "style.md"}, PASS),
        ("Rule #3 (8 hits)", PASS),
        ("Rule #3, line 8", PASS),
        ("8.1", PASS),
        ("user agent without a test", PASS),
        ("autonomous-safety-guide", PASS),
        ("Rule #12", PASS),
        ("Rule #80", PASS),
        ("Rule #18", PASS),
        ("Rule #3", PASS),
        ("12", PASS),
        ({"rule_id": "Rule #12", "rule_file": "critical-rules.md"}, PASS),
        ({"rule_file": "not-autonomous-safety.md"}, PASS),
        ({"rule_file": "autonomous-safety.md.bak"}, PASS),
        ({"rule_file": "autonomous-safety-guide.md"}, PASS),
    ],
)
def test_rule_violation_vetoes_on_four_rules_only(hit: JsonValue, expected: str) -> None:
    decision = decided(scored("rule-violation", 90, confidence=0.1, rules_hit=[hit]))

    assert decision.outcome == expected


@pytest.mark.parametrize(
    ("entity", "vote_confidence", "expected"),
    [
        ({"entity": "src/nope.py", "confidence": 0.9}, 0.1, VETO),
        ({"entity": "src/nope.py", "confidence": 0.89}, 1, PASS),
        ({"entity": "src/nope.py"}, 0.9, VETO),
        ({"entity": "src/nope.py"}, 0.89, PASS),
        ({"entity": "src/nope.py"}, None, VETO),
        (
            {
                "entity": "src/nope.py",
                "class": "path",
                "verification": "scan",
                "result": "absent",
                "closest_match": None,
            },
            1,
            VETO,
        ),
        ("src/nope.py", None, VETO),
        ("src/nope.py", 0.5, PASS),
    ],
)
def test_hallucination_vetoes_on_one_fabricated_entity_it_is_sure_of(
    entity: JsonValue, vote_confidence: float | None, expected: str
) -> None:
    sure = {"entity": "maybe", "confidence": 0.2}
    decision = decided(scored("hallucination-fast", 90, confidence=vote_confidence, fabricated=[sure, entity]))

    assert decision.outcome == expected


def test_a_seat_has_its_own_rules_only() -> None:
    findings: dict[str, JsonValue] = {"evidence": ["feedback_git.md"], "rules_hit": ["Rule #1"], "fabricated": ["x"]}

    assert decided(scored("expertise-asymmetry", 90, **findings)).outcome == PASS


def test_a_judges_own_rules_hold_under_another_seats_name() -> None:
    panel = Panel(
        name="mine",
        procedure="recommendation",
        answer_within=3,
        seats=(Seat(name="rules", judge="rule-violation", timeout=2),),
    )
    vote = Vote(
        seat="rules",
        judge="rule-violation",
        status=VoteStatus.VOTED,
        answer={"score": 100, "rules_hit": ["Rule #8"]},
    )

    found = outcome(Stage(stage=1, votes=(vote,)), panel)

    assert isinstance(found, Decision)
    assert found.outcome == VETO


def test_a_panel_of_other_seats_has_the_common_veto_and_the_score() -> None:
    panel = panel_of("tone", "safety")

    assert decided({}, panel).outcome == PASS
    assert decided({"tone": {"score": 100, "veto": True, "confidence": 0.8}}, panel).outcome == VETO
    assert decided({"tone": {"score": 40}}, panel).details["consensus_score"] == 70


@pytest.mark.parametrize(
    ("scores", "consensus", "expected"),
    [
        ((80, 80, 80), 80, PASS),
        ((79, 80, 80), 80, PASS),
        ((79, 79, 80), 79, WARN),
        ((79, 80, None), 80, PASS),  # 79.5 → 80, the even neighbour
        ((80, 81, None), 80, PASS),  # 80.5 → 80, the even neighbour
        ((78, 79, None), 78, WARN),  # 78.5 → 78
        ((100, None, None), 100, PASS),
        ((0, None, 100), 50, WARN),
    ],
)
def test_the_consensus_score_is_the_mean_of_what_was_scored_rounded_half_to_even(
    scores: tuple[int | None, ...], consensus: int, expected: str
) -> None:
    answers: dict[str, JsonValue] = {seat: {"score": score} for seat, score in zip(SEATS, scores, strict=False)}

    decision = decided(answers)

    assert (decision.details["consensus_score"], decision.outcome) == (consensus, expected)
    assert decision.details.get("reason") == (None if expected == PASS else "low score")


def test_the_expertise_score_is_printed_and_not_counted() -> None:
    assert decided(scored("expertise-asymmetry", 0)).details["consensus_score"] == 100


def test_weights_weigh() -> None:
    panel = Panel(
        name="mine",
        procedure="recommendation",
        answer_within=3,
        seats=(Seat(name="one", judge="one", timeout=2, weight="3"), Seat(name="two", judge="two", timeout=2)),
    )

    assert decided({"one": {"score": 100}, "two": {"score": 60}}, panel).details["consensus_score"] == 90


def test_scores_that_are_all_null_judge_nothing() -> None:
    decision = decided({seat: {"score": None} for seat in SEATS[:3]})

    assert (decision.outcome, decision.details["reason"]) == (WARN, "unscored")


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize(
    ("raw", "word", "status"),
    [
        (None, "timeout", "timeout"),
        ({"status": "timeout"}, "timeout", "timeout"),
        ({"status": "abstain", "reason": "no memory"}, "unavailable", "abstained"),
        ({"status": "error"}, "unavailable", "error"),
        ("rubbish", "unavailable", "error"),
        ({"verdict": "approve"}, "unavailable", "error"),
    ],
)
def test_a_seat_that_did_not_answer_warns(seat: str, raw: JsonValue, word: str, status: str) -> None:
    decision = decided({seat: raw})

    assert (decision.outcome, decision.details["reason"]) == (WARN, word)
    assert decision.details["missing"] == {seat: status}


def test_the_seeds_hard_timeout_warns_with_the_reason_timeout() -> None:
    decision = PROCEDURE.decide(panel_of(), FACTS, ())

    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.details["reason"]) == (WARN, "timeout")
    assert decision.details["missing"] == dict.fromkeys(SEATS, "timeout")


def test_a_veto_counts_on_a_partial_panel() -> None:
    decision = decided(dict.fromkeys(SEATS) | {"rule-violation": {"score": 0, "veto": True}})

    assert (decision.outcome, decision.details["veto_judges"]) == (VETO, ["rule-violation"])


@pytest.mark.parametrize("seat", SEATS)
def test_i9_a_flagged_injection_never_passes(seat: str) -> None:
    voted = decided(scored(seat, 100, injection_detected=True))
    abstained = decided({seat: {"status": "abstained", "injection_detected": True}})

    assert (voted.outcome, voted.details["reason"]) == (WARN, "injection")
    assert (abstained.outcome, abstained.details["injection"]) == (WARN, [seat])
    assert "injection" in json.dumps(abstained.details["warnings"])


def test_no_credential_of_a_judges_words_stands_in_the_decision() -> None:
    token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    said: dict[str, JsonValue] = {"reason": f"the draft prints {token}", "veto": True}
    fabricated: JsonValue = [{"entity": token, "confidence": 1}]

    for decision in (
        decided(scored("rule-violation", 0, **said)),
        decided(scored("rule-violation", 0, confidence=0.3, **said)),
        decided(scored("hallucination-fast", 0, fabricated=fabricated)),
    ):
        written = decision.model_dump_json()
        assert "ghp_…[redacted]" in written
        assert token not in written


def test_all_that_is_not_clean_is_told() -> None:
    answers: dict[str, JsonValue] = {
        "memory-conflict": None,
        "rule-violation": {
            "score": 10,
            "veto": True,
            "confidence": 0.4,
            "reason": "maybe\na rule",
            "injection_detected": True,
        },
        "hallucination-fast": {"status": "abstained"},
    }

    decision = decided(answers)

    assert decision.details["warnings"] == ["timeout", "unavailable", "injection", "doubt", "low score"]
    assert decision.details["doubts"] == {"rule-violation": "maybe a rule"}
    assert len(decision.reasons) == 5
