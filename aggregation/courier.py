"""The courier: a thread in every aggregator for all that may wait on a broker or a disk.

The keeper and the aggregator's task hand it their errands, so that a broker that hangs delays no seal. What it loses,
by dying or because too much waits, is made good: the sweep publishes and exports, the keeper sends a seat again.
"""

import queue
import threading
import time
from collections.abc import Callable

import structlog

from tribunal.errors import TribunalError

logger = structlog.get_logger(__name__)

Errand = Callable[[], object]

LIMIT = 1000
"""Errands that may wait; more are dropped."""
SWEEP_S = 1.0
STOP_S = 2.0
"""How long a stop waits for what is under way."""


class Courier:
    """Runs errands in order, and each of ``sweeps`` once a second; a fault of one ends none of the others."""

    def __init__(self, *sweeps: Errand) -> None:
        self._sweeps = sweeps
        self._errands: queue.Queue[Errand] = queue.Queue(LIMIT)
        self._dropped = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tribunal-courier", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def post(self, errand: Errand) -> bool:
        """Have an errand run soon; False where too many wait: it is dropped."""
        try:
            self._errands.put_nowait(errand)
        except queue.Full:
            self._dropped += 1
            return False
        return True

    def stop(self) -> None:
        """Run what waits, within two seconds, then stop."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def _run(self) -> None:
        swept = time.monotonic()
        while True:
            try:
                self._guarded(self._errands.get(timeout=0.1))
            except queue.Empty:
                if self._stopping.is_set():
                    return
            if time.monotonic() - swept >= SWEEP_S and not self._stopping.is_set():
                if self._dropped:
                    logger.warning("too much waits for the broker; left to the sweep", dropped=self._dropped)
                    self._dropped = 0
                for sweep in self._sweeps:
                    self._guarded(sweep)
                swept = time.monotonic()

    def _guarded(self, errand: Errand) -> None:
        try:
            errand()
        except TribunalError as error:
            logger.warning("left for later", error=str(error))
        except Exception:
            # An errand that nobody thought of must not stop those behind it.
            logger.exception("an errand failed")
