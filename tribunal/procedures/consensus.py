"""consensus: four judges on a spec, pull request or decision; APPROVED, CONDITIONAL or REJECTED."""

from collections.abc import Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, Field, JsonValue, StringConstraints, model_validator

from tribunal.errors import ConfigurationError, did_you_mean
from tribunal.model import Answer, Case, CleanText, Decision, Frozen, Grade, Stage, Vote, VoteStatus
from tribunal.panels import Panel
from tribunal.procedures.base import Facts, Outcome, Rendering, Undecided
from tribunal.procedures.consensus_words import SHORT_NAMES, consensus_gate, fold, scored, words_of
from tribunal.procedures.safe_name import safe_name
from tribunal.procedures.votes import (
    AnswerModel,
    answer_fault,
    details_text,
    failing_safe,
    flagging,
    options_of,
    readable,
    seated_votes,
    standing,
)

DecimalText = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)?$", max_length=32)]
"""A decimal number as text: ``0.1`` has no exact float."""

_VETO_WORDS = ("security", "gdpr", "compliance", "seguridad", "rgpd", "cumplimiento")
_CRITICAL = ("critical", "critico", "critica")
_GRADES = {"APPROVED": Grade.PERMISSIVE, "CONDITIONAL": Grade.MIDDLE, "REJECTED": Grade.REFUSING}
_ACTIONS = {"APPROVED": "proceed", "CONDITIONAL": "corrections_required", "REJECTED": "rework_required"}


def _weights(reflection: str, code: str, business: str, performance: str) -> dict[str, str]:
    return dict(zip(SHORT_NAMES.values(), (reflection, code, business, performance), strict=True))


class ConsensusOptions(Frozen):
    """The panel's thresholds and weights. All numbers are decimals as text, so that the arithmetic is exact."""

    profile: str = "default"
    """Which of ``profiles`` holds."""
    profiles: Mapping[str, Mapping[str, DecimalText]] = Field(
        default_factory=lambda: {
            "default": _weights("0.3", "0.3", "0.2", "0.2"),
            "security": _weights("0.2", "0.5", "0.1", "0.2"),
            "business": _weights("0.2", "0.2", "0.4", "0.2"),
            "architecture": _weights("0.4", "0.3", "0.1", "0.2"),
        }
    )
    """Weights by seat; a seat that the profile leaves out has the weight of its place on the panel."""
    approve: DecimalText = "0.75"
    conditional: DecimalText = "0.50"
    dissent: DecimalText = "0.5"
    """A seat dissents if it is further than this from the plain mean."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.profile not in self.profiles:
            raise ValueError(f'unknown profile "{self.profile}"{did_you_mean(self.profile, self.profiles)}')
        if Fraction(self.approve) < Fraction(self.conditional):
            raise ValueError(f"approve ({self.approve}) must not be below conditional ({self.conditional})")
        return self


class _ConsensusAnswer(AnswerModel):
    verdict: CleanText
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    reasoning: CleanText | None = None
    severity: CleanText | None = None
    security_veto: bool = False
    injection_detected: bool = False


class Consensus:
    """A weighted score over the judges' words, with vetoes and dissents."""

    name: ClassVar[str] = "consensus"
    Options: ClassVar[type[BaseModel]] = ConsensusOptions
    fail_safe: ClassVar[Decision] = Decision(
        outcome="conditional",
        grade=Grade.MIDDLE,
        reasons=("nothing could be decided",),
        details={"final_verdict": "CONDITIONAL", "recommended_action": _ACTIONS["CONDITIONAL"]},
    )

    def check_panel(self, panel: Panel) -> list[str]:
        """What is wrong with the panel's seats: all sit in stage 1, and some weight is above zero."""
        wrong = [
            f'seat "{seat.name}": consensus has one stage; stage {seat.stage} came'
            for seat in panel.seats
            if seat.stage != 1
        ]
        long = [seat.name for seat in panel.seats if len(seat.weight) > 32]
        wrong += [f'seat "{name}": a weight has at most 32 characters; shorten it' for name in long]
        if not long and not any(_seat_weights(panel, options_of(ConsensusOptions, panel)).values()):
            wrong.append("every seat has the weight 0; give one a weight above it")
        return wrong

    def seat_name(self, name: str) -> str:
        """The full name of a seat: ``reflection``, ``code``, ``business``, ``performance`` are accepted."""
        return SHORT_NAMES.get(name, name)

    def gate(self, panel: Panel, case: Case) -> Facts:  # noqa: ARG002  # the checklist asks the context alone
        """The seed's checklist: ``gate`` is ``mandatory``, ``optional`` or ``unnecessary``; ``gate_reason``, why."""
        gate, reason = consensus_gate(case.context)
        facts: dict[str, JsonValue] = {"gate": gate, "gate_reason": reason}
        if gate == "unnecessary":
            facts["skip"] = reason
        elif gate == "optional" and case.context.skip_optional:
            facts["skip"] = "optional here, and the caller does not want it"
        return facts

    def check_answer(self, seat: str, answer: Answer) -> str | None:
        """Why an answer is no vote of this procedure; None if it is one."""
        fault = answer_fault(_ConsensusAnswer, answer)
        verdict = answer.get("verdict")
        if fault or not isinstance(verdict, str) or scored(seat, verdict):
            return fault
        return f"verdict: one of {', '.join(words_of(seat))}; {verdict[:80]!r} came"

    def decisive(self, seat: str, answer: Answer) -> bool:
        """Whether this vote is a veto."""
        if answer.get("security_veto") is True:
            return True
        return self.check_answer(seat, answer) is None and _veto(seat, answer) is not None

    def decide(self, panel: Panel, facts: Facts, history: tuple[Stage, ...]) -> Outcome:
        """The decision on the votes so far, exact to the last digit.

        A veto first, whatever the score and whoever is missing; then two or more seats not answered; then the score.
        ``security_veto`` is heard on every vote object that arrived, an abstention and a faulty one too.

        Source: seed consensus-validation, steps 6 to 8.5; ``Abort Conditions``; ``Dissent Rules``.
        """
        skip = facts.get("skip")
        if isinstance(skip, str):
            details: dict[str, JsonValue] = {"skipped": True, "final_verdict": None}
            return Decision(outcome="skipped", grade=Grade.SKIPPED, reasons=(skip,), details=details)
        try:
            options = options_of(ConsensusOptions, panel)
        except ConfigurationError as error:
            return failing_safe(self.fail_safe, str(error))
        votes = seated_votes(self, panel.seats, history)
        scores = _scores(votes)
        flagged = flagging(panel.seats, history, "security_veto")
        vetoes = [
            f"{seat}: {why}"
            for seat, vote in votes.items()
            if (why := "security_veto" if seat in flagged else _veto(seat, readable(self, vote) or {}))
        ]
        if not vetoes and any(vote.status is VoteStatus.OPEN for vote in votes.values()):
            return Undecided()
        weights = _seat_weights(panel, options)
        counted = {seat: score for seat, score in scores.items() if weights[seat]}
        weight = sum((weights[seat] for seat in counted), Fraction(0))
        score = sum((weights[seat] * counted[seat] for seat in counted), Fraction(0)) / weight if weight else None
        dissents = _dissents(counted, Fraction(options.dissent))
        missing = {seat: standing(vote) for seat, vote in votes.items() if seat not in scores}
        injected = flagging(panel.seats, history, "injection_detected")

        if vetoes:
            verdict, reasons = "REJECTED", [f"veto by {veto}" for veto in vetoes]
        elif len(missing) >= 2 or score is None:
            verdict, reasons = (
                "CONDITIONAL",
                [f"not enough answers: {_listed(missing)}" if missing else "no seat counts"],
            )
        else:
            verdict, reasons = _by_score(score, options)
            doubts = [f"not answered: {_listed(missing)}"] if missing else []
            doubts += [f"dissent: {', '.join(dissents)}"] if dissents else []
            doubts += [f"possible prompt injection, flagged by {', '.join(injected)}"] if injected else []
            if verdict == "APPROVED" and doubts:
                verdict = "CONDITIONAL"
            reasons += doubts
        return Decision(
            outcome=verdict.lower(),
            grade=_GRADES[verdict],
            reasons=tuple(reasons),
            details={
                "final_verdict": verdict,
                "recommended_action": _ACTIONS[verdict],
                "profile": options.profile,
                "weighted_score": None if score is None else _number(score),
                "scores": {seat: _number(value) for seat, value in scores.items()},
                "vetoes": list(vetoes),
                "dissents": list(dissents),
                "injection": list(injected),
                "missing": dict(missing),
            },
        )

    def output(self, panel: Panel, decision: Decision, rendering: Rendering) -> dict[str, JsonValue]:
        """The seed's JSON, and beside it ``summary.reasons``, the status of seats not answered and what was skipped."""
        details = decision.details
        skipped = decision.grade is Grade.SKIPPED
        votes = seated_votes(self, panel.seats, rendering.history) if rendering.history else {}
        vetoes = details_text(details, "vetoes")
        opened = datetime.fromtimestamp(rendering.opened_at // 1000, UTC)
        output: dict[str, JsonValue] = {
            "input": {
                "type": rendering.type,
                "ref": rendering.ref,
                "timestamp": opened.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
            "judges": [_judge(seat, vote) for seat, vote in votes.items()],
            "veto": {"triggered": bool(vetoes), "reason": "; ".join(vetoes) or None},
            "summary": {
                "weighted_score": details.get("weighted_score"),
                "final_verdict": details.get("final_verdict"),
                "dissents": [
                    _dissent(seat, votes[seat]) for seat in details_text(details, "dissents") if seat in votes
                ],
                "recommended_action": details.get("recommended_action"),
                "reasons": list(decision.reasons),
            },
        }
        if skipped:
            output |= {"skipped": True, "reason": "; ".join(decision.reasons)}
        return output

    def paths(self, rendering: Rendering) -> tuple[str, str] | None:
        """``consensus/YYYYMMDD-HHmmss-{type}-{ref}.json`` in UTC, and the same with the case id."""
        opened = datetime.fromtimestamp(rendering.opened_at // 1000, UTC).strftime("%Y%m%d-%H%M%S")
        stem = f"consensus/{opened}-{safe_name(rendering.type or 'case')}-{safe_name(rendering.ref or 'unnamed')}"
        return f"{stem}.json", f"{stem}.{rendering.case_id}.json"


def _seat_weights(panel: Panel, options: ConsensusOptions) -> dict[str, Fraction]:
    profile = options.profiles[options.profile]
    return {seat.name: Fraction(profile.get(seat.name, seat.weight)) for seat in panel.seats}


def _scores(votes: Mapping[str, Vote]) -> dict[str, Fraction]:
    scores: dict[str, Fraction] = {}
    for seat, vote in votes.items():
        verdict = vote.answer.get("verdict") if vote.answered and vote.answer else None
        found = scored(seat, verdict) if isinstance(verdict, str) else None
        if found:
            scores[seat] = found.score
    return scores


def _veto(seat: str, answer: Answer) -> str | None:
    """Why a valid answer's words are a veto; those of the tables, so that a custom panel's seats can veto too."""
    verdict, reasoning, severity = (answer.get(key) for key in ("verdict", "reasoning", "severity"))
    found = scored(seat, verdict) if isinstance(verdict, str) else None
    if found and not found.score and found.table == "code-reviewer" and isinstance(reasoning, str):
        named = [word for word in _VETO_WORDS if word in fold(reasoning)]
        if named:
            return f"{verdict} with {', '.join(named)} in the reasoning"
    if found and not found.score and found.table == "performance-auditor" and isinstance(severity, str):
        return f"{verdict} with severity {severity}" if fold(severity).strip() in _CRITICAL else None
    return None


def _dissents(scores: Mapping[str, Fraction], limit: Fraction) -> list[str]:
    if not scores:
        return []
    mean = sum(scores.values(), Fraction(0)) / len(scores)
    return [seat for seat, score in scores.items() if abs(score - mean) > limit]


def _by_score(score: Fraction, options: ConsensusOptions) -> tuple[str, list[str]]:
    if score >= Fraction(options.approve):
        return "APPROVED", [f"score {_number(score)}, at least {options.approve}"]
    if score >= Fraction(options.conditional):
        return "CONDITIONAL", [f"score {_number(score)}, at least {options.conditional} but below {options.approve}"]
    return "REJECTED", [f"score {_number(score)}, below {options.conditional}"]


def _number(value: Fraction) -> float:
    """For print only: four digits. The decision is taken on the exact value."""
    return float(round(value, 4))


def _listed(missing: Mapping[str, str]) -> str:
    return ", ".join(f"{seat} ({status})" for seat, status in missing.items())


def _judge(seat: str, vote: Vote) -> dict[str, JsonValue]:
    answer = vote.answer or {}
    score = _scores({seat: vote}).get(seat)
    judge: dict[str, JsonValue] = {
        "name": seat,
        "verdict": answer.get("verdict") if vote.answered else None,
        "score": None if score is None else _number(score),
        "reasoning": answer.get("reasoning") if vote.answered else vote.reason,
        "timeout": vote.status is VoteStatus.TIMEOUT,
        "elapsed_ms": vote.elapsed_ms,
    }
    return judge if vote.answered else judge | {"status": standing(vote)}


def _dissent(seat: str, vote: Vote) -> str:
    answer = vote.answer or {}
    return f"{seat}: {answer.get('reasoning') or answer.get('verdict')}"
