"""A real court for tests: Valkey or Redis, workers and aggregators as processes, to be killed at will."""

import os
import signal
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import copy
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import psycopg
import redis
from kombu import Connection

from tribunal.client import Client
from tribunal.local.child import Child
from tribunal.local.valkey import await_valkey, valkey
from tribunal.model import Verdict
from tribunal.settings import Settings, load_settings
from tribunal.wire import Names

POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"
RABBITMQ = "amqp://guest:guest@127.0.0.1:5672//"
REDIS = "redis://127.0.0.1:6379/0"
JUDGES = Path(__file__).with_name("court_judges.py")
CONFIG = """
[judges]
fine = { function = "court_judges:fine" }
fine-waiting = { function = "court_judges:fine_waiting" }
slow = { function = "court_judges:slow" }
slow-waiting = { function = "court_judges:slow_waiting" }
misbehaving = { function = "court_judges:misbehaving" }
reviewer = { function = "court_judges:reviewer" }
vetoing = { function = "court_judges:vetoing" }
reading = { function = "court_judges:reading" }

[panels.quick]
procedure = "recommendation"
answer_within = 4
seats = [{ name = "one", judge = "fine", timeout = 3 }, { name = "two", judge = "fine-waiting", timeout = 3 }]

[panels.slow]
procedure = "recommendation"
answer_within = 12
seats = [{ name = "one", judge = "fine", timeout = 11 }, { name = "slow", judge = "slow", timeout = 11 }]

[panels.waiting]
procedure = "recommendation"
answer_within = 3
seats = [{ name = "one", judge = "fine", timeout = 2 }, { name = "slow", judge = "slow-waiting", timeout = 1 }]

[panels.misbehaving]
procedure = "recommendation"
answer_within = 6
seats = [{ name = "one", judge = "fine", timeout = 5 }, { name = "bad", judge = "misbehaving", timeout = 2 }]

[panels.early]
procedure = "recommendation"
answer_within = 20
seats = [{ name = "no", judge = "vetoing", timeout = 19 }, { name = "slow", judge = "slow", timeout = 19 }]

[panels.reading]
procedure = "recommendation"
answer_within = 4
seats = [{ name = "reader", judge = "reading", timeout = 3 }]

[panels.review]
procedure = "routine-review"
answer_within = 15
stage_share = 8
seats = [
  { name = "mimir", judge = "reviewer", timeout = 8 },
  { name = "forseti", judge = "reviewer", timeout = 8 },
  { name = "thor", judge = "reviewer", timeout = 10, stage = 2 },
]
"""


class Court:
    """Processes over one Redis and one ledger, below one folder. Close it by its ``stack``."""

    def __init__(self, folder: Path, stack: ExitStack, **settings: Any) -> None:
        self.folder = folder
        (folder / "tribunal.toml").write_text(CONFIG, encoding="utf-8")
        copy(JUDGES, folder)
        self._stack = stack
        self.valkey: Child | None = None
        if "redis_url" not in settings:
            self.valkey, settings["redis_url"] = valkey(folder / "valkey", folder, folder / "valkey.log")
            self.valkey.start()
            stack.callback(lambda: self.end(self.valkey))
            await_valkey(self.valkey, settings["redis_url"])
        else:
            settings["wait_aof_ms"] = "0"
        self.settings: Settings = load_settings(folder / "tribunal.toml", **settings)
        self.client = Client(self.settings)
        stack.callback(self.client.close)

    def end(self, child: Child | None) -> None:
        """Stop a process."""
        if child is not None:
            child.ask_to_stop()
            child.stop(time.monotonic() + 5)

    def start(self, module: str, *arguments: str, fault: str | None = None, once: bool = True) -> Child:
        """Start a worker (``workers``, judge) or an aggregator (``aggregation``); wait with :meth:`ready`."""
        name = "-".join((module, *arguments))
        environment: dict[str, str] = {**os.environ, **self.settings.environment()}
        if fault:
            environment["TRIBUNAL_FAULT"] = fault
            if once:
                environment["TRIBUNAL_FAULT_ONCE"] = str(self.folder / f"fault-{fault}")
        command = [sys.executable, "-P", "-m", module, *arguments]
        child = Child(name, command, environment, self.folder / f"{name}.log")
        child.start()
        self._stack.callback(lambda: self.end(child))
        return child

    def ready(self, *roles: str) -> None:
        """Wait until the processes of those roles (``judge:<name>``, ``aggregator``) consume."""
        wanted = list(roles)

        def all_there() -> bool:
            alive = [member.rpartition(":")[0] for member in self.client.docket.alive()]
            return all(alive.count(role) >= wanted.count(role) for role in wanted)

        self.until(all_there, 30)

    def serve(self, *judges: str) -> None:
        """Start an aggregator and a worker of each judge, and wait until they consume."""
        self.start("aggregation")
        for judge in judges:
            self.start("workers", judge)
        self.ready("aggregator", *(f"judge:{judge}" for judge in judges))

    def until(self, condition: Callable[[], object], seconds: float) -> None:
        """Wait until the condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                logs = "\n".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in self.folder.glob("*.log"))
                raise AssertionError(f"not within {seconds} s\n{logs}")
            time.sleep(0.02)

    def kill(self, child: Child) -> None:
        """SIGKILL a process."""
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        self.until(child.died, 5)

    def verdict(self, case_id: str, seconds: float = 20) -> Verdict:
        """The sealed verdict of a case."""
        return self.client.wait(case_id, timeout=seconds)


def statuses(verdict: Verdict, stage: int = 1) -> Mapping[str, str]:
    """What became of each seat of a stage."""
    found = next(past for past in verdict.history if past.stage == stage)
    return {vote.seat: vote.status.value for vote in found.votes}


@contextmanager
def court_in(folder: Path, **settings: Any) -> Iterator[Court]:
    """A court below a folder, gone at the end."""
    with ExitStack() as stack:
        yield Court(folder, stack, **settings)


@contextmanager
def served_by(kind: str) -> Iterator[dict[str, str]]:
    """The settings of a store and a broker of that kind, in a corner of their own that is emptied at the end.

    ``embedded`` is Valkey and SQLite; ``services`` is Redis 7 and PostgreSQL; ``rabbitmq`` is Valkey, SQLite and
    RabbitMQ as the broker.
    """
    namespace = f"test{uuid4().hex[:12]}"
    if kind == "embedded":
        yield {"namespace": namespace}
    elif kind == "services":
        with psycopg.connect(POSTGRES, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {namespace}".encode())
            try:
                yield {
                    "namespace": namespace,
                    "redis_url": REDIS,
                    "ledger_url": f"{POSTGRES}?options={quote(f'-csearch_path={namespace}')}",
                }
            finally:
                connection.execute(f"DROP SCHEMA {namespace} CASCADE".encode())
                with redis.Redis.from_url(REDIS) as client:
                    for key in client.scan_iter(f"*{namespace}*"):
                        client.delete(key)
    else:
        try:
            yield {"namespace": namespace, "broker_url": RABBITMQ}
        finally:
            names = Names(namespace)
            with Connection(RABBITMQ) as broker:
                for queue in [names.aggregation, *(names.queue(judge) for judge in tomllib.loads(CONFIG)["judges"])]:
                    channel: Any = broker.channel()
                    channel.queue_delete(queue)
                    channel.exchange_delete(queue)
                    channel.close()
                channel = broker.channel()
                channel.exchange_delete(names.exchange)
