"""An aggregator: one process that turns votes into verdicts and keeps the deadlines."""

from typing import Any

import structlog

from aggregation.keeper import Keeper
from aggregation.outbox import Outbox
from aggregation.settle import Settler
from tribunal.celery_app import make_app
from tribunal.config import load_catalogue
from tribunal.docket import Docket
from tribunal.errors import ConfigurationError, StoreUnavailable
from tribunal.ledger import Ledger
from tribunal.local.running import running_settings
from tribunal.service import serve
from tribunal.settings import Settings
from tribunal.topic import Topic
from tribunal.wire import AGGREGATE_TASK

logger = structlog.get_logger(__name__)


def run_aggregator(settings: Settings) -> int:
    """Consume the aggregation queue and keep the deadlines until told to stop; returns the exit code.

    Raises:
        ConfigurationError: a setting, a panel or the ledger is wrong.
        StoreUnavailable: Redis or the ledger is away at the start; start it again.
    """
    settings = running_settings(settings)
    catalogue = load_catalogue(settings.config_path)
    broker = settings.effective_broker_url
    if broker is None:
        raise ConfigurationError("no broker is configured")
    ledger = Ledger(settings.effective_ledger_url)
    ledger.migrate()
    docket = Docket(str(settings.redis_url), namespace=settings.namespace)
    app = make_app(settings, docket)
    outbox = Outbox(ledger, Topic(broker, settings.namespace), settings.output_dir)
    settler = Settler(docket, ledger, outbox, app.dispatcher)
    keeper = Keeper(app, settler)

    @app.task(name=AGGREGATE_TASK)
    def aggregate(case_id: str, hint: int | None = None) -> None:
        try:
            settler.settle(case_id, hint)
        except StoreUnavailable as error:
            logger.warning("not settled; the keeper will", case_id=case_id, error=str(error))

    restore(docket, ledger)
    docket.publish_panels(catalogue.panels.values())
    try:
        return serve(app, role="aggregator", queue=docket.names.aggregation, on_ready=keeper.start)
    finally:
        keeper.stop()
        outbox.topic.close()
        ledger.close()
        docket.close()


def restore(docket: Docket, ledger: Ledger) -> None:
    """Rebuild the lineages in Redis from the ledger."""

    def rows() -> Any:
        for line in ledger.lineages():
            round_, run = line.facts.get("round"), line.facts.get("run")
            if not line.reopened and isinstance(round_, int) and isinstance(run, int):
                yield line.lineage, line.case_id, line.outcome, round_, run

    docket.restore_lineages(rows())
