"""The judge's task: begin, let the judge answer while the lease is renewed, return the vote."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import structlog
from celery.exceptions import Ignore

from tribunal.celery_app import TribunalApp
from tribunal.docket import Ballot, Began
from tribunal.docket.backend import lease_token
from tribunal.errors import RetryableJudgeError, StoreUnavailable
from tribunal.faults import fault_point
from tribunal.judging import Packet
from tribunal.model import Context, Vote, VoteStatus
from tribunal.panels import JudgeConfig
from tribunal.procedures import procedure_named, read_vote
from tribunal.settings import Settings
from tribunal.wire import JUDGE_TASK
from workers.process import JudgeStopped, JudgeTimeout

logger = structlog.get_logger(__name__)

RESERVE_S = 0.05
"""Seconds before a seat's end that its judge is stopped, so that the worker still records the timeout itself."""


class Runner(Protocol):
    """What runs a judge: a process of its own, or an event loop."""

    def ask(self, packet: Packet, *, every: float, keep_going: Callable[[], bool]) -> dict[str, Any]:
        """The judge's reply; see :meth:`workers.process.JudgeProcess.ask`."""
        ...


def outside(context: Context, roots: tuple[Path, ...]) -> str | None:
    """Which folder of the context lies outside of the allowed roots; None where all lie inside."""
    if not roots:
        return None
    allowed = [root.resolve() for root in roots]
    for name in ("workspace", "memory", "expertise"):
        given = getattr(context, name)
        if given and not any(Path(given).resolve().is_relative_to(root) for root in allowed):
            return f"{name} {given} lies outside of the setting context_roots"
    return None


def register(app: TribunalApp, settings: Settings, judge: JudgeConfig, runner: Runner) -> None:
    """Register the judge's task on the app."""

    @app.task(name=JUDGE_TASK, bind=True)
    def judge_task(self: Any, case_id: str, stage: int, seat: str) -> str:
        token = lease_token(self.request)
        began = app.docket.begin(case_id, stage, seat, token)
        if began is None:
            raise Ignore
        fault_point("begun")

        def keep_going() -> bool:
            try:
                return app.docket.renew(case_id, stage, seat, token)
            except StoreUnavailable as error:
                logger.warning("lease not renewed", case_id=case_id, seat=seat, error=str(error))
                return True

        packet = _packet(began, judge, case_id, stage, seat)
        vote = _vote(packet, began, runner, keep_going, outside(began.context, settings.context_roots))
        fault_point("before-vote")
        decisive = vote.answer is not None and procedure_named(began.procedure).decisive(seat, vote.answer)
        return Ballot(vote=vote, decisive=decisive).model_dump_json()


def _packet(began: Began, judge: JudgeConfig, case_id: str, stage: int, seat: str) -> Packet:
    return Packet(
        case_id=case_id,
        panel=began.panel,
        seat=seat,
        stage=stage,
        attempt=began.attempt,
        subject=began.subject,
        context=began.context,
        peers=began.peers,
        seconds=max(0.01, began.milliseconds / 1000 - RESERVE_S),
        options=judge.options,
    )


def _vote(packet: Packet, began: Began, runner: Runner, keep_going: Callable[[], bool], confined: str | None) -> Vote:
    """The seat's vote, whatever the judge does. Raises only where a second attempt may help, or no vote is needed."""
    started = time.monotonic()
    base = Vote(seat=packet.seat, judge=began.judge, status=VoteStatus.ABSTAINED, attempt=began.attempt)
    if confined:
        return base.model_copy(update={"reason": confined})
    try:
        reply = runner.ask(packet, every=began.lease_ms / 3000, keep_going=keep_going)
    except JudgeStopped:
        raise Ignore from None
    except JudgeTimeout:
        reply = {}
        vote = base.model_copy(update={"status": VoteStatus.TIMEOUT, "reason": f"no answer in {packet.seconds:.1f} s"})
    else:
        if reply.get("retryable"):
            raise RetryableJudgeError(reply["error"])
        if "error" in reply:
            vote = base.model_copy(update={"status": VoteStatus.ERROR, "reason": reply["error"]})
        elif "abstain" in reply:
            vote = base.model_copy(update={"reason": reply["abstain"]})
        else:
            answer = reply["answer"]
            if answer is None:
                vote = base.model_copy(update={"status": VoteStatus.ERROR, "reason": "the judge returned nothing"})
            else:
                vote = read_vote(procedure_named(began.procedure), packet.seat, began.judge, answer)
    elapsed = round((time.monotonic() - started) * 1000)
    return vote.model_copy(update={"attempt": began.attempt, "elapsed_ms": elapsed})
