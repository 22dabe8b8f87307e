"""The docket as Celery's result backend: a header task's result is its vote, and completeness is the docket's alone.

A subclass of the base backend, not of the Redis one, whose results subscribe for every header. Celery's minor version
is pinned, and the tests of the engine hold each seam that is taken here.
"""

import time
from collections.abc import Callable
from typing import Any

import structlog
from celery import canvas
from celery.backends.base import BaseBackend
from celery.exceptions import TimeLimitExceeded
from celery.states import PENDING, SUCCESS

from tribunal.docket.docket import Docket
from tribunal.docket.records import Ballot
from tribunal.errors import TribunalError
from tribunal.faults import fault_point
from tribunal.redaction import redact
from tribunal.wire import SEND_HEADER, parse_task_id

logger = structlog.get_logger(__name__)

RETRY_S = 0.2
GIVE_UP_S = 30.0
"""How long a report is offered to a Redis that does not answer; the seat has ended or been given anew by then."""


def lease_token(request: Any) -> str:
    """Who holds a seat's lease: the worker's name and the id of this sending; the same in parent and child."""
    return f"{request.hostname}|{send_of(request)}"


def send_of(request: Any) -> str:
    """The id of the sending that this request came by."""
    return str(getattr(request, SEND_HEADER, None) or "")


def _told(error: BaseException) -> str:
    """A failed attempt's reason; what the runtime raised for a judge is in the judge's own words already."""
    return str(error) if isinstance(error, TribunalError) else f"{type(error).__name__}: {error}"


class DocketBackend(BaseBackend):
    """Turns what Celery reports of a judge's task into the docket's scripts; reports of other tasks are ignored."""

    app: Any
    supports_autoexpire = True

    @property
    def docket(self) -> Docket:
        """The docket of the app."""
        return self.app.docket

    def mark_as_done(
        self,
        task_id: str,
        result: Any,
        request: Any = None,
        store_result: bool = True,
        state: str = SUCCESS,
    ) -> None:
        """Record the vote that a judge's task returned; on the stage's last one, publish the chord's body."""
        seat = parse_task_id(task_id)
        if seat is None or request is None:
            return
        case_id, stage, name = seat
        ballot = Ballot.model_validate_json(result)
        answer = self._offer(lambda: self.docket.vote(case_id, stage, lease_token(request), ballot))
        fault_point("voted")
        logger.info("vote", case_id=case_id, stage=stage, seat=name, status=ballot.vote.status.value, recorded=answer)
        if answer == "complete":
            self._publish_body(request)
        elif answer == "decisive":
            self.app.dispatcher.aggregate(case_id, hint=stage)

    def mark_as_failure(
        self,
        task_id: str,
        exc: BaseException,
        traceback: Any = None,
        request: Any = None,
        store_result: bool = True,
        call_errbacks: bool = True,
        state: str = "FAILURE",
    ) -> None:
        """Report a failed attempt: raised, child lost, or hard limit."""
        self._fail(
            task_id,
            request,
            "hard time limit" if isinstance(exc, TimeLimitExceeded) else _told(exc),
        )

    def mark_as_revoked(
        self, task_id: str, reason: str = "", request: Any = None, store_result: bool = True, state: str = "REVOKED"
    ) -> None:
        """Report an attempt that was ended from outside."""
        self._fail(task_id, request, reason or "revoked")

    def _fail(self, task_id: str, request: Any, reason: str) -> None:
        seat = parse_task_id(task_id)
        if seat is None or request is None:
            return
        told = redact(reason[:500])
        answer = self._offer(lambda: self.docket.fail(*seat, lease_token(request), told))
        case_id, stage, name = seat
        logger.warning("attempt failed", case_id=case_id, stage=stage, seat=name, reason=told, answer=answer)
        if answer == "complete":
            self._publish_body(request)

    def _offer(self, report: Callable[[], str]) -> str | None:
        """Report until Redis answers. Never raises for a store that is away: Celery would report a failure instead."""
        until = time.monotonic() + GIVE_UP_S
        while True:
            try:
                return report()
            except TribunalError as error:
                if time.monotonic() > until:
                    logger.exception("report lost", error=str(error))
                    return None
                time.sleep(RETRY_S)

    def _publish_body(self, request: Any) -> None:
        """Call the aggregator. Lost or refused, the keeper does it a second later."""
        body = canvas.maybe_signature(request.chord, app=self.app)
        if body is not None:
            self.app.dispatcher.publish(body)

    def apply_chord(self, header_result_args: Any, body: Any, **kwargs: Any) -> None:
        """Nothing: the docket counts the seats. (The base class sends a task that polls.)"""

    def set_chord_size(self, group_id: str, chord_size: int) -> None:
        """Nothing: the docket knows the seats."""

    def on_chord_part_return(self, request: Any, state: str, result: Any, **kwargs: Any) -> None:
        """Nothing: :meth:`mark_as_done` joins."""

    def mark_as_retry(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: attempts are the docket's."""

    def mark_as_started(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: a judge begins with a script."""

    def _store_result(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: a vote is recorded once, by :meth:`mark_as_done`."""

    def _get_task_meta_for(self, task_id: str) -> dict[str, Any]:
        return {"status": PENDING, "result": None}

    def _restore_group(self, group_id: str) -> None:
        return None
