"""`tribunal up`: everything that a case needs, on this machine, until told to stop."""

import fcntl
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from tribunal.config import load_catalogue
from tribunal.docket import Docket
from tribunal.errors import ConfigurationError, StoreUnavailable, TribunalError, did_you_mean
from tribunal.local.child import Child
from tribunal.local.running import RUNNING_FILE, Running, process_started, read_running, write_running
from tribunal.local.siblings import sibling_command
from tribunal.local.valkey import await_valkey, valkey
from tribunal.panels import Catalogue
from tribunal.settings import Settings

USABLE_S: Final = 60.0
"""Seconds that workers and aggregator may take to start."""
STOP_S: Final = 4.0
"""Seconds between SIGTERM and SIGKILL."""
_LOOK_S: Final = 0.1

Say = Callable[[str], None]


class Ensemble:
    """Valkey, the workers and an aggregator, as processes of this one. Use as a context manager."""

    def __init__(self, settings: Settings, state: Path, judges: Mapping[str, int], say: Say) -> None:
        """``state``: Valkey's data, its socket and the logs. ``judges``: how many workers of each."""
        self._say = say
        self._judges = judges
        logs = state / "logs"
        logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._valkey: Child | None = None
        if settings.redis_url is None:
            self._valkey, url = valkey(state / "valkey", state, logs / "valkey.log")
            settings = settings.model_copy(update={"redis_url": url})
        settings = settings.model_copy(update={"ledger_url": settings.effective_ledger_url})
        self.settings = settings
        environment = {**os.environ, **settings.environment()}
        self._services = [
            Child("aggregator", sibling_command("aggregation"), environment, logs / "aggregator.log"),
            *(
                Child(
                    f"judge {name}", sibling_command("workers", name), environment, logs / f"judge-{name}-{number}.log"
                )
                for name, count in judges.items()
                for number in range(1, count + 1)
            ),
        ]
        self._docket = Docket(str(settings.redis_url), namespace=settings.namespace)

    def __enter__(self) -> "Ensemble":
        try:
            if self._valkey is not None:
                self._valkey.start()
                await_valkey(self._valkey, str(self.settings.redis_url))
                self._say(f"{'valkey':<26} pid {self._valkey.pid}, {self.settings.redis_url}")
            for service in self._services:
                service.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def await_usable(self, stopping: threading.Event) -> None:
        """Wait until every worker and the aggregator consume their queues.

        Raises:
            ConfigurationError: one of them ended by a fault that starting it again does not mend.
            StoreUnavailable: they did not get ready in time.
        """
        until = time.monotonic() + USABLE_S
        wanted = {f"judge:{name}": count for name, count in self._judges.items()} | {"aggregator": 1}
        while not stopping.is_set():
            # Ours only: Valkey still knows those of an `up` that was killed a moment ago.
            own = {str(service.pid) for service in self._services}
            members = [member.rpartition(":") for member in self._docket.alive()]
            alive = [role for role, _, process in members if process.partition("-")[0] in own]
            missing = [role for role, count in wanted.items() if alive.count(role) < count]
            if not missing:
                return
            for service in self._services:
                if service.died():
                    raise ConfigurationError(f"{service.name} ended while it started:\n{service.tail()}")
            if time.monotonic() > until:
                raise StoreUnavailable(f"not ready after {USABLE_S:g} s: {', '.join(missing)}")
            stopping.wait(0.02)

    def look(self) -> None:
        """Restart what died, and say so."""
        for child in (*([self._valkey] if self._valkey else []), *self._services):
            said = child.look()
            if said:
                self._say(said)

    def stop(self) -> None:
        """Stop all: workers and aggregator first, then Valkey, so that nothing is cut off from its store."""
        until = time.monotonic() + STOP_S
        for service in self._services:
            service.ask_to_stop()
        for service in self._services:
            service.stop(until)
        self._docket.close()
        if self._valkey is not None:
            self._valkey.ask_to_stop()
            self._valkey.stop(time.monotonic() + STOP_S)

    def services(self) -> Iterable[Child]:
        """The workers and the aggregator."""
        return tuple(self._services)


def up(settings: Settings, *, workers: Mapping[str, int] | None = None, fresh: bool = False, say: Say = print) -> int:
    """Run everything until SIGINT or SIGTERM; returns the exit code.

    ``workers`` gives judges more than one worker; ``fresh`` forgets the state of earlier runs first, ledger included.

    Raises:
        ConfigurationError: a configuration is wrong.
        TribunalError: another `up` runs in this folder; the message says where.
    """
    catalogue = load_catalogue(settings.config_path)
    judges = _counts(catalogue, workers or {})
    state = settings.state_dir
    _make(state)
    with _alone(state):
        if fresh:
            _forget(state)
        known = (state / "valkey").exists() or any(state.glob("ledger.db"))
        stopping = threading.Event()
        with _signals(stopping), Ensemble(settings, state, judges, say) as ensemble:
            for service in ensemble.services():
                say(f"{service.name:<26} pid {service.pid}")
            ensemble.await_usable(stopping)
            write_running(
                state,
                Running(
                    pid=os.getpid(),
                    started=process_started(os.getpid()) or 0,
                    redis_url=str(ensemble.settings.redis_url),
                    broker_url=ensemble.settings.broker_url,
                    ledger_url=str(ensemble.settings.ledger_url),
                    namespace=ensemble.settings.namespace,
                ),
            )
            try:
                if not stopping.is_set():
                    history = "state of an earlier run kept" if known else "fresh state"
                    say(f"usable: {len(catalogue.panels)} panels, {len(judges)} judges; state in {state} ({history})")
                    say("stop with Ctrl-C; in another terminal: tribunal judge recommendation draft.md")
                while not stopping.wait(_LOOK_S):
                    ensemble.look()
            finally:
                (state / RUNNING_FILE).unlink(missing_ok=True)
        say("stopped")
    return 0


@contextmanager
def private(settings: Settings, panel: str) -> Generator[Settings]:
    """The same for one case: its own Valkey in a temporary folder, the panel's judges, the ledger of this folder.

    Raises:
        ConfigurationError: the panel is unknown or a configuration is wrong.
    """
    catalogue = load_catalogue(settings.config_path)
    if panel not in catalogue.panels:
        raise ConfigurationError(f'unknown panel "{panel}"{did_you_mean(panel, catalogue.panels)}')
    seated = {seat.judge for seat in catalogue.panels[panel].seats}
    judges = {name: 1 for name in catalogue.judge_names() if name in seated}
    _make(settings.state_dir)
    state = Path(tempfile.mkdtemp(prefix="tribunal-"))
    try:
        with Ensemble(settings, state, judges, lambda _: None) as ensemble:
            ensemble.await_usable(threading.Event())
            yield ensemble.settings
    finally:
        shutil.rmtree(state, ignore_errors=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise ConfigurationError(
            f"state_dir {folder} cannot be used: {error}; name a folder that you may write"
        ) from error


def _counts(catalogue: Catalogue, workers: Mapping[str, int]) -> dict[str, int]:
    judges = catalogue.judge_names()
    for name, count in workers.items():
        if name not in judges:
            raise ConfigurationError(f'unknown judge "{name}"{did_you_mean(name, judges)}')
        if not 1 <= count <= 64:
            raise ConfigurationError(f"workers of judge {name}: 1 to 64 expected; {count} came")
    return {name: workers.get(name, 1) for name in judges}


@contextmanager
def _alone(state: Path) -> Generator[None]:
    """Hold the folder's lock. The kernel lets it go when this process ends, however it ends."""
    descriptor = os.open(state / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            first = read_running(state)
            where = f"pid {first.pid}, {first.redis_url}" if first else "it is still starting"
            raise TribunalError(
                f"`tribunal up` already runs in {state.parent} ({where}); stop that one first"
            ) from error
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _signals(stopping: threading.Event) -> Generator[None]:
    """Turn SIGINT and SIGTERM into ``stopping``."""

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in kept:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _forget(state: Path) -> None:
    shutil.rmtree(state / "valkey", ignore_errors=True)
    for path in state.glob("ledger.db*"):
        path.unlink()
