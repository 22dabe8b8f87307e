"""Logging of a service process: one line an event on standard error, JSON where nobody watches a terminal."""

import logging
import sys
from typing import Any

import structlog


def configure_logging(level: str = "info", **bound: Any) -> None:
    """Send structlog and the standard library's loggers to standard error, with ``bound`` on every line."""
    terminal = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        lambda _logger, _method, event: {**bound, **event},
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(ensure_ascii=False)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Celery logs each task at INFO, with its arguments; the steps of a case are logged by Tribunal itself.
    for name in ("celery", "kombu", "amqp", "alembic"):
        logging.getLogger(name).setLevel("WARNING")
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
