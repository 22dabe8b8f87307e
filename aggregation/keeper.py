"""The keeper: a thread in every aggregator that sees to what is due, by Redis's clock.

No broker lies between a deadline and its seal: the keeper settles by itself. Whatever it takes is pushed a second ahead
in the docket first, so that a keeper that dies loses nothing.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import structlog

from aggregation.settle import Settler
from tribunal.celery_app import BROKER_TIMEOUT, TribunalApp
from tribunal.errors import DispatchError, NotFound, TribunalError
from tribunal.wire import parse_task_id

logger = structlog.get_logger(__name__)

POLL_S = 0.05
SWEEP_S = 1.0
BATCH = 100


@dataclass
class Keeper:
    """Deadlines, seats that ran out or were lost, late votes, and the outbox's sweep."""

    app: TribunalApp
    settler: Settler
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

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
        swept = time.monotonic()
        while not self._stopping.is_set():
            try:
                busy = self.look()
                if time.monotonic() - swept >= SWEEP_S:
                    swept = time.monotonic()
                    self.sweep()
            except TribunalError as error:
                logger.warning("the keeper was held up", error=str(error))
                busy = False
                self._stopping.wait(SWEEP_S / 2)
            except Exception:
                # One case that nobody thought of must not stop the deadlines of all others.
                logger.exception("the keeper failed")
                busy = False
                self._stopping.wait(SWEEP_S / 2)
            if not busy:
                self._stopping.wait(POLL_S)

    def look(self) -> bool:
        """See to what is due now; whether there may be more."""
        due = self.app.docket.take_due(BATCH)
        for entry in due:
            if self._stopping.is_set():
                break
            try:
                self._see_to(entry)
            except TribunalError as error:
                logger.warning("due again in a second", entry=entry, error=str(error))
            except Exception:
                logger.exception("due again in a second", entry=entry)
        return len(due) == BATCH

    def _see_to(self, entry: str) -> None:
        seat = parse_task_id(entry)
        if seat is None:
            self.settler.settle(entry)
            return
        docket = self.app.docket
        due = docket.seat_due(*seat)
        if due.action == "look":
            due = docket.seat_due(*seat, queue_empty=self._queue_empty(str(due.judge)))
        case_id, stage, name = seat
        if due.action == "resend":
            logger.info("sent again", case_id=case_id, stage=stage, seat=name)
            self._resend(case_id, stage, name, str(due.judge))
        elif due.action == "complete":
            self.settler.settle(case_id)

    def _resend(self, case_id: str, stage: int, seat: str, judge: str) -> None:
        try:
            self.app.dispatcher.seat(case_id, stage, seat, judge)
        except DispatchError as error:
            logger.warning("not sent again; the seat stays due", case_id=case_id, seat=seat, error=str(error))

    def _queue_empty(self, judge: str) -> bool:
        """Whether nothing waits for a judge. A queue that does not exist has nothing waiting either."""
        with self.app.pool.acquire(block=True, timeout=BROKER_TIMEOUT) as pooled:
            connection: Any = pooled
            try:
                with connection.channel() as channel:
                    declared = channel.queue_declare(self.app.names.queue(judge), passive=True)
            except connection.channel_errors as error:
                if str(error.reply_code) == "404":
                    return True
                raise DispatchError(f"the queue of judge {judge} cannot be read: {error}") from error
            except connection.connection_errors as error:
                raise DispatchError(f"the broker did not tell of judge {judge}'s queue: {error}") from error
            return declared.message_count == 0

    def sweep(self) -> None:
        """Publish and export what was left, move late votes to the ledger, remove silent subscribers' queues."""
        self.settler.outbox.sweep()
        for raw, case_id, stage, vote in self.app.docket.late(BATCH):
            try:
                self.settler.ledger.add_late(case_id, stage, vote)
            except NotFound:
                continue  # its case is not sealed yet
            self.app.docket.forget_late(raw)
        self.settler.outbox.topic.sweep()
