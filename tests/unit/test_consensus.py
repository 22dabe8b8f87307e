"""consensus: the seed's tables, vetoes, dissents, gate and output, each rule on both sides of its boundary."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tribunal.config import builtin_catalogue
from tribunal.model import Case, Context, Decision, Grade, Stage, Vote, VoteStatus
from tribunal.panels import Panel, Seat
from tribunal.procedures import Rendering, Undecided, read_vote
from tribunal.procedures.consensus import Consensus
from tribunal.procedures.consensus_words import consensus_gate, scored

PANEL = builtin_catalogue().panels["consensus"]
CONSENSUS = Consensus()
SEATS = ("reflection-validator", "code-reviewer", "business-analyst", "performance-auditor")
WORDS = {
    "reflection-validator": ("VALIDATED", "CORRECTED", "REQUIRES_RETHINKING"),
    "code-reviewer": ("APROBADO", "CAMBIOS_MENORES", "RECHAZADO"),
    "business-analyst": ("VÁLIDO", "INCOMPLETO", "INVÁLIDO"),
    "performance-auditor": ("OPTIMAL", "DEGRADED", "REGRESSION"),
}
OPEN = VoteStatus.OPEN


def word(seat: str, score: float) -> str:
    return WORDS[seat][{1: 0, 0.5: 1, 0: 2}[score]]


def stage(panel: Panel = PANEL, **votes: Any) -> tuple[Stage, ...]:
    """Seat (with underscores) to a score, a vote object, a status, or None for a timeout."""
    cast: list[Vote] = []
    for key, raw in votes.items():
        seat = CONSENSUS.seat_name(key.replace("_", "-"))
        if isinstance(raw, VoteStatus):
            cast.append(Vote(seat=seat, judge=seat, status=raw))
        else:
            answer: Any = {"verdict": word(seat, raw)} if isinstance(raw, int | float) else raw
            cast.append(read_vote(CONSENSUS, seat, seat, answer))
    return (Stage(stage=1, votes=tuple(cast)),)


def decide(panel: Panel = PANEL, **votes: Any) -> Decision:
    decision = CONSENSUS.decide(panel, {}, stage(panel, **votes))
    assert isinstance(decision, Decision)
    return decision


def with_options(**options: Any) -> Panel:
    return PANEL.model_copy(update={"options": options})


def rendering(history: tuple[Stage, ...], **more: Any) -> Rendering:
    values = {
        "subject": "",
        "facts": {},
        "history": history,
        "case_id": "c1",
        "ref": "docs/adr/0007 caché.md",
        "type": "spec",
        "opened_at": 1_767_225_599_999,
        "elapsed_ms": 5,
        "path": None,
    }
    return Rendering(**{**values, **more})


@pytest.mark.parametrize(
    ("seat", "verdict", "score"),
    [(seat, verdict, (1, 0.5, 0)[row]) for seat, words in WORDS.items() for row, verdict in enumerate(words)],
)
def test_the_seeds_words_have_the_seeds_scores(seat: str, verdict: str, score: float) -> None:
    found = scored(seat, verdict)
    assert found is not None
    assert found.score == score


@pytest.mark.parametrize(
    ("seat", "verdict", "score"),
    [
        ("code-reviewer", "approved", 1),
        ("code-reviewer", "Cambios menores", 0.5),
        ("code-reviewer", "minor-changes", 0.5),
        ("code-reviewer", " rejected ", 0),
        ("reflection-validator", "requires rethinking", 0),
        ("business-analyst", "valido", 1),
        ("business-analyst", "VA\u0301LIDO", 1),
        ("business-analyst", "Inválido", 0),
        ("performance-auditor", "óptimo", 1),
        ("performance-auditor", "regresión", 0),
    ],
)
def test_case_accents_hyphens_and_english_do_not_matter(seat: str, verdict: str, score: float) -> None:
    found = scored(seat, verdict)
    assert found is not None
    assert found.score == score


@pytest.mark.parametrize(
    ("seat", "answer", "complaint"),
    [
        ("code-reviewer", {"verdict": "MAYBE"}, "one of APROBADO"),
        ("code-reviewer", {"verdict": "VALIDATED"}, "one of APROBADO"),
        ("code-reviewer", {}, "verdict"),
        ("code-reviewer", {"verdict": 1}, "verdict"),
        ("code-reviewer", {"verdict": "APROBADO", "confidence": 100}, "confidence"),
        ("code-reviewer", {"verdict": "APROBADO", "confidence": True}, "confidence"),
        ("code-reviewer", {"verdict": "APROBADO", "security_veto": "false"}, "security_veto"),
        ("code-reviewer", {"verdict": "APROBADO", "injection_detected": 0}, "injection_detected"),
        ("code-reviewer", {"verdict": "APROBADO", "reasoning": "\x00"}, "reasoning"),
        ("performance-auditor", {"verdict": "OPTIMAL", "severity": ["CRITICAL"]}, "severity"),
    ],
)
def test_an_answer_of_another_form_is_an_error_vote(seat: str, answer: dict[str, Any], complaint: str) -> None:
    vote = read_vote(CONSENSUS, seat, seat, answer)
    assert vote.status is VoteStatus.ERROR
    assert complaint in (vote.reason or "")


def test_unknown_keys_of_an_answer_are_ignored() -> None:
    assert CONSENSUS.check_answer("code-reviewer", {"verdict": "APROBADO", "mood": "fine", "confidence": 1}) is None


def test_exactly_three_quarters_is_approved() -> None:
    """0.3 + 0.15 + 0.2 + 0.1: in floats a hair below 0.75."""
    decision = decide(reflection=1, code=0.5, business=1, performance=0.5)
    assert decision.outcome == "approved"
    assert decision.grade is Grade.PERMISSIVE
    assert decision.details["weighted_score"] == 0.75


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        ((1, 1, 1, 1), "approved"),
        ((1, 1, 0.5, 0.5), "approved"),
        ((0.5, 1, 0.5, 1), "approved"),
        ((0.5, 1, 0.5, 0.5), "conditional"),
        ((0.5, 0.5, 0.5, 0.5), "conditional"),
        ((1, 0, 1, 0), "conditional"),
        ((0, 1, 0.5, 0), "rejected"),
        ((0, 0, 0, 0), "rejected"),
    ],
)
def test_the_score_decides(votes: tuple[float, ...], outcome: str) -> None:
    assert decide(**dict(zip(SEATS, votes, strict=True))).outcome == outcome


def test_a_dissent_takes_the_approval() -> None:
    decision = decide(reflection=1, code=1, business=0, performance=1)
    assert decision.details["weighted_score"] == 0.8
    assert decision.details["dissents"] == ["business-analyst"]
    assert decision.outcome == "conditional"


def test_a_distance_of_exactly_one_half_is_no_dissent() -> None:
    weights = dict(zip(SEATS, ("0.4", "0.4", "0.1", "0.1"), strict=True))
    panel = with_options(profile="mine", profiles={"mine": weights})
    decision = decide(panel, reflection=1, code=1, business=0, performance=0)
    assert decision.details["dissents"] == []
    assert decision.outcome == "approved"


def test_a_dissent_changes_no_other_verdict() -> None:
    decision = decide(reflection=0, code=0, business=1, performance=0)
    assert decision.details["dissents"] == ["business-analyst"]
    assert decision.outcome == "rejected"


@pytest.mark.parametrize(
    ("votes", "vetoed"),
    [
        ({"code": {"verdict": "RECHAZADO", "reasoning": "breaks Security rule 3"}}, True),
        ({"code": {"verdict": "rejected", "reasoning": "GDPR: stores names"}}, True),
        ({"code": {"verdict": "RECHAZADO", "reasoning": "no cumple la seguridad"}}, True),
        ({"code": {"verdict": "RECHAZADO", "reasoning": "RGPD"}}, True),
        ({"code": {"verdict": "RECHAZADO", "reasoning": "falta cumplimiento"}}, True),
        ({"code": {"verdict": "RECHAZADO", "reasoning": "compliance"}}, True),
        ({"code": {"verdict": "RECHAZADO", "reasoning": "untested"}}, False),
        ({"code": {"verdict": "RECHAZADO"}}, False),
        ({"code": {"verdict": "CAMBIOS_MENORES", "reasoning": "security"}}, False),
        ({"business": {"verdict": "INVÁLIDO", "reasoning": "security"}}, False),
        ({"performance": {"verdict": "REGRESSION", "severity": "CRITICAL"}}, True),
        ({"performance": {"verdict": "regresión", "severity": "crítica"}}, True),
        ({"performance": {"verdict": "REGRESSION", "severity": "HIGH"}}, False),
        ({"performance": {"verdict": "REGRESSION"}}, False),
        ({"performance": {"verdict": "DEGRADED", "severity": "CRITICAL"}}, False),
        ({"reflection": {"verdict": "VALIDATED", "security_veto": True}}, True),
        ({"business": {"verdict": "VALIDO", "security_veto": True}}, True),
    ],
)
def test_the_veto_rules(votes: dict[str, Any], vetoed: bool) -> None:
    others = {"reflection": 1, "code": 1, "business": 1, "performance": 1}
    decision = decide(**{**others, **votes})
    assert (decision.outcome == "rejected") is vetoed
    assert bool(decision.details["vetoes"]) is vetoed
    (seat, answer), *_ = votes.items()
    assert CONSENSUS.decisive(CONSENSUS.seat_name(seat), answer) is vetoed


@pytest.mark.parametrize(
    "answer",
    [
        {"verdict": "FAILED", "security_veto": True},
        {"verdict": "RECHAZADO", "confidence": 95, "security_veto": True},
        {"status": "abstained", "security_veto": True},
        {"status": "error", "security_veto": True},
        {"verdict": "APROBADO", "timeout": True, "security_veto": True},
    ],
)
def test_a_security_veto_is_heard_on_any_vote_that_arrived(answer: dict[str, Any]) -> None:
    for decision in (decide(reflection=1, code=answer, business=1, performance=1), decide(code=answer)):
        assert decision.outcome == "rejected"
        assert decision.details["vetoes"] == ["code-reviewer: security_veto"]
    assert CONSENSUS.decisive("code-reviewer", answer)
    early = decide(reflection=OPEN, code=answer, business=OPEN, performance=OPEN)
    assert early.outcome == "rejected"


@pytest.mark.parametrize("veto", ["true", 1, None, [True]])
def test_a_security_veto_is_strictly_true(veto: Any) -> None:
    decision = decide(reflection=1, code={"verdict": "APROBADO", "security_veto": veto}, business=1, performance=1)
    assert decision.outcome == "conditional"
    assert not CONSENSUS.decisive("code-reviewer", {"verdict": "APROBADO", "security_veto": veto})


def test_a_veto_holds_on_one_answer_alone() -> None:
    decision = decide(code={"verdict": "RECHAZADO", "reasoning": "security"}, reflection=None)
    assert decision.outcome == "rejected"
    assert decision.details["missing"] == {
        "reflection-validator": "timeout",
        "business-analyst": "timeout",
        "performance-auditor": "timeout",
    }


@pytest.mark.parametrize("absent", [None, {"status": "abstain"}, {"status": "error"}, {"verdict": "??"}])
def test_one_seat_not_answered_is_left_out_of_the_weights_and_takes_the_approval(absent: Any) -> None:
    decision = decide(reflection=1, code=1, business=1, performance=absent)
    assert decision.details["weighted_score"] == 1.0
    assert decision.outcome == "conditional"


def test_one_seat_not_answered_leaves_a_rejection() -> None:
    decision = decide(reflection=0, code=0.5, business=0, performance=None)
    assert decision.details["weighted_score"] == 0.1875
    assert decision.outcome == "rejected"


def test_two_seats_not_answered_are_conditional_whatever_the_score() -> None:
    assert decide(reflection=0, code=0, business=None, performance=None).outcome == "conditional"
    assert decide(reflection=1, code=1, business=None).outcome == "conditional"
    assert decide().outcome == "conditional"


def test_an_injection_flag_takes_the_approval_an_abstentions_too() -> None:
    flagged = {"verdict": "OPTIMAL", "injection_detected": True}
    decision = decide(reflection=1, code=1, business=1, performance=flagged)
    assert decision.outcome == "conditional"
    assert decision.details["injection"] == ["performance-auditor"]
    abstains = {"status": "abstained", "injection_detected": True}
    assert decide(reflection=1, code=1, business=1, performance=abstains).details["injection"] == [
        "performance-auditor"
    ]


@pytest.mark.parametrize(
    ("profile", "score"),
    [("default", 0.3), ("security", 0.2), ("business", 0.2), ("architecture", 0.4)],
)
def test_the_profiles(profile: str, score: float) -> None:
    decision = decide(with_options(profile=profile), reflection=1, code=0, business=0, performance=0)
    assert decision.details["weighted_score"] == score
    assert decision.details["profile"] == profile


def test_another_panels_seats_use_any_words_and_their_own_weights_and_can_veto() -> None:
    seats = (
        Seat(name="safety", judge="safety", weight="3", timeout=5),
        Seat(name="cost", judge="cost", weight="1", timeout=5),
    )
    panel = PANEL.model_copy(update={"seats": seats})
    assert CONSENSUS.check_panel(panel) == []
    decision = decide(panel, safety={"verdict": "APROBADO"}, cost={"verdict": "DEGRADED"})
    assert decision.details["weighted_score"] == 0.875
    assert decision.outcome == "approved"
    assert decide(panel, safety={"verdict": "REJECTED", "reasoning": "security"}).outcome == "rejected"


def test_a_seat_of_weight_zero_is_printed_but_its_absence_still_counts() -> None:
    panel = with_options(profile="mine", profiles={"mine": dict(zip(SEATS, ("1", "1", "1", "0"), strict=True))})
    assert decide(panel, reflection=1, code=1, business=1, performance=0).outcome == "approved"
    assert decide(panel, reflection=1, code=1, business=1, performance=None).outcome == "conditional"


def test_open_seats_are_waited_for_unless_a_veto_is_in() -> None:
    history = stage(reflection=1, code=1, business=OPEN, performance=1)
    assert isinstance(CONSENSUS.decide(PANEL, {}, history), Undecided)
    veto = {"verdict": "RECHAZADO", "reasoning": "security"}
    early = decide(reflection=OPEN, code=veto, business=OPEN, performance=OPEN)
    frozen = decide(reflection=VoteStatus.CUT, code=veto, business=VoteStatus.CUT, performance=VoteStatus.CUT)
    assert early.outcome == frozen.outcome == "rejected"
    assert frozen.details["missing"] == dict.fromkeys(sorted(set(SEATS) - {"code-reviewer"}), "not awaited")


def test_i2_a_late_vote_counts_for_nothing() -> None:
    late = Vote(
        seat="performance-auditor",
        judge="performance-auditor",
        status=VoteStatus.LATE,
        answer={"verdict": "OPTIMAL", "security_veto": True, "injection_detected": True},
    )
    (given,) = stage(reflection=1, code=1, business=1)
    decision = CONSENSUS.decide(PANEL, {}, (Stage(stage=1, votes=(*given.votes, late)),))
    assert decision == decide(reflection=1, code=1, business=1)


@pytest.mark.parametrize(
    ("context", "gate", "skips"),
    [
        ({"code_verdict": "RECHAZADO", "change_kind": "cosmetic", "risk_score": 1}, "mandatory", False),
        ({"code_verdict": "rejected"}, "mandatory", False),
        ({"code_verdict": "APROBADO", "risk_score": 25}, "unnecessary", True),
        ({"touches": ("auth",), "change_kind": "crud"}, "mandatory", False),
        ({"touches": ("UI", "PII"), "risk_score": 3}, "mandatory", False),
        ({"touches": ("payments",)}, "mandatory", False),
        ({"touches": ("compliance",)}, "mandatory", False),
        ({"touches": ("datos_personales",)}, "mandatory", False),
        ({"touches": ("author list",)}, "optional", False),
        ({"ambiguous": True, "change_kind": "crud"}, "mandatory", False),
        ({"change_kind": "simple CRUD"}, "unnecessary", True),
        ({"change_kind": "Cosmetic UI", "risk_score": 99}, "unnecessary", True),
        ({"risk_score": 25}, "unnecessary", True),
        ({"risk_score": 26}, "optional", False),
        ({}, "optional", False),
        ({"code_verdict": "APPROVED", "change_kind": "crud"}, "unnecessary", True),
        ({"code_verdict": "LGTM", "change_kind": "crud"}, "unnecessary", True),
        ({"code_verdict": "CAMBIOS_MENORES", "change_kind": "crud"}, "unnecessary", True),
        ({"code_verdict": " ", "change_kind": "crud"}, "unnecessary", True),
        ({"touches": ("UI", "docs", " "), "change_kind": "crud"}, "unnecessary", True),
        ({"touches": ("author list",), "change_kind": "crud"}, "optional", False),
        ({"touches": ("UI", "flux capacitor"), "risk_score": 1}, "optional", False),
        ({"touches": ("\U0001f4b3",), "risk_score": 1}, "optional", False),
        ({"touches": ("\u652f\u4ed8",), "risk_score": 1}, "optional", False),
        ({"skip_optional": True}, "optional", True),
        ({"skip_optional": True, "ambiguous": True}, "mandatory", False),
    ],
)
def test_the_checklist(context: dict[str, Any], gate: str, skips: bool) -> None:
    case = Case(panel="consensus", subject="a spec", context=Context(**context))
    facts = CONSENSUS.gate(PANEL, case)
    assert facts["gate"] == gate
    assert isinstance(facts["gate_reason"], str)
    assert ("skip" in facts) is skips


@pytest.mark.parametrize("word", ["REJECT", "Rejected: security", "rechazo", "not approved", "changes requested", "no"])
def test_a_code_verdict_that_is_no_known_approval_is_mandatory(word: str) -> None:
    gate, reason = consensus_gate(Context(code_verdict=word, change_kind="crud", risk_score=1))
    assert gate == "mandatory"
    assert word in reason


AUTH = "oauth2 login SSO passwords AuthService OAuth2Login userauth unauthorized contraseñas autorización SSOlogin 2FA"
PAYMENTS = "paymentService facturación cobros PAGOS creditCard invoices iban re-payments"
PERSONAL = "PII PIIExport datos_personales GDPR"


@pytest.mark.parametrize(
    ("topic", "touch"),
    [
        *(
            ("auth", word)
            for word in [*AUTH.split(), "sign in", "log-in", "inicio de sesión", "\uff21\uff35\uff34\uff28"]
        ),
        *(("payments", word) for word in [*PAYMENTS.split(), "credit card", "tarjeta de crédito", "PCI-DSS"]),
        *(("PII", word) for word in PERSONAL.split()),
        *(("compliance", word) for word in ("compliance", "cumplimiento", "HIPAA", "SOC2", "PCI-DSS")),
    ],
)
def test_what_is_touched_is_known_by_parts_of_words_in_both_languages(topic: str, touch: str) -> None:
    gate, reason = consensus_gate(Context(touches=(touch,), change_kind="crud", risk_score=1))
    assert gate == "mandatory"
    assert topic in reason


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12).filter(str.strip))
def test_no_unknown_word_makes_the_panel_unnecessary(word: str) -> None:
    for context in (Context(touches=(word,), change_kind="crud"), Context(code_verdict=word, change_kind="crud")):
        gate, _ = consensus_gate(context)
        assert gate != "unnecessary" or word.casefold() in ("ui", "ux", "css", "doc", "docs", "lint", "ok", "test")


def test_a_skipped_panel_gives_no_verdict() -> None:
    decision = CONSENSUS.decide(PANEL, {"skip": "a cosmetic change"}, ())
    assert isinstance(decision, Decision)
    assert (decision.outcome, decision.grade) == ("skipped", Grade.SKIPPED)
    output = CONSENSUS.output(PANEL, decision, rendering(()))
    assert output["skipped"] is True
    assert output["judges"] == []
    assert output["summary"] == {
        "weighted_score": None,
        "final_verdict": None,
        "dissents": [],
        "recommended_action": None,
        "reasons": ["a cosmetic change"],
    }


def test_the_output_is_the_seeds() -> None:
    history = stage(
        performance={"verdict": "OPTIMAL"},
        business={"verdict": "INVÁLIDO", "reasoning": "contradicts rule 4"},
        code=1,
        reflection=1,
    )
    decision = CONSENSUS.decide(PANEL, {}, history)
    assert isinstance(decision, Decision)
    output: Any = CONSENSUS.output(PANEL, decision, rendering(history))
    assert list(output) == ["input", "judges", "veto", "summary"]
    assert output["input"] == {"type": "spec", "ref": "docs/adr/0007 caché.md", "timestamp": "2025-12-31T23:59:59Z"}
    assert [judge["name"] for judge in output["judges"]] == list(SEATS)
    assert output["judges"][2] == {
        "name": "business-analyst",
        "verdict": "INVÁLIDO",
        "score": 0.0,
        "reasoning": "contradicts rule 4",
        "timeout": False,
        "elapsed_ms": None,
    }
    assert output["veto"] == {"triggered": False, "reason": None}
    assert output["summary"]["weighted_score"] == 0.8
    assert output["summary"]["final_verdict"] == "CONDITIONAL"
    assert output["summary"]["dissents"] == ["business-analyst: contradicts rule 4"]
    assert output["summary"]["recommended_action"] == "corrections_required"


def test_a_seat_not_answered_stays_in_the_output() -> None:
    history = stage(reflection=1, code={"status": "abstain", "reason": "no diff"}, business=1, performance=None)
    decision = CONSENSUS.decide(PANEL, {}, history)
    assert isinstance(decision, Decision)
    output: Any = CONSENSUS.output(PANEL, decision, rendering(history))
    code, performance = output["judges"][1], output["judges"][3]
    assert (code["timeout"], code["status"], code["reasoning"], code["score"]) == (False, "abstained", "no diff", None)
    assert (performance["timeout"], performance["status"]) == (True, "timeout")


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("docs/adr/0007 caché.md", "docs-adr-0007-cache.md"),
        ("../../etc/passwd", "etc-passwd"),
        ("42", "42"),
        ("a..b", "a.b"),
        ("…", "unnamed"),
        (None, "unnamed"),
        (".hidden", "hidden"),
        ("x" * 500, "x" * 80),
    ],
)
def test_the_file_has_the_seeds_name_made_safe(ref: str | None, name: str) -> None:
    paths = CONSENSUS.paths(rendering((), ref=ref))
    assert paths == (
        f"consensus/20251231-235959-spec-{name}.json",
        f"consensus/20251231-235959-spec-{name}.c1.json",
    )


def test_a_panel_is_checked() -> None:
    assert CONSENSUS.check_panel(PANEL) == []
    second = Seat(name="late", judge="late", timeout=5, stage=2)
    assert "stage 2" in CONSENSUS.check_panel(PANEL.model_copy(update={"seats": (*PANEL.seats, second)}))[0]
    nothing = with_options(profile="none", profiles={"none": dict.fromkeys(SEATS, "0")})
    assert "weight" in CONSENSUS.check_panel(nothing)[0]
    endless = Seat(name="long", judge="long", timeout=5, weight="1" * 33)
    assert "32" in CONSENSUS.check_panel(PANEL.model_copy(update={"seats": (endless,)}))[0]


@pytest.mark.parametrize(
    "options",
    [
        *({"profile": "secuirty"}, {"approve": "0.4"}, {"approve": 0.75}, {"dissent": "much"}, {"veto": True}),
        *({"approve": float("nan")}, {"profile": "\ud800"}, {"\ud800": 1}, {"approve": 10**5000}, {"approve": 10**400}),
    ],
    ids=lambda options: ascii(next(iter(options))),
)
def test_wrong_options_never_approve_and_say_why(options: dict[str, Any]) -> None:
    decision = decide(with_options(**options), reflection=1, code=1, business=1, performance=1)
    assert decision.outcome == "conditional"
    assert "options" in decision.reasons[0]


@pytest.mark.parametrize("rubbish", [float("nan"), float("inf"), "\ud800", [[[float("nan")]]]])
def test_i6_what_is_no_json_is_an_error_vote_even_under_an_unknown_key(rubbish: Any) -> None:
    vote = read_vote(CONSENSUS, "code-reviewer", "j", {"verdict": "APROBADO", "aside": rubbish})
    assert vote.status is VoteStatus.ERROR
    assert "finite" in (vote.reason or "")
