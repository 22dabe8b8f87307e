"""The verdict topic: sealed verdicts to whoever listens, now.

It is live and best effort. Who must miss nothing reads the ledger by a durable subscription and takes the topic as a
nudge to look. The bytes on it are a verdict's JSON.
"""

import itertools
import logging
import re
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from kombu import Connection, Consumer, Exchange, Producer, Queue, binding
from kombu.message import Message
from kombu.utils.url import sanitize_url
from pydantic import ValidationError

from tribunal.errors import ConfigurationError, ContractError, DispatchError
from tribunal.model import Verdict
from tribunal.wire import Names

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0
PUBLISH_SECONDS = 1.0
"""Bound of each step of a publish: a free connection, the socket's reads and writes, the broker's confirmation."""
QUEUE_LIMIT = 10_000
"""Verdicts that wait for a plain consumer; older ones are dropped."""
HEARTBEAT_SECONDS = 60
"""A plain consumer on Redis that is silent for so long loses its queue."""
BEAT_SECONDS = 15.0
PREFETCH = 100
LISTEN_SECONDS = 5.0
"""Bound of a listener's single reads and writes; above the second that Redis holds a blocking pop."""
DRAIN_SECONDS = 1.0
"""A listener looks up so often, to stop, to reconnect, to say that it lives."""
NO_WAIT_SECONDS = 0.01
PATTERN = re.compile(r"([a-z0-9_-]+|\*|#)(\.([a-z0-9_-]+|\*|#))*")
HASHES = 4
"""At most so many ``#`` in a pattern; a key has three words."""

_SWEEP = """
-- KEYS: the set of our queues, this one's heartbeat, itself, kombu's two tables of bindings.
-- ARGV: the queue's name, the limit, its rows in those tables. Returns how much was removed.
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('LTRIM', KEYS[3], 0, tonumber(ARGV[2]) - 1)
  return 0
end
local gone = redis.call('DEL', KEYS[3])
for i = 3, #ARGV do
  gone = gone + redis.call('SREM', KEYS[4], ARGV[i])
  redis.call('SREM', KEYS[5], ARGV[i])
end
-- A publisher may still push what it routed before the binding went: forget the queue only when it stayed away.
if gone == 0 then redis.call('SREM', KEYS[1], ARGV[1]) end
return gone
"""


def check_pattern(pattern: str) -> str:
    """The pattern, if it is one: words joined by dots, ``*`` for exactly one word, ``#`` for any number.

    Raises:
        ContractError: it is none.
    """
    if len(pattern) > 255 or pattern.count("#") > HASHES or not PATTERN.fullmatch(pattern):
        raise ContractError(
            "a pattern is lower-case words, '*' (one word) or '#' (any number of words) joined by dots, for instance "
            f"'*.escalate' or 'recommendation.#', at most 255 characters and {HASHES} '#'; {pattern[:80]!r} came"
        )
    return pattern


def matches(pattern: str, key: str) -> bool:
    """Whether a routing key fits a pattern, by the rules of AMQP's topic exchange; ``a.#`` fits ``a`` too."""
    return _fits(pattern.split("."), key.split("."))


def _fits(pattern: list[str], words: list[str]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(_fits(pattern[1:], words[skipped:]) for skipped in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and _fits(pattern[1:], words[1:])


def kombu_url(url: str) -> str:
    """A broker's URL as kombu wants it: ``unix:///path?db=1`` is its ``redis+socket:///path?virtual_host=1``."""
    if url.startswith("unix://"):
        return "redis+socket://" + url.removeprefix("unix://").replace("?db=", "?virtual_host=")
    if url.startswith("rediss://") and "ssl_cert_reqs" not in url:
        # kombu's own default checks no certificate.
        return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
    return url


class Topic:
    """The exchange ``<namespace>.verdicts``. Safe for threads; make one in each process. Connects when first used.

    Raises:
        ConfigurationError: the URL names no broker that kombu knows.
    """

    def __init__(self, url: str, namespace: str = "tribunal") -> None:
        self._url = kombu_url(url)
        self._namespace = namespace
        try:
            transport: Any = Connection(self._url).get_transport_cls()
        except (KeyError, ImportError) as error:
            raise ConfigurationError(
                f"broker_url must begin with redis, unix, amqp or memory; {url.partition(':')[0]!r} came"
            ) from error
        self.driver: str = transport.driver_type
        """``redis``, ``amqp`` or ``memory``."""
        self.faults: tuple[type[Exception], ...] = (*transport.connection_errors, *transport.channel_errors, OSError)
        """What the transport raises when the broker does not do it."""
        self.place = sanitize_url(self._url)
        """The broker's URL without its password, for messages."""
        self.exchange = Exchange(Names(namespace).exchange, type="topic", durable=True)
        self._lock = threading.Lock()
        self._producer: Producer | None = None
        self._connection: Connection | None = None

    def publish(self, verdict: Verdict) -> None:
        """Tell the listeners a sealed verdict. Bounded, without a retry: the caller's sweep is the retry.

        Raises:
            DispatchError: the broker did not take or confirm it; listeners may have got it all the same.
            ContractError: the verdict is not sealed, so it is not to be told (I7).
        """
        if verdict.seq is None or not verdict.final:
            raise ContractError(f"only a sealed verdict is published; case {verdict.case_id} has no number yet")
        if not self._lock.acquire(timeout=PUBLISH_SECONDS):
            raise DispatchError(
                f"verdict {verdict.seq} was not published: {self.place} keeps others waiting; call again"
            )
        try:
            self._send(verdict)
        except self.faults as error:
            self._disconnect()
            raise DispatchError(
                f"verdict {verdict.seq} was not published on {self.place}: {_told(error)}; call again"
            ) from error
        finally:
            self._lock.release()

    def _send(self, verdict: Verdict) -> None:
        if self._producer is None:
            self._connection = self.connection(PUBLISH_SECONDS)
            self._producer = Producer(self._connection.channel(), exchange=self.exchange)
        self._producer.publish(
            verdict.model_dump_json(),
            routing_key=verdict.routing_key,
            content_type="application/json",
            content_encoding="utf-8",
            message_id=verdict.verdict_id,
            confirm_timeout=PUBLISH_SECONDS,
        )

    def listen(self, pattern: str) -> "Listener":
        """A plain consumer, bound when this returns: verdicts published from now on reach it.

        Raises:
            ContractError: the pattern is none.
            DispatchError: the broker cannot be reached.
        """
        return Listener(self, check_pattern(pattern))

    def sweep(self) -> int:
        """On Redis, trim plain consumers' queues and remove those of silent ones; how many went. Elsewhere nothing.

        Raises:
            DispatchError: Redis did not answer.
        """
        if self.driver != "redis":
            return 0
        try:
            with self.connection(PUBLISH_SECONDS) as connection, connection.channel() as channel:
                return self._sweep(channel)
        except self.faults as error:
            raise DispatchError(f"queues on {self.place} were not swept: {_told(error)}; call again") from error

    def _sweep(self, channel: Any) -> int:
        tables = [
            prefix % self.exchange.name for prefix in (channel.keyprefix_queue, channel.keyprefix_binding_permanent)
        ]
        removed = 0
        with channel.conn_or_acquire() as client:
            rows = [row.decode() for row in client.smembers(tables[0])]
            for name in sorted(member.decode() for member in client.smembers(self.subscribers_key)):
                keys = [self.subscribers_key, self.heartbeat_key(name), name, *tables]
                own = [row for row in rows if row.split(channel.sep)[-1] == name]
                removed += bool(client.eval(_SWEEP, len(keys), *keys, name, QUEUE_LIMIT, *own))
        return removed

    def new_queue_name(self) -> str:
        """A name that no other queue has."""
        return f"{self._namespace}.subscriber.{uuid.uuid4().hex}"

    @property
    def subscribers_key(self) -> str:
        """The Redis set of plain consumers' queues."""
        return f"{self._namespace}:subscribers"

    def heartbeat_key(self, queue: str) -> str:
        """The Redis key that says that a queue's consumer lives."""
        return f"{self._namespace}:subscriber:{queue}"

    def connection(self, seconds: float, heartbeat: int = 0) -> Connection:
        """A new open connection whose socket waits at most so long. One attempt: kombu's own would pause for 2 s."""
        options: dict[str, Any] = {}
        if self.driver == "redis":
            # The unacknowledged messages in this Redis are Celery's, to be restored by its rules; ours are never.
            options = {"socket_timeout": seconds, "socket_connect_timeout": CONNECT_SECONDS, "ack_emulation": False}
            options |= {"priority_steps": [0]}
        elif self.driver == "amqp":
            options = {"read_timeout": seconds, "write_timeout": seconds, "confirm_publish": True}
        elif self.driver == "memory":
            options = {"polling_interval": 0.01}
        connection = Connection(
            self._url, connect_timeout=CONNECT_SECONDS, heartbeat=heartbeat, transport_options=options
        )
        connection.ensure_connection(max_retries=0, interval_start=0, reraise_as_library_errors=False)
        return connection

    def _disconnect(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            connection.release()

    def close(self) -> None:
        """Close the connection for publishing."""
        with self._lock:
            self._disconnect()


class Listener:
    """A plain consumer's queue: verdicts, live, in the order published. For one thread; close it, or use ``with``.

    It survives the broker's absence, and a consumer that does not read for a minute loses what waits for it: verdicts
    are then missed, and a warning is logged. What is no verdict is dropped with a warning.
    """

    def __init__(self, topic: Topic, pattern: str) -> None:
        self.pattern = pattern
        self._topic = topic
        self.queue = topic.new_queue_name()
        """The queue's name."""
        self._connection: Connection | None = None
        self._channel: Any = None
        self._arrived: deque[Message] = deque()
        self._beat_at = 0.0
        self._closed = threading.Event()
        try:
            self._bind()
        except topic.faults as error:
            self._drop()
            raise DispatchError(f"cannot listen on {topic.place}: {_told(error)}; is the broker up?") from error

    def get(self, seconds: float) -> Verdict | None:
        """The next verdict, waiting for it at most so long; None if none came."""
        deadline = time.monotonic() + seconds
        while not self._closed.is_set():
            while self._arrived:
                verdict = self._read(self._arrived.popleft())
                if verdict is not None:
                    return verdict
            rest = deadline - time.monotonic()
            if rest <= 0:
                return None
            self._receive(min(rest, DRAIN_SECONDS))
        return None

    def nudge(self, seconds: float) -> bool:
        """Wait at most so long for a verdict; whether one came. Takes all that wait: they are in the ledger anyway."""
        came = self.get(seconds) is not None
        more = came
        while more:
            more = self.get(NO_WAIT_SECONDS) is not None
        return came

    def __iter__(self) -> Iterator[Verdict]:
        while not self._closed.is_set():
            verdict = self.get(DRAIN_SECONDS)
            if verdict is not None:
                yield verdict

    def stop(self) -> None:
        """End the iteration, from any thread, within a second."""
        self._closed.set()

    def close(self) -> None:
        """Remove the queue and close the connection."""
        self._closed.set()
        try:
            self._remove()
        except self._topic.faults as error:
            logger.info("queue %s was not removed (%s); the sweep does it", self.queue, _told(error))
        self._drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bind(self) -> Connection:
        topic, exchange = self._topic, self._topic.exchange
        on_amqp = topic.driver == "amqp"
        if on_amqp:
            self.queue = topic.new_queue_name()  # the broker may still hold the old one for the lost connection
        self._connection = topic.connection(LISTEN_SECONDS, heartbeat=HEARTBEAT_SECONDS)
        self._channel = self._connection.channel()
        self._beat()
        keys = [self.pattern] if on_amqp else _without_hashes(self.pattern)
        queue = Queue(
            self.queue,
            bindings=[binding(exchange, routing_key=key) for key in keys],
            durable=False,
            exclusive=on_amqp,
            auto_delete=on_amqp,
            max_length=QUEUE_LIMIT,
        )
        # Acknowledged on AMQP, so that the limit counts what a slow reader leaves; elsewhere the queue is the buffer.
        consumer = Consumer(
            self._channel,
            queues=[queue],
            no_ack=not on_amqp,
            on_message=self._arrived.append,
            prefetch_count=PREFETCH if on_amqp else None,
        )
        consumer.consume()
        return self._connection

    def _receive(self, seconds: float) -> None:
        try:
            connection = self._live()
            # A time-out in here says that no message came; one elsewhere is a fault.
            with suppress(TimeoutError):
                connection.drain_events(timeout=seconds)
        except (ValueError, TypeError, AttributeError) as error:  # bytes in our queue that kombu never put there
            logger.warning("dropped a message on %s that is no message: %s", self._topic.exchange.name, _told(error))
        except self._topic.faults as error:
            logger.warning("lost the broker %s: %s; trying again", self._topic.place, _told(error))
            self._drop()
            self._closed.wait(min(seconds, DRAIN_SECONDS))

    def _live(self) -> Connection:
        if self._connection is None:
            connection = self._bind()
            logger.warning("listening again on %s; verdicts since may be missed", self._topic.place)
            return connection
        if time.monotonic() - self._beat_at < BEAT_SECONDS or self._beat():
            return self._connection
        logger.warning("silent for over %d s; verdicts since were missed", HEARTBEAT_SECONDS)
        self._drop()
        return self._bind()

    def _beat(self) -> bool:
        """Say that the consumer lives; whether the last time was recent enough to have kept the queue."""
        self._beat_at = time.monotonic()
        if self._topic.driver == "redis":
            with self._channel.conn_or_acquire() as client:
                client.sadd(self._topic.subscribers_key, self.queue)
                key = self._topic.heartbeat_key(self.queue)
                return client.set(key, "1", ex=HEARTBEAT_SECONDS, get=True) is not None
        if self._topic.driver == "amqp" and self._connection is not None:
            self._connection.heartbeat_check()
        return True

    def _read(self, message: Message) -> Verdict | None:
        if self._topic.driver == "amqp":
            message.ack()
        try:
            verdict = Verdict.model_validate_json(message.body or b"")
        except ValidationError as error:
            logger.warning(
                "dropped a message on %s that is no verdict: %s", self._topic.exchange.name, error.errors()[0]["msg"]
            )
            return None
        return verdict if matches(self.pattern, verdict.routing_key) else None

    def _remove(self) -> None:
        # On AMQP an exclusive queue goes with its connection; to delete it first would break off the closing.
        if self._connection is None or self._topic.driver == "amqp":
            return
        self._channel.queue_delete(self.queue)
        if self._topic.driver == "redis":
            with self._channel.conn_or_acquire() as client:
                client.delete(self._topic.heartbeat_key(self.queue))

    def _drop(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        self._arrived.clear()
        if connection is not None:
            connection.release()


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _without_hashes(pattern: str) -> list[str]:
    """The pattern with and without each ``#``: kombu's matcher takes that for some text, so ``a.#`` misses ``a``."""
    choices = [("#", None) if word == "#" else (word,) for word in pattern.split(".")]
    kept = ([word for word in words if word is not None] for words in itertools.product(*choices))
    return sorted({".".join(words) for words in kept if words})
