"""Durable subscriptions: a name, a pattern and a cursor in the ledger, so that no verdict is missed (I4).

The log is read, not the topic; the topic only nudges. One process at a time holds a name, by a lease with a fencing
token; others stand by. A verdict is handled at least once: whoever dies between the handler and the cursor's move
leaves it to the next holder.
"""

import logging
import os
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Update, delete, or_, select, update

from tribunal.errors import Conflict, ContractError, NotFound, StoreUnavailable, did_you_mean
from tribunal.ledger.ledger import Ledger
from tribunal.ledger.schema import counter, dead_letters, log, subscriptions
from tribunal.model import ID_PATTERN, Verdict
from tribunal.topic import check_pattern, matches

logger = logging.getLogger(__name__)

LEASE_MS = 6_000
RENEW_SECONDS = 2.0
STANDBY_SECONDS = 2.0
"""A standby takes over at most a lease and this after the holder's death: 8 s."""
LOOK_SECONDS = 5.0
"""The log is looked at so often without a nudge."""
STOP_SECONDS = 0.5
"""How soon a stop or a lost lease is noticed while nothing comes."""
STORE_RETRY_SECONDS = 1.0
ATTEMPTS = 5
PAGE = 200

Handler = Callable[[Verdict], object]
Nudge = Callable[[float], bool]
"""Waits at most so many seconds and says whether something may be new, as :meth:`tribunal.topic.Listener.nudge`."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class SubscriptionState:
    """How far a subscription is."""

    name: str
    pattern: str
    cursor: int
    """The last number handled."""
    behind: int
    """Numbers in the log after it, of any key."""
    holder: str | None
    """Who holds it now."""


@dataclass(frozen=True)
class DeadLetter:
    """A verdict that a handler failed on five times."""

    name: str
    seq: int
    error: str
    at: int
    """Milliseconds since the epoch."""


class DurableSubscription:
    """A named reader of the log. It is born when this returns; one object is for one consumer, in one thread.

    ``since`` is the first number that a new subscription handles (0 or 1: all); without it, those sealed from now on.
    For a name that exists it says nothing: a service that restarts goes on where it was. See :func:`rewind`.
    ``retry_seconds`` is the pause before a handler's second attempt; it doubles with each.

    Raises:
        ContractError: name, pattern or ``since`` is not of the agreed form.
        Conflict: the name exists with another pattern.
        StoreUnavailable: the ledger did not answer; call again.
    """

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        pattern: str,
        *,
        since: int | None = None,
        holder: str | None = None,
        retry_seconds: float = 1.0,
    ) -> None:
        if not re.fullmatch(ID_PATTERN, name):
            raise ContractError(
                f"a subscription's name is letters, digits, '_' or '-', at most 64; {name[:80]!r} came; choose another"
            )
        if since is not None and since < 0:
            raise ContractError(f"since is the first number to handle, 0 or more; {since} came")
        self.name = name
        self.pattern = check_pattern(pattern)
        self._ledger = ledger
        self._holder = holder or f"{socket.gethostname()}:{os.getpid()}"
        self._retry_seconds = retry_seconds
        self._token: int | None = None
        self._create(since)

    def run(self, handler: Handler, stop: threading.Event, nudge: Nudge | None = None) -> None:
        """Call ``handler`` with each verdict, in order, until ``stop``; the cursor moves when it has returned.

        A handler that raises is called again, five times in all; then the verdict is parked as a dead letter. The
        ledger's absence is waited out.

        Raises:
            NotFound: the subscription was removed meanwhile.
        """
        with closing(self.verdicts(stop, nudge)) as rows:
            for verdict in rows:
                error = self._handle(handler, verdict, stop)
                if error is None:
                    continue
                if stop.is_set():
                    return  # not moved: it is handled again after the next start
                self._insist(lambda seq=verdict.seq, error=error: self._park(seq, error), stop)

    def verdicts(
        self, stop: threading.Event | None = None, nudge: Nudge | None = None
    ) -> Generator[Verdict, None, None]:
        """The verdicts in order, without an end until ``stop``; the cursor moves when the next one is asked for."""
        stop = stop or threading.Event()
        while not stop.is_set():
            taken = self._insist(self._acquire, stop)
            if taken is None:
                stop.wait(STANDBY_SECONDS)
                continue
            token, cursor = taken
            with self._kept(token) as lost:
                yield from self._follow(token, cursor, stop, lost, nudge)

    def __iter__(self) -> Iterator[Verdict]:
        return self.verdicts()

    def _follow(
        self, token: int, cursor: int, stop: threading.Event, lost: threading.Event, nudge: Nudge | None
    ) -> Generator[Verdict, None, None]:
        ahead: deque[tuple[int, str]] = deque()
        while not stop.is_set() and not lost.is_set():
            if not ahead:
                ahead.extend(self._insist(lambda after=cursor: self._keys(after), stop) or ())
            if not ahead:
                _wait(stop, lost, nudge)
                continue
            seq, fits = self._pass_over(ahead)
            if fits:
                found = self._insist(lambda after=seq - 1: self._ledger.entries(after, 1), stop)
                if not found:
                    return
                yield found[0]
            if not self._insist(lambda old=cursor, new=seq: self._move(token, old, new), stop):
                logger.warning("subscription %s: not ours any more at %d; standing by", self.name, seq)
                return
            cursor = seq

    def _pass_over(self, ahead: deque[tuple[int, str]]) -> tuple[int, bool]:
        """Take rows up to the first that fits; its number, or the last one's, and whether it fits."""
        while True:
            seq, key = ahead.popleft()
            fits = matches(self.pattern, key)
            if fits or not ahead:
                return seq, fits

    def _handle(self, handler: Handler, verdict: Verdict, stop: threading.Event) -> str | None:
        """Why the handler failed on its last attempt; None if it did not."""
        attempt = 1
        while True:
            try:
                handler(verdict)
            except Exception as error:  # noqa: BLE001  # whatever a handler raises costs this verdict, not the service
                reason = f"{type(error).__name__}: {error}"
                logger.warning("subscription %s: attempt %d on %s failed: %s", self.name, attempt, verdict.seq, reason)
            else:
                return None
            if attempt == ATTEMPTS or stop.wait(self._retry_seconds * 2 ** (attempt - 1)):
                return reason
            attempt += 1

    @contextmanager
    def _kept(self, token: int) -> Generator[threading.Event]:
        """Renew the lease in a thread of its own, however long a handler takes; the event says that it was lost."""
        done, lost = threading.Event(), threading.Event()

        def keep() -> None:
            try:
                while not done.wait(RENEW_SECONDS) and self._insist(lambda: self._renew(token), done):
                    pass
            finally:
                lost.set()

        thread = threading.Thread(target=keep, name=f"lease of {self.name}", daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            done.set()
            thread.join()
            try:
                self._release(token)
            except StoreUnavailable as error:
                logger.warning("subscription %s: not released, it runs out by itself: %s", self.name, error)

    def _insist(self, call: Callable[[], _Result], stop: threading.Event) -> _Result | None:
        """The call's result, tried until the ledger answers; None if ``stop`` came first."""
        while True:
            try:
                return call()
            except StoreUnavailable as error:
                logger.warning("subscription %s: %s", self.name, error)
            if stop.wait(STORE_RETRY_SECONDS):
                return None

    def _create(self, since: int | None) -> None:
        store = self._ledger.store
        with store.writing() as connection:
            head: int = connection.execute(select(counter.c.value)).scalar_one()
            row = {
                "name": self.name,
                "pattern": self.pattern,
                "cursor": head if since is None else max(since - 1, 0),
                # Not 0: a holder of a removed subscription of that name must not pass for one of this.
                "token": time.time_ns() // 1_000_000,
                "lease_until": 0,
            }
            store.insert_new(connection, subscriptions, row)
            known = select(subscriptions.c.pattern).where(subscriptions.c.name == self.name)
            pattern = connection.execute(known).scalar_one()
        if pattern != self.pattern:
            raise Conflict(
                f'subscription {self.name} has the pattern "{pattern}", not "{self.pattern}"; use that pattern or '
                "another name, or remove the subscription first"
            )

    def _acquire(self) -> tuple[int, int] | None:
        now = self._ledger.store.now()
        # A lease that ends later than any can was made by a clock since set back.
        free = or_(subscriptions.c.lease_until <= now, subscriptions.c.lease_until > now + LEASE_MS)
        take = (
            update(subscriptions)
            .where(subscriptions.c.name == self.name, free)
            .values(token=subscriptions.c.token + 1, holder=self._holder, lease_until=now + LEASE_MS)
            .returning(subscriptions.c.token, subscriptions.c.cursor)
        )
        with self._ledger.store.writing() as connection:
            row = connection.execute(take).one_or_none()
        if row is None:
            _known(self._ledger, self.name)
            return None
        self._token = row.token
        return row.token, row.cursor

    def _own(self, token: int) -> Update:
        return update(subscriptions).where(subscriptions.c.name == self.name, subscriptions.c.token == token)

    def _write(self, statement: Update) -> bool:
        with self._ledger.store.writing() as connection:
            return connection.execute(statement).rowcount == 1

    def _renew(self, token: int) -> bool:
        return self._write(self._own(token).values(lease_until=self._ledger.store.now() + LEASE_MS))

    def _release(self, token: int) -> None:
        self._write(self._own(token).values(lease_until=0, holder=None))

    def _move(self, token: int, old: int, new: int) -> bool:
        # The new place counts as the old one: the answer to a first try may have been lost.
        return self._write(self._own(token).where(subscriptions.c.cursor.in_((old, new))).values(cursor=new))

    def _park(self, seq: int | None, error: str) -> None:
        store = self._ledger.store
        ours = select(subscriptions.c.name).where(
            subscriptions.c.name == self.name, subscriptions.c.token == self._token
        )
        with store.writing() as connection:
            if connection.execute(ours).first():
                row = {"name": self.name, "seq": seq, "error": error[:4096].replace("\x00", "")}
                store.insert_new(connection, dead_letters, row, at=store.now())

    def _keys(self, after: int) -> list[tuple[int, str]]:
        query = select(log.c.seq, log.c.routing_key).where(log.c.seq > after).order_by(log.c.seq).limit(PAGE)
        with self._ledger.store.reading() as connection:
            return [(seq, key) for seq, key in connection.execute(query)]


def _wait(stop: threading.Event, lost: threading.Event, nudge: Nudge | None) -> None:
    deadline = time.monotonic() + LOOK_SECONDS
    while not stop.is_set() and not lost.is_set():
        rest = deadline - time.monotonic()
        if rest <= 0:
            return
        if nudge is None:
            stop.wait(min(rest, STOP_SECONDS))
        elif nudge(min(rest, STOP_SECONDS)):
            return


def tail(
    ledger: Ledger, pattern: str, since: int, stop: threading.Event, nudge: Nudge | None = None
) -> Generator[Verdict, None, None]:
    """The verdicts of a pattern from the number ``since`` on, then as they are sealed, until ``stop``; nothing is kept.

    Raises:
        ContractError: the pattern is none, or ``since`` is negative.
        StoreUnavailable: the ledger did not answer.
    """
    check_pattern(pattern)
    if since < 0:
        raise ContractError(f"since is the first number to handle, 0 or more; {since} came")
    after = max(since - 1, 0)
    while not stop.is_set():
        rows = ledger.entries(after, PAGE)
        for verdict in rows:
            if matches(pattern, verdict.routing_key):
                yield verdict
            after = verdict.seq or after
        if not rows:
            _wait(stop, stop, nudge)


def list_subscriptions(ledger: Ledger) -> list[SubscriptionState]:
    """All durable subscriptions by name, and how far each is."""
    held = subscriptions.c.lease_until > ledger.store.now()
    query = select(subscriptions, held.label("held"), counter.c.value).join(counter, counter.c.id == 1)
    with ledger.store.reading() as connection:
        rows = connection.execute(query.order_by(subscriptions.c.name)).all()
    return [
        SubscriptionState(
            row.name, row.pattern, row.cursor, max(row.value - row.cursor, 0), row.holder if row.held else None
        )
        for row in rows
    ]


def _known(ledger: Ledger, name: str) -> None:
    """Raise NotFound, with the names that there are, unless there is a subscription of that name."""
    names = [state.name for state in list_subscriptions(ledger)]
    if name not in names:
        raise NotFound(f'there is no subscription "{name}"{did_you_mean(name, names)}')


def remove_subscription(ledger: Ledger, name: str) -> None:
    """Forget a subscription and its dead letters; whoever holds it stops.

    Raises:
        NotFound: there is none of that name.
    """
    _known(ledger, name)
    with ledger.store.writing() as connection:
        connection.execute(delete(subscriptions).where(subscriptions.c.name == name))


def rewind(ledger: Ledger, name: str, since: int) -> None:
    """Let a subscription handle the numbers from ``since`` on again, or skip to there; its holder starts over.

    Raises:
        NotFound: there is none of that name.
        ContractError: ``since`` is negative.
    """
    if since < 0:
        raise ContractError(f"since is the first number to handle, 0 or more; {since} came")
    _known(ledger, name)
    with ledger.store.writing() as connection:
        connection.execute(
            update(subscriptions)
            .where(subscriptions.c.name == name)
            .values(cursor=max(since - 1, 0), token=subscriptions.c.token + 1, lease_until=0)
        )


def list_dead_letters(ledger: Ledger, name: str) -> list[DeadLetter]:
    """The verdicts that a subscription's handler failed on, in order; read one by ``ledger.entries(seq - 1, 1)``."""
    query = select(dead_letters).where(dead_letters.c.name == name).order_by(dead_letters.c.seq)
    with ledger.store.reading() as connection:
        rows = connection.execute(query).all()
    return [DeadLetter(row.name, row.seq, row.error, row.at) for row in rows]


def remove_dead_letter(ledger: Ledger, name: str, seq: int) -> None:
    """Forget a dead letter, once it was dealt with.

    Raises:
        NotFound: there is none of that number.
    """
    with ledger.store.writing() as connection:
        gone = connection.execute(delete(dead_letters).where(dead_letters.c.name == name, dead_letters.c.seq == seq))
    if not gone.rowcount:
        raise NotFound(f"subscription {name} has no dead letter {seq}; list them to see which there are")
