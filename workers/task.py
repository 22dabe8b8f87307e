"""The judge's task: begin, let the judge answer while the lease is renewed, return the vote."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import structlog
from celery.exceptions import Ignore

from tribunal.celery_app import TribunalApp
from tribunal.docket import Ballot, Began
from tribunal.docket.backend import lease_token, send_of
from tribunal.errors import RetryableJudgeError, TribunalError
from tribunal.faults import fault_point
from tribunal.judging import Packet
from tribunal.model import Context, Vote, VoteStatus
from tribunal.panels import JudgeConfig
from tribunal.procedures import procedure_named, read_vote
from tribunal.redaction import redact
from tribunal.settings import Settings
from tribunal.wire import JUDGE_TASK, sent_at
from workers.process import JudgeStopped, JudgeTimeout

logger = structlog.get_logger(__name__)

RESERVE_S = 0.05
"""Seconds before a seat's end that its judge is stopped, so that the worker still records the timeout itself."""


class Runner(Protocol):
    """What runs a judge: a process of its own, or an event loop."""

    def ask(self, packet: Packet, *, every: float, keep_going: Callable[[], bool]) -> dict[str, Any]:
        """The judge's reply; see :meth:`workers.process.JudgeProcess.ask`."""
        ...


def confined(context: Context, roots: tuple[Path, ...]) -> Context:
    """The context with its folders as whole paths without links, each below one of the roots where there are some.

    Raises:
        PermissionError: one lies outside of them.
    """
    allowed = [root.resolve() for root in roots]
    found: dict[str, str] = {}
    for name in ("workspace", "memory", "expertise"):
        given: str | None = getattr(context, name)
        if given is None:
            continue
        path = Path(given).expanduser().resolve()
        if allowed and not any(path.is_relative_to(root) for root in allowed):
            raise PermissionError(f"{name} {given} lies outside of the setting context_roots")
        found[name] = str(path)
    return context.model_copy(update=found)


def register(app: TribunalApp, settings: Settings, judge: JudgeConfig, runner: Runner) -> None:
    """Register the judge's task on the app."""

    @app.task(name=JUDGE_TASK, bind=True)
    def judge_task(self: Any, case_id: str, stage: int, seat: str) -> str:
        token = lease_token(self.request)
        began = app.docket.begin(case_id, stage, seat, token, sent_at(send_of(self.request)))
        if began is None:
            raise Ignore
        fault_point("begun")

        def keep_going() -> bool:
            try:
                return app.docket.renew(case_id, stage, seat, token)
            except TribunalError as error:
                logger.warning("lease not renewed", case_id=case_id, seat=seat, error=str(error))
                return True

        try:
            context = confined(began.context, settings.context_roots)
        except (OSError, RuntimeError) as error:
            vote = _base(began, seat).model_copy(update={"reason": str(error)})
        else:
            vote = _vote(_packet(began, judge, context, case_id, stage, seat), began, runner, keep_going)
        fault_point("before-vote")
        decisive = vote.answer is not None and procedure_named(began.procedure).decisive(seat, vote.answer)
        return Ballot(vote=vote, decisive=decisive).model_dump_json()


def _base(began: Began, seat: str) -> Vote:
    return Vote(seat=seat, judge=began.judge, status=VoteStatus.ABSTAINED, attempt=began.attempt)


def _packet(began: Began, judge: JudgeConfig, context: Context, case_id: str, stage: int, seat: str) -> Packet:
    return Packet(
        case_id=case_id,
        panel=began.panel,
        seat=seat,
        stage=stage,
        attempt=began.attempt,
        subject=began.subject,
        context=context,
        peers=began.peers,
        seconds=max(0.01, began.milliseconds / 1000 - RESERVE_S),
        options=judge.options,
    )


def _vote(packet: Packet, began: Began, runner: Runner, keep_going: Callable[[], bool]) -> Vote:
    """The seat's vote, whatever the judge does. Raises only where a second attempt may help, or no vote is needed."""
    started = time.monotonic()
    base = _base(began, packet.seat)
    try:
        reply = runner.ask(packet, every=began.lease_ms / 3000, keep_going=keep_going)
    except JudgeStopped:
        raise Ignore from None
    except JudgeTimeout:
        reply = {}
        vote = base.model_copy(update={"status": VoteStatus.TIMEOUT, "reason": f"no answer in {packet.seconds:.1f} s"})
    else:
        if reply.get("retryable"):
            raise RetryableJudgeError(redact(reply["error"]))
        if "error" in reply:
            vote = base.model_copy(update={"status": VoteStatus.ERROR, "reason": redact(reply["error"])})
        elif "abstain" in reply:
            vote = base.model_copy(update={"reason": redact(reply["abstain"])})
        else:
            answer = reply["answer"]
            if answer is None:
                vote = base.model_copy(update={"status": VoteStatus.ERROR, "reason": "the judge returned nothing"})
            else:
                vote = read_vote(procedure_named(began.procedure), packet.seat, began.judge, answer)
    elapsed = round((time.monotonic() - started) * 1000)
    return vote.model_copy(update={"attempt": began.attempt, "elapsed_ms": elapsed})
