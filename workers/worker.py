"""A worker: one process that consumes one judge's queue."""

import structlog

from tribunal.celery_app import make_app
from tribunal.config import load_catalogue
from tribunal.docket import Docket
from tribunal.errors import ConfigurationError, did_you_mean
from tribunal.local.running import running_settings
from tribunal.service import serve
from tribunal.settings import Settings
from workers.process import JudgeProcess
from workers.task import Runner, register
from workers.waiting import WaitingJudge

logger = structlog.get_logger(__name__)

WAITING_CONCURRENCY = 8
"""How many cases at once, by default, for a judge that waits (an ``async`` function)."""


def run_worker(settings: Settings, judge_name: str, *, concurrency: int | None = None) -> int:
    """Consume a judge's queue until told to stop; returns the exit code.

    A plain function judges one case at a time, in a process of its own: start more workers for more at once. An
    ``async`` one judges ``concurrency`` cases at once.

    Raises:
        ConfigurationError: no such judge, it cannot be imported, or the settings name no Redis.
    """
    settings = running_settings(settings)
    judges = load_catalogue(settings.config_path).judges
    if judge_name not in judges:
        raise ConfigurationError(f'unknown judge "{judge_name}"{did_you_mean(judge_name, judges)}')
    judge = judges[judge_name]
    folder = str(settings.config_path.parent) if settings.config_path else None
    process = JudgeProcess(judge.function, folder)
    process.start()
    runner: Runner = process
    if process.asynchronous:
        process.kill()
        runner = WaitingJudge(judge.function, folder)
    elif concurrency not in (None, 1):
        raise ConfigurationError(
            f"judge {judge_name} is a plain function and judges one case at a time; start {concurrency} workers "
            "instead of one with a concurrency, or make it async"
        )
    docket = Docket(str(settings.redis_url), namespace=settings.namespace)
    app = make_app(settings, docket)
    register(app, settings, judge, runner)
    try:
        return serve(
            app,
            role=f"judge:{judge_name}",
            queue=docket.names.queue(judge_name),
            pool="threads" if process.asynchronous else "solo",
            concurrency=(concurrency or WAITING_CONCURRENCY) if process.asynchronous else 1,
        )
    finally:
        process.kill()
        docket.close()
