"""What a worker and an aggregator share as processes: Celery's worker program, and the word that they are alive."""

import os
import threading
import warnings
from typing import Any, Literal
from uuid import uuid4

import structlog
from celery.exceptions import SecurityWarning
from celery.signals import setup_logging, worker_ready, worker_shutting_down

from tribunal.celery_app import TribunalApp
from tribunal.docket import ALIVE_MS, Docket
from tribunal.errors import StoreUnavailable

logger = structlog.get_logger(__name__)

STOP_S = 3.5
"""Seconds that a stop may take, from the signal to the end of the process."""


def serve(
    app: TribunalApp,
    *,
    role: str,
    queue: str,
    pool: Literal["solo", "threads"] = "solo",
    concurrency: int = 1,
) -> int:
    """Consume a queue until SIGTERM or SIGINT; returns the exit code.

    ``role`` (``judge:<name>``, ``aggregator``) with an id of this process is announced once it consumes, and withdrawn
    when it stops.
    """
    name = f"{role}:{os.getpid()}-{uuid4().hex[:8]}"
    stopping = threading.Event()

    # Kept alive by these names: Celery's signals hold receivers weakly.
    def own_logging(**_: Any) -> None:
        """A receiver of this signal keeps Celery from configuring logging."""

    def ready(**_: Any) -> None:
        threading.Thread(target=_announce, args=(app.docket, name, stopping), daemon=True).start()
        logger.info("ready", role=role, queue=queue)

    # About root and pickle; only JSON is accepted here, and a container's one user may be root.
    warnings.filterwarnings("ignore", category=SecurityWarning)

    def stopping_soon(**_: Any) -> None:
        """A stop that waits for a broker, a store or a judge that hangs ends all the same: nothing is lost by it."""
        limit = threading.Timer(STOP_S, os._exit, (0,))
        limit.daemon = True
        limit.start()

    worker_shutting_down.connect(stopping_soon)
    setup_logging.connect(own_logging)
    worker_ready.connect(ready)
    worker = app.Worker(
        hostname=f"{name}@{os.uname().nodename}",
        queues=[queue],
        pool=pool,
        concurrency=concurrency,
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        task_events=False,
        beat=False,
    )
    try:
        worker.start()
    finally:
        stopping.set()
        try:
            app.docket.withdraw(name)
        except StoreUnavailable as error:
            logger.warning("not withdrawn", error=str(error))
    return worker.exitcode or 0


def _announce(docket: Docket, name: str, stopping: threading.Event) -> None:
    while True:
        try:
            docket.announce(name)
        except StoreUnavailable as error:
            logger.warning("not announced", error=str(error))
        if stopping.wait(ALIVE_MS / 3000):
            return
