"""Settle: the one way from votes to a sealed verdict, for every trigger."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import structlog

from aggregation.outbox import Outbox
from tribunal.celery_app import Dispatcher
from tribunal.docket import Dispatch, Docket, Frozen
from tribunal.faults import fault_point
from tribunal.ledger import CaseRecord, Ledger
from tribunal.model import Decision, Stage, Verdict, Vote, VoteStatus
from tribunal.procedures import Convene, Outcome, Procedure, Rendering, procedure_named
from tribunal.redaction import redact

logger = structlog.get_logger(__name__)

PREVIEW = 160
"""Characters of the redacted subject that the ledger keeps."""


@dataclass(frozen=True)
class Settler:
    """Decides cases whose votes allow it now. Decides nothing itself: the panel's procedure does."""

    docket: Docket
    ledger: Ledger
    outbox: Outbox
    dispatcher: Dispatcher
    later: Callable[[Callable[[], object]], bool]
    """Does what talks to the broker or writes files: nothing of that lies between a deadline and its seal. False where
    it cannot: what is not done is made good by the sweep and the keeper."""

    def settle(self, case_id: str, hint: int | None = None) -> Verdict | Convene | None:
        """Decide a case if its votes allow it now, and seal the verdict.

        Safe to call from the chord's callback, the deadline and a hint at once: the first seal wins and the losers get
        that same verdict. None while votes are missing and the deadline has not passed, and for a case whose id was
        sealed before with other content. ``hint`` is the stage of a decisive vote.

        Raises:
            StoreUnavailable: nothing was written that a repeated call does not complete; the keeper calls again.
        """
        if hint is not None and not self._decided_early(case_id, hint):
            hint = None
        frozen = self.docket.freeze(case_id, hint)
        if frozen is None:
            return None
        fault_point("frozen")
        procedure = procedure_named(frozen.panel.procedure)
        outcome = procedure.decide(frozen.panel, frozen.facts, frozen.history)
        history = frozen.history
        while isinstance(outcome, Convene):
            opened = self.docket.convene(frozen, outcome.stage)
            if opened == "already":
                return None
            if opened != "no time":
                return self._convened(frozen, outcome, opened)
            history = (*history, _nobody(frozen, outcome.stage))
            outcome = procedure.decide(frozen.panel, frozen.facts, history)
        decision = outcome if isinstance(outcome, Decision) else procedure.fail_safe
        return self._seal(frozen, procedure, decision, history)

    def _decided_early(self, case_id: str, stage: int) -> bool:
        """Whether the votes so far decide an open case: asked of an unfrozen copy, for a freeze is never undone."""
        copy = self.docket.peek(case_id)
        if copy is None or copy.stage != stage:
            return False
        outcome: Outcome = procedure_named(copy.panel.procedure).decide(copy.panel, copy.facts, copy.history)
        return isinstance(outcome, Decision)

    def _convened(self, frozen: Frozen, convene: Convene, dispatch: Dispatch) -> Convene:
        logger.info("convened", case_id=frozen.case_id, stage=convene.stage, reason=convene.reason)
        fault_point("convened")
        if dispatch.seats:
            self.later(partial(self.dispatcher.stage, frozen.case_id, convene.stage, dispatch))
        else:
            self.later(partial(self.dispatcher.aggregate, frozen.case_id))
        self.later(partial(self.outbox.receipt_of_convene, frozen, convene))
        return convene

    def _seal(
        self, frozen: Frozen, procedure: Procedure, decision: Decision, history: tuple[Stage, ...]
    ) -> Verdict | None:
        rendering = Rendering(
            subject=frozen.subject,
            facts=frozen.facts,
            history=history,
            case_id=frozen.case_id,
            ref=frozen.context.ref,
            type=frozen.context.type,
            opened_at=frozen.opened_at,
            elapsed_ms=0,
            path=None,
        )
        record = CaseRecord(
            case_id=frozen.case_id,
            digest=frozen.digest,
            panel=frozen.panel,
            context=frozen.context,
            subject_bytes=frozen.subject_bytes,
            # Cut before it is redacted too: a preview need not read a megabyte.
            preview=redact(frozen.subject[: 20 * PREVIEW])[:PREVIEW],
            kept=zlib.compress(redact(frozen.subject).encode()) if frozen.panel.keep_subject else None,
            lineage=frozen.lineage,
            paths=self.outbox.free_paths(procedure.paths(rendering)),
        )

        def build(path: str | None) -> Verdict:
            # Called when the ledger has let us in: what was answered, and the time, are those of the seal.
            sealed_at = self.docket.now_ms()
            told = replace(rendering, path=self.outbox.shown(path), elapsed_ms=sealed_at - frozen.opened_at)
            return Verdict(
                verdict_id=Verdict.id_of(frozen.case_id),
                case_id=frozen.case_id,
                panel=frozen.panel.name,
                panel_version=frozen.panel.version,
                decision=decision,
                history=history,
                facts=frozen.facts,
                trigger=frozen.trigger,
                answered=self.docket.answered(frozen.case_id),
                output=procedure.output(frozen.panel, decision, told),
                audit_path=path,
                subject_sha256=frozen.subject_sha256,
                opened_at=frozen.opened_at,
                deadline_at=frozen.deadline_at,
                sealed_at=sealed_at,
            )

        sealed = self.ledger.seal(record, build)
        verdict = sealed.verdict
        if not sealed.same:
            logger.error("a case id was used for other content", case_id=frozen.case_id, sealed_as=verdict.seq)
            self.docket.close_conflict(frozen.case_id, verdict)
            return None
        logger.info(
            "sealed" if sealed.won else "sealed before",
            case_id=verdict.case_id,
            outcome=verdict.decision.outcome,
            seq=verdict.seq,
            trigger=frozen.trigger.value,
            late_ms=max(0, verdict.sealed_at - frozen.deadline_at),
        )
        fault_point("sealed")
        self.docket.close_case(verdict)
        fault_point("closed")
        if sealed.won:
            # Who lost leaves it to the winner; where that one died, to the sweep.
            self.outbox.under_way.add(verdict.case_id)
            if not self.later(partial(self.outbox.send, verdict)):
                self.outbox.under_way.discard(verdict.case_id)
        return verdict


def _nobody(frozen: Frozen, stage: int) -> Stage:
    """A stage that there was no time for: its seats are ``timeout``."""
    return Stage(
        stage=stage,
        votes=tuple(
            Vote(seat=seat.name, judge=seat.judge, status=VoteStatus.TIMEOUT, reason="no time left for this stage")
            for seat in frozen.panel.seats_of(stage)
        ),
    )
