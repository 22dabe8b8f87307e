"""An aggregator: one process that turns votes into verdicts and keeps the deadlines."""

from collections.abc import Iterable

import structlog

from aggregation.courier import Courier
from aggregation.keeper import Keeper
from aggregation.outbox import Outbox
from aggregation.settle import Settler
from tribunal.celery_app import make_app
from tribunal.config import load_catalogue
from tribunal.docket import Docket
from tribunal.errors import ConfigurationError, NotFound, StoreUnavailable
from tribunal.ledger import Ledger
from tribunal.local.running import running_settings
from tribunal.model import VoteStatus
from tribunal.panels import Panel
from tribunal.service import serve
from tribunal.settings import Settings
from tribunal.topic import Topic
from tribunal.wire import AGGREGATE_TASK

logger = structlog.get_logger(__name__)

BATCH = 100


def run_aggregator(settings: Settings) -> int:
    """Consume the aggregation queue and keep the deadlines until told to stop; returns the exit code.

    Raises:
        ConfigurationError: a setting, a panel or the ledger is wrong.
        StoreUnavailable: Redis or the ledger is away at the start; start it again.
    """
    settings = running_settings(settings)
    panels = load_catalogue(settings.config_path).panels.values()
    broker = settings.effective_broker_url
    if broker is None:
        raise ConfigurationError("no broker is configured")
    try:
        settings.output_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"output_dir {settings.output_dir} cannot be used: {error}; audit files go there, name a folder to write to"
        ) from error
    ledger = Ledger(settings.effective_ledger_url)
    ledger.migrate()
    docket = Docket(str(settings.redis_url), namespace=settings.namespace)
    app = make_app(settings, docket)
    topic = Topic(broker, settings.namespace)
    outbox = Outbox(ledger, topic, settings.output_dir)

    def republish() -> None:
        if not docket.published():
            logger.warning("Redis has no panels; publishing them, and the lineages, again")
            publish(docket, ledger, panels)

    courier = Courier(republish, outbox.sweep, lambda: record_late(docket, ledger), topic.sweep)
    settler = Settler(docket, ledger, outbox, app.dispatcher, courier.post)
    keeper = Keeper(app, settler, courier)

    @app.task(name=AGGREGATE_TASK)
    def aggregate(case_id: str, hint: int | None = None) -> None:
        try:
            settler.settle(case_id, hint)
        except StoreUnavailable as error:
            logger.warning("not settled; the keeper will", case_id=case_id, error=str(error))

    publish(docket, ledger, panels)
    # Before anything consumes: no broker is needed to keep a deadline.
    courier.start()
    keeper.start()
    try:
        return serve(app, role="aggregator", queue=docket.names.aggregation)
    finally:
        keeper.stop()
        courier.stop()
        topic.close()
        ledger.close()
        docket.close()


def publish(docket: Docket, ledger: Ledger, panels: Iterable[Panel]) -> None:
    """Put into Redis what clients read there: the lineages, from the ledger, and the panels."""
    for line in ledger.lineages():
        round_, run, routine = (line.facts.get(name) for name in ("round", "run", "routine"))
        unfinished = line.outcome in ("needs_revision", "escalate") and not line.reopened
        if unfinished and isinstance(round_, int) and isinstance(run, int):
            docket.restore_lineage(line.lineage, line.case_id, line.outcome, round_, run, f"{line.panel}/{routine}")
    docket.publish_panels(panels)


def record_late(docket: Docket, ledger: Ledger) -> None:
    """Move late votes to the ledger, beside the verdict that they came too late for (I2)."""
    for raw, case_id, stage, vote in docket.late(BATCH):
        try:
            ledger.add_late(case_id, stage, vote.model_copy(update={"status": VoteStatus.LATE}))
        except NotFound:
            docket.postpone_late(raw)  # its case is not sealed yet; behind the others
        else:
            docket.forget_late(raw)
