"""What ``judge()`` answers when nothing is sealed in time: never the permissive word, and marked as not final."""

import time
from typing import Literal

from tribunal.docket import Frozen
from tribunal.model import Case, Decision, Stage, Verdict, VoteStatus
from tribunal.panels import Panel
from tribunal.procedures import Rendering, procedure_named, stricter

Reason = Literal["timeout", "unrecorded", "unreachable"]


def provisional(case: Case, panel: Panel, seen: Frozen | None, reason: Reason, started_at: int) -> Verdict:
    """The stricter of the panel's fail-safe and the procedure's decision on the votes seen, the rest ``timeout``.

    ``seen`` is the docket's unfrozen copy, None where it could not be read; ``started_at`` is the caller's clock, in
    milliseconds since the epoch.
    """
    procedure = procedure_named(panel.procedure)
    history: tuple[Stage, ...] = ()
    decision = procedure.fail_safe
    if seen is not None:
        *past, last = seen.history
        votes = tuple(
            vote.model_copy(update={"status": VoteStatus.TIMEOUT, "reason": "no answer yet"})
            if vote.status is VoteStatus.OPEN
            else vote
            for vote in last.votes
        )
        history = (*past, Stage(stage=last.stage, votes=votes))
        outcome = procedure.decide(panel, seen.facts, history)
        if isinstance(outcome, Decision):
            decision = stricter(procedure.fail_safe, outcome)
    now = round(time.time() * 1000)
    opened = seen.opened_at if seen else started_at
    rendering = Rendering(
        subject=case.subject,
        facts=seen.facts if seen else {},
        history=history,
        case_id=case.case_id,
        ref=case.context.ref,
        type=case.context.type,
        opened_at=opened,
        elapsed_ms=max(0, now - started_at),
        path=None,
    )
    output = procedure.output(panel, decision, rendering)
    return Verdict(
        verdict_id=Verdict.id_of(case.case_id),
        case_id=case.case_id,
        panel=case.panel,
        panel_version=panel.version,
        decision=decision,
        history=history,
        facts=rendering.facts,
        final=False,
        reason=reason,
        output={**output, "final": False, "reason": reason},
        subject_sha256=case.subject_hash,
        opened_at=opened,
        deadline_at=seen.deadline_at if seen else opened + round((panel.answer_within - panel.margin) * 1000),
        sealed_at=now,
    )
