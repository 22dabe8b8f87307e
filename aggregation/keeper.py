"""The keeper: a thread in every aggregator that sees to what is due, by Redis's clock.

No broker lies between a deadline and its seal: the keeper settles by itself, and leaves what talks to a broker to the
courier. Whatever it takes is pushed a second ahead in the docket first, so that a keeper that dies loses nothing.
"""

import threading
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from kombu.exceptions import OperationalError

from aggregation.courier import Courier
from aggregation.settle import Settler
from tribunal.celery_app import BROKER_TIMEOUT, TribunalApp
from tribunal.docket import SeatDue
from tribunal.errors import DispatchError, TribunalError
from tribunal.wire import parse_task_id

logger = structlog.get_logger(__name__)

POLL_S = 0.05
PAUSE_S = 0.5
"""Seconds before the next look after a fault."""
BATCH = 100


@dataclass
class Keeper:
    """Deadlines, and seats that ran out of time or were lost."""

    app: TribunalApp
    settler: Settler
    courier: Courier
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _looking: set[str] = field(default_factory=set[str])
    """Judges whose queue is being looked at."""

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="tribunal-keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop it and wait until what it does is done."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.is_set():
            busy = False
            try:
                busy = self.look()
            except TribunalError as error:
                logger.warning("the keeper was held up", error=str(error))
                self._stopping.wait(PAUSE_S)
            except Exception:
                # What nobody thought of must not end the deadlines of all cases.
                logger.exception("the keeper failed")
                self._stopping.wait(PAUSE_S)
            if not busy:
                self._stopping.wait(POLL_S)

    def look(self) -> bool:
        """See to what is due now; whether there may be more."""
        due = self.app.docket.take_due(BATCH)
        unbegun: dict[str, list[tuple[str, int, str]]] = {}
        for entry in due:
            if self._stopping.is_set():
                break
            try:
                self._see_to(entry, unbegun)
            except TribunalError as error:
                logger.warning("due again in a second", entry=entry, error=str(error))
            except Exception:
                logger.exception("due again in a second", entry=entry)
        for judge, seats in unbegun.items():
            # One question for all of a judge's seats, and one at a time: a backlog must not crowd out what is sent.
            if judge not in self._looking:
                self._looking.add(judge)
                if not self.courier.post(partial(self._look_for, judge, seats)):
                    self._looking.discard(judge)
        return len(due) == BATCH

    def _see_to(self, entry: str, unbegun: dict[str, list[tuple[str, int, str]]]) -> None:
        seat = parse_task_id(entry)
        if seat is None:
            self.settler.settle(entry)
            return
        due = self.app.docket.seat_due(*seat)
        if due.action == "complete":
            self.settler.settle(seat[0])
        elif due.action == "look":
            unbegun.setdefault(due.judge, []).append(seat)
        elif due.action == "resend":
            self.courier.post(partial(self._resend, *seat, due))

    def _look_for(self, judge: str, seats: list[tuple[str, int, str]]) -> None:
        """Send seats again whose messages are lost: if their judge's queue is empty and nobody began them."""
        try:
            if self._queue_empty(judge):
                for seat in seats:
                    due = self.app.docket.seat_due(*seat, queue_empty=True)
                    if due.action == "resend":
                        self._resend(*seat, due)
        finally:
            self._looking.discard(judge)

    def _resend(self, case_id: str, stage: int, seat: str, due: SeatDue) -> None:
        logger.info("sent again", case_id=case_id, stage=stage, seat=seat)
        self.app.dispatcher.seat(case_id, stage, seat, due.judge, due.sent)

    def _queue_empty(self, judge: str) -> bool:
        """Whether nothing waits for a judge. A queue that does not exist has nothing waiting either."""
        with self.app.pool.acquire(block=True, timeout=BROKER_TIMEOUT) as pooled:
            connection: Any = pooled
            try:
                # A pooled connection does not come back by itself once its broker was away.
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_TIMEOUT)
                with connection.channel() as channel:
                    declared = channel.queue_declare(self.app.names.queue(judge), passive=True)
            except connection.channel_errors as error:
                if str(error.reply_code) == "404":
                    return True
                raise DispatchError(f"the queue of judge {judge} cannot be read: {error}") from error
            except (OperationalError, *connection.connection_errors) as error:
                raise DispatchError(f"the broker did not tell of judge {judge}'s queue: {error}") from error
            return declared.message_count == 0
