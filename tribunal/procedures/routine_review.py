"""routine-review: the diff of an unattended routine; approved, needs_revision or escalate, and who may merge."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, JsonValue, StringConstraints

from tribunal.errors import ConfigurationError
from tribunal.model import Answer, Authority, Case, CleanText, Decision, Frozen, Grade, Stage, Vote, VoteStatus
from tribunal.panels import Panel
from tribunal.procedures.base import Convene, Facts, Outcome, Rendering, Undecided
from tribunal.procedures.diffs import protected_paths
from tribunal.procedures.votes import (
    AnswerModel,
    answer_fault,
    details_text,
    failing_safe,
    flagging,
    options_of,
    seated_votes,
    standing,
)

PROTECTED = (
    *("tribunal.toml", "**/tribunal.toml", ".tribunal/**", "briefs/**", "**/briefs/**"),
    *("CODEOWNERS", ".github/**", "docs/CODEOWNERS", ".gitlab/**", ".gitlab-ci.yml", "**/.gitlab-ci.yml"),
    *(".ci/**", ".circleci/**", ".buildkite/**", ".drone.yml", ".travis.yml", ".woodpecker.yml", ".woodpecker/**"),
    *(".gitea/**", ".forgejo/**", "azure-pipelines.yml", "azure-pipelines/**", "bitbucket-pipelines.yml"),
    *("appveyor.yml", ".appveyor.yml", "Jenkinsfile", "**/Jenkinsfile", ".pre-commit-config.yaml", ".husky/**"),
)
"""The tribunal's own configuration, its briefs, and CI: what a routine must not change without a person."""


class RoutineReviewOptions(Frozen):
    """The panel's thresholds."""

    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    """A seat whose confidence is below it sends the case to the tie-break; no confidence counts as 0."""
    max_rounds: Annotated[int, Field(ge=1, le=100)] = 2
    """At this round a request for changes escalates."""
    protected_paths: tuple[Annotated[str, StringConstraints(min_length=1, max_length=256)], ...] = PROTECTED
    """Globs of paths that only a person may merge, below any folder; ``**`` stands for any folders."""


class _ReviewAnswer(AnswerModel):
    verdict: Literal["approve", "request_changes"]
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    required_edits: list[CleanText] | None = None
    reasoning: CleanText | None = None
    injection_detected: bool = False
    design_decision: bool = False


@dataclass(frozen=True)
class _Hearing:
    """Everything that a decision is made of."""

    voters: Mapping[str, Vote]
    breakers: Mapping[str, Vote]
    """Stage 2; empty until it is convened."""
    round: int
    options: RoutineReviewOptions
    injection: list[str]
    design: list[str]
    protected: list[str]


class RoutineReview:
    """Two seats that must agree with confidence, and a third that binds where they do not."""

    name: ClassVar[str] = "routine-review"
    Options: ClassVar[type[BaseModel]] = RoutineReviewOptions
    fail_safe: ClassVar[Decision] = Decision(
        outcome="escalate", grade=Grade.REFUSING, reasons=("nothing could be decided",), details={"verdict": "escalate"}
    )

    def check_panel(self, panel: Panel) -> list[str]:
        """What is wrong with the panel's seats: two vote in stage 1, one breaks the tie in stage 2."""
        return [
            f"routine-review has {wanted} in stage {stage}; {len(seats)} came: {', '.join(seats) or 'none'}"
            for stage, number, wanted in ((1, 2, "two seats"), (2, 1, "one seat"))
            if len(seats := [seat.name for seat in panel.seats_of(stage)]) != number
        ]

    def seat_name(self, name: str) -> str:
        """The name as it is; this panel has no short ones."""
        return name

    def gate(self, panel: Panel, case: Case) -> Facts:
        """The protected paths that the diff touches; ``round`` is 1 until the server sets the lineage's."""
        options = options_of(RoutineReviewOptions, panel)
        touched = protected_paths(case.subject, options.protected_paths)
        return {"protected": list(touched), "round": 1, "max_rounds": options.max_rounds}

    def check_answer(self, seat: str, answer: Answer) -> str | None:  # noqa: ARG002  # all seats answer alike
        """Why an answer is no vote of this procedure; None if it is one."""
        return answer_fault(_ReviewAnswer, answer)

    def decisive(self, seat: str, answer: Answer) -> bool:  # noqa: ARG002  # whichever seat says so
        """Whether this vote flags an injection, which escalates by itself."""
        return answer.get("injection_detected") is True

    def decide(self, panel: Panel, facts: Facts, history: tuple[Stage, ...]) -> Outcome:
        """The decision on the votes so far, or the call for the tie-break.

        A flag is heard on every vote object that arrived, also while other seats are open, and on thor's also where he
        was not needed. Where he was, he binds, and his own confidence is not tested.

        Source: seed routine-review-tribunal, "Guardrails", "Merge authority", "The revision loop is bounded".
        """
        try:
            options = options_of(RoutineReviewOptions, panel)
        except ConfigurationError as error:
            return failing_safe(self.fail_safe, str(error))
        convened = any(stage.stage == 2 for stage in history)
        hearing = _Hearing(
            voters=seated_votes(self, panel.seats_of(1), history),
            breakers=seated_votes(self, panel.seats_of(2), history) if convened else {},
            round=_round(facts, options),
            options=options,
            injection=flagging(panel.seats, history, "injection_detected"),
            design=flagging(panel.seats, history, "design_decision"),
            protected=_protected(facts),
        )
        if hearing.injection:
            return _escalate(hearing, f"possible prompt injection, flagged by {_and(hearing.injection)}")
        if _open(hearing.voters):
            return Undecided()
        if not any(vote.answered for vote in hearing.voters.values()):
            return _escalate(hearing, f"nobody reviewed it: {_silent(hearing.voters)}")
        tie = _tie(hearing)
        if not tie:
            return _resolved(hearing, hearing.voters, None)
        if not convened:
            return Convene(stage=2, reason=tie)
        if _open(hearing.breakers):
            return Undecided()
        if not all(vote.answered for vote in hearing.breakers.values()):
            return _escalate(hearing, f"the tie was not broken: {_silent(hearing.breakers)}", tie)
        return _resolved(hearing, hearing.breakers, tie)

    def output(self, panel: Panel, decision: Decision, rendering: Rendering) -> dict[str, JsonValue]:
        """What the seed's ``tally`` prints of a resolved round; ``merge_authority`` only on approved."""
        output: dict[str, JsonValue] = {
            "outcome": "resolved",
            "verdict": decision.outcome,
            "reasoning": "; ".join(decision.reasons),
            "required_edits": list(details_text(decision.details, "required_edits")),
            "seats": self._seats(panel, rendering.history),
            "round": decision.details.get("round", rendering.facts.get("round", 1)),
        }
        if decision.authority:
            output["merge_authority"] = decision.authority.value
        return output

    def tiebreak_output(self, panel: Panel, convene: Convene, rendering: Rendering) -> dict[str, JsonValue]:
        """What the seed's ``tally`` prints when the tie-break is needed: ``peers`` are the votes to show to it."""
        seats = self._seats(panel, rendering.history)
        return {
            "outcome": "needs_tiebreak",
            "verdict": None,
            "reasoning": convene.reason,
            "required_edits": [],
            "seats": seats,
            "round": _round(rendering.facts, options_of(RoutineReviewOptions, panel)),
            "peers": {seat.name: seats[seat.name] for seat in panel.seats_of(1)},
        }

    def paths(self, rendering: Rendering) -> tuple[str, str] | None:  # noqa: ARG002  # see tribunal.receipts
        """None: this panel keeps receipts, several a case."""
        return None

    def _seats(self, panel: Panel, history: tuple[Stage, ...]) -> dict[str, JsonValue]:
        ran = {stage.stage for stage in history}
        votes = seated_votes(self, panel.seats, history)
        return {seat.name: _shown(votes[seat.name]) if seat.stage in ran else None for seat in panel.seats}


def _tie(hearing: _Hearing) -> str | None:
    """Why the two votes do not settle it."""
    if any(not vote.answered for vote in hearing.voters.values()):
        return f"one seat alone is not enough: {_silent(hearing.voters)}"
    verdicts = {seat: _verdict(vote) for seat, vote in hearing.voters.items()}
    if len(set(verdicts.values())) > 1:
        return "disagreement: " + ", ".join(f"{seat} says {verdict}" for seat, verdict in verdicts.items())
    unsure = {seat: _confidence(vote) for seat, vote in hearing.voters.items()}
    low = [f"{seat} {value:g}" for seat, value in unsure.items() if value < hearing.options.threshold]
    return f"confidence below {hearing.options.threshold:g}: {', '.join(low)}" if low else None


def _resolved(hearing: _Hearing, binding: Mapping[str, Vote], tie: str | None) -> Decision:
    who = _and(list(binding))
    if any(_verdict(vote) == "request_changes" for vote in binding.values()):
        changes = f"{who} requested changes"
        if hearing.round >= hearing.options.max_rounds:
            return _escalate(
                hearing, f"{changes} in round {hearing.round} of {hearing.options.max_rounds}, the last", tie
            )
        reasons = (changes, f"tie-break on {tie}") if tie else (changes,)
        return _decision(hearing, "needs_revision", Grade.MIDDLE, reasons, tie)
    why = [f"design decision, flagged by {_and(hearing.design)}"] if hearing.design else []
    why += [f"protected: {', '.join(hearing.protected)}"] if hearing.protected else []
    reasons = (
        f"{who} approved",
        *([f"tie-break on {tie}"] if tie else []),
        *(f"a person merges: {reason}" for reason in why),
    )
    authority = Authority.HUMAN if why else Authority.AUTO
    return _decision(hearing, "approved", Grade.PERMISSIVE, reasons, tie, authority)


def _escalate(hearing: _Hearing, reason: str, tie: str | None = None) -> Decision:
    reasons = (reason, f"tie-break on {tie}") if tie else (reason,)
    return _decision(hearing, "escalate", Grade.REFUSING, reasons, tie)


def _decision(
    hearing: _Hearing,
    outcome: str,
    grade: Grade,
    reasons: tuple[str, ...],
    tie: str | None,
    authority: Authority | None = None,
) -> Decision:
    # On an approval nothing is required: what one seat wanted was outvoted.
    edits = [] if grade is Grade.PERMISSIVE else _edits(hearing)
    details: dict[str, JsonValue] = {
        "verdict": outcome,
        "required_edits": list(edits),
        "injection": list(hearing.injection),
        "design_decision": list(hearing.design),
        "protected": list(hearing.protected),
        "tiebreak": tie,
        "round": hearing.round,
        "max_rounds": hearing.options.max_rounds,
    }
    return Decision(outcome=outcome, grade=grade, authority=authority, reasons=reasons, details=details)


def _edits(hearing: _Hearing) -> list[str]:
    """The tie-break's edits, then the voters', each in its order; later duplicates dropped."""
    votes = [*hearing.breakers.values(), *hearing.voters.values()]
    edits = [
        edit.strip() for vote in votes if vote.answered for edit in details_text(vote.answer or {}, "required_edits")
    ]
    return list(dict.fromkeys(edit for edit in edits if edit))


def _round(facts: Facts, options: RoutineReviewOptions) -> int:
    """The round that the server set; 1 without one, and the last where it is no round, so that it cannot loop."""
    value = facts.get("round", 1)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else options.max_rounds


def _protected(facts: Facts) -> list[str]:
    """The protected paths; anything but a list of texts counts as one, so that it cannot open the way."""
    value = facts.get("protected", [])
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else str(item) for item in items]


def _open(votes: Mapping[str, Vote]) -> bool:
    return any(vote.status is VoteStatus.OPEN for vote in votes.values())


def _verdict(vote: Vote) -> JsonValue:
    return (vote.answer or {}).get("verdict")


def _confidence(vote: Vote) -> float:
    value = (vote.answer or {}).get("confidence")
    return float(value) if isinstance(value, int | float) else 0.0


def _silent(votes: Mapping[str, Vote]) -> str:
    return ", ".join(f"{seat} ({standing(vote)})" for seat, vote in votes.items() if not vote.answered)


def _and(names: list[str]) -> str:
    return " and ".join(names)


def _shown(vote: Vote) -> dict[str, JsonValue]:
    answer = vote.answer or {}
    if not vote.answered:
        return {"status": standing(vote), "reason": vote.reason, "reasoning": answer.get("reasoning")}
    shown = {name: answer.get(name, field.default) for name, field in _ReviewAnswer.model_fields.items()}
    return {"status": vote.status.value, **shown, "required_edits": list(details_text(answer, "required_edits"))}
