"""The ``recommendation`` panel: a draft answer before a user sees it, PASS, WARN or VETO.

Source: the recommendation document. Where it lets a veto below the threshold pass, this warns (``doubt``).
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, Field, JsonValue

from tribunal.errors import ConfigurationError
from tribunal.model import Answer, Case, Decision, Grade, Risk, Stage, VoteStatus, sha256
from tribunal.panels import Panel
from tribunal.procedures import banner
from tribunal.procedures.base import Facts, Outcome, Rendering, Undecided
from tribunal.procedures.classifier import classify, higher
from tribunal.procedures.hearing import EXPERTISE, FABRICATION, MEMORY, RULES, Heard, VetoRules, causes, hear
from tribunal.procedures.opinions import brief, read_opinion
from tribunal.procedures.votes import options_of, standing
from tribunal.redaction import redact

DECISIVE_CONFIDENCE = 0.95
"""A veto from this confidence on makes the aggregator look at once, before the other seats have answered."""

_TOLD_LIMIT = 2_000
"""Characters of a judge's words that are looked at for a reason."""

_TOLD_OBJECTIONS = 20
"""How many of a seat's objections the decision lists."""

_SHORT_NAMES = {f"{name}-judge": name for name in (MEMORY, RULES, FABRICATION, EXPERTISE)}


class Options(VetoRules):
    """The thresholds of a ``recommendation`` panel."""

    pass_score: Annotated[int, Field(ge=0, le=100)] = 80
    """A consensus score below it warns."""
    skip_low: bool = True
    """Whether a draft of the risk class ``low`` passes without a judge."""
    risk_floor: Literal["context", "classifier"] = "context"
    """``context``: the producer's risk class stands; ``classifier``: the higher of it and the classifier's."""


class Recommendation:
    """Seats judge a draft; any may veto it, and whatever is not clean is warned about."""

    name: ClassVar[str] = "recommendation"
    Options: ClassVar[type[BaseModel]] = Options
    fail_safe: ClassVar[Decision] = Decision(
        outcome="warn",
        grade=Grade.MIDDLE,
        reasons=("the panel's judgement did not come in time or could not be read",),
        details={"reason": "unavailable", "warnings": ["unavailable"]},
    )

    def check_panel(self, panel: Panel) -> list[str]:
        """What is wrong with the panel's seats: all sit in stage 1, and some score counts."""
        later = [seat for seat in panel.seats if seat.stage != 1]
        wrong = [f'seat "{seat.name}": stage 1 expected, there is no other; {seat.stage} came' for seat in later]
        if not any(Fraction(seat.weight) for seat in panel.seats):
            wrong.append('at least one seat whose weight is not "0" expected; without one no draft can pass')
        return wrong

    def seat_name(self, name: str) -> str:
        """The seat's name; the four of the document may be given with ``-judge`` behind."""
        return _SHORT_NAMES.get(name, name)

    def gate(self, panel: Panel, case: Case) -> Facts:
        """The draft's risk class; a low one skips the panel.

        Raises:
            ConfigurationError: the panel's options are wrong.
        """
        options = options_of(Options, panel)
        classified = classify(case.subject)
        given = case.context.risk
        risk = given or classified.risk
        if given and options.risk_floor == "classifier":
            risk = higher(given, classified.risk)
        facts: dict[str, JsonValue] = {
            "risk_class": risk.value,
            "classified": classified.risk.value,
            "matched": list(classified.matched),
        }
        if risk is Risk.LOW and options.skip_low:
            facts["skip"] = "risk class low: no judge is needed"
        return facts

    def check_answer(self, seat: str, answer: Answer) -> str | None:  # noqa: ARG002  # one shape for all seats
        """Why an answer is no vote of this procedure; None if it is one."""
        opinion = read_opinion(answer)
        return opinion if isinstance(opinion, str) else None

    def decisive(self, seat: str, answer: Answer) -> bool:
        """Whether it vetoes with confidence 0.95 or more, or flags an injection.

        It knows no panel, so it goes by the default thresholds: it only hints, and the decision is the panel's.
        """
        if answer.get("injection_detected") is True:
            return True
        opinion = read_opinion(answer)
        if isinstance(opinion, str):
            return False
        return any(cause.confidence >= DECISIVE_CONFIDENCE for cause in causes((seat,), opinion, VetoRules()))

    def decide(self, panel: Panel, facts: Facts, history: tuple[Stage, ...]) -> Outcome:
        """VETO if any seat vetoes, on a partial panel too; WARN if anything is not clean; else PASS.

        Options that cannot be read warn, since a decision must come; the default vetoes still hold.
        """
        skip = facts.get("skip")
        if isinstance(skip, str) and skip:
            details = {"skipped": True, "risk_class": _risk(facts)}
            return Decision(outcome="pass", grade=Grade.PERMISSIVE, reasons=(skip,), details=details)
        options, wrong = _readable_options(panel)
        heard = hear(self, panel, history, options)
        vetoing = [seat for seat in heard if seat.causes]
        if not vetoing and any(seat.vote.status is VoteStatus.OPEN for seat in heard):
            return Undecided()
        score = _consensus(heard)
        warnings = _warnings(heard, score, options, wrong)
        details = _details(facts, heard, score, list(warnings))
        sentences = [sentence for group in warnings.values() for sentence in group]
        if vetoing:
            said = [
                f"{seat.name} {_told('; '.join(seat.objections[:_TOLD_OBJECTIONS]))}{_because(seat)}"
                for seat in vetoing
            ]
            details["reason"] = "veto"
            return Decision(outcome="veto", grade=Grade.REFUSING, reasons=(*said, *sentences), details=details)
        if warnings:
            details["reason"] = next(iter(warnings))
            return Decision(outcome="warn", grade=Grade.MIDDLE, reasons=tuple(sentences), details=details)
        passed = f"every seat answered, none objects, consensus score {score}"
        return Decision(outcome="pass", grade=Grade.PERMISSIVE, reasons=(passed,), details=details)

    def output(self, panel: Panel, decision: Decision, rendering: Rendering) -> dict[str, JsonValue]:
        """The document's JSON, with ``skipped``, ``reason``, ``consensus_score`` and ``veto_judges`` besides.

        ``rendering.subject`` is the draft as it was submitted: its hash is printed, null where there is none; where it
        is quoted, it is redacted. Without any stage in the history no seat is shown: nobody was asked.
        """
        options, _ = _readable_options(panel)
        heard = hear(self, panel, rendering.history, options)
        details = decision.details
        skipped = details.get("skipped") is True
        unheard = skipped or not rendering.history
        judges: dict[str, JsonValue] = {} if unheard else {seat.name: _entry(seat) for seat in heard}
        block = ""
        if not rendering.history and decision.grade is not Grade.PERMISSIVE:
            block = banner.unheard(decision.reasons)
        elif decision.grade is Grade.REFUSING:
            block = banner.blocked(heard, rendering.subject)
        elif decision.grade is Grade.MIDDLE:
            block = banner.warning(heard, _consensus(heard), options.pass_score)
        reason: dict[str, JsonValue] = {"reason": details["reason"]} if "reason" in details else {}
        return {
            "verdict": decision.outcome.upper(),
            "skipped": skipped,
            **reason,
            "draft_hash": f"sha256:{sha256(rendering.subject)}" if rendering.subject else None,
            "judges": judges,
            "consensus_score": details.get("consensus_score"),
            "veto_judges": details.get("veto_judges", []),
            "banner": block,
            "audit_path": rendering.path,
            "latency_ms": rendering.elapsed_ms,
        }

    def paths(self, rendering: Rendering) -> tuple[str, str] | None:
        """The day (UTC) on which the case was opened, and the draft's hash; the case's id where that is taken."""
        day = datetime.fromtimestamp(rendering.opened_at / 1000, UTC).date().isoformat()
        stem = f"recommendation-tribunal/{day}/{sha256(rendering.subject)}"
        return f"{stem}.json", f"{stem}.{rendering.case_id}.json"


def _readable_options(panel: Panel) -> tuple[Options, str | None]:
    """The panel's options; where they are wrong, the defaults and what is wrong."""
    try:
        return options_of(Options, panel), None
    except ConfigurationError as error:
        return Options(), str(error)


def _consensus(heard: Iterable[Heard]) -> int | None:
    """The weighted mean of the scores that count, rounded half to even; None where there is none."""
    scores = [
        (seat.weight, seat.opinion.score)
        for seat in heard
        if seat.weight and seat.opinion and seat.opinion.score is not None
    ]
    total = sum(weight for weight, _ in scores)
    return round(sum(weight * score for weight, score in scores) / total) if total else None


def _warnings(heard: tuple[Heard, ...], score: int | None, options: Options, wrong: str | None) -> dict[str, list[str]]:
    """Why the draft cannot pass: sentences by reason word, the word that names the verdict first."""
    silent = [seat for seat in heard if not seat.opinion]
    weak = [seat for seat in heard if seat.doubts]
    low = score is not None and score < options.pass_score
    unscored = score is None and not any(seat.weight and not seat.opinion for seat in heard)
    found = {
        "misconfigured": [wrong] if wrong else [],
        "timeout": [_silence(seat) for seat in silent if seat.vote.status is VoteStatus.TIMEOUT],
        "unavailable": [_silence(seat) for seat in silent if seat.vote.status is not VoteStatus.TIMEOUT],
        "injection": [f"{seat.name} flags an injection in the draft" for seat in heard if seat.injection],
        "doubt": [f"{seat.name} objects, too unsure for a veto{_because(seat)}" for seat in weak],
        "low score": [f"consensus score {score} is below {options.pass_score}"] if low else [],
        "unscored": ["no seat gave a score: nobody judged the draft"] if unscored else [],
    }
    return {word: sentences for word, sentences in found.items() if sentences}


def _silence(seat: Heard) -> str:
    return f"{seat.name} did not answer ({standing(seat.vote)})"


def _because(seat: Heard) -> str:
    return f": {_told(seat.reason)}" if seat.reason else ""


def _told(text: str) -> str:
    """A judge's words in a reason: these are kept, printed and published, so no credential may stand in them."""
    return brief(redact(text[:_TOLD_LIMIT]))


def _details(facts: Facts, heard: tuple[Heard, ...], score: int | None, words: list[JsonValue]) -> dict[str, JsonValue]:
    vetoing = [seat for seat in heard if seat.causes]
    weak = [seat for seat in heard if seat.doubts]
    vetoes: dict[str, JsonValue] = {
        seat.name: [_told(said) for said in seat.objections[:_TOLD_OBJECTIONS]] for seat in vetoing
    }
    missing: dict[str, JsonValue] = {seat.name: standing(seat.vote) for seat in heard if not seat.opinion}
    doubts: dict[str, JsonValue] = {seat.name: _told(seat.reason) or "no reason given" for seat in weak}
    details: dict[str, JsonValue] = {
        "skipped": False,
        "risk_class": _risk(facts),
        "consensus_score": score,
        "veto_judges": [seat.name for seat in vetoing],
        "vetoes": vetoes,
        "missing": missing,
        "doubts": doubts,
        "injection": [seat.name for seat in heard if seat.injection],
        "warnings": words,
    }
    for seat in heard:
        if seat.opinion and EXPERTISE in {seat.name, seat.seat.judge}:
            details |= {"audit_level": seat.opinion.audit_level, "mode": seat.opinion.mode}
    return details


def _entry(heard: Heard) -> JsonValue:
    if heard.opinion is None:
        status = heard.vote.status.value
        veto: dict[str, JsonValue] = {"veto": True} if heard.causes else {}
        return {"score": None, **veto, "status": status, "reason": heard.vote.reason or standing(heard.vote)}
    own = {key: value for key, value in (heard.vote.answer or {}).items() if key != "status"}
    return {"score": None, "veto": False, **own}


def _risk(facts: Facts) -> str | None:
    risk = facts.get("risk_class")
    return risk if isinstance(risk, str) else None
