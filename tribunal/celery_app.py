"""The one place that knows Celery's configuration and its warts."""

from typing import TYPE_CHECKING, Any, Final

import structlog
from celery import Celery, chord
from kombu.exceptions import OperationalError

from tribunal.docket import Dispatch, Docket
from tribunal.errors import ConfigurationError, DispatchError
from tribunal.topic import kombu_url
from tribunal.wire import AGGREGATE_TASK, JUDGE_TASK, SEND_HEADER, Names, send_id, task_id

if TYPE_CHECKING:
    from tribunal.settings import Settings

logger = structlog.get_logger(__name__)

BROKER_TIMEOUT: Final = 1.0
"""Seconds to connect to the broker, to wait for a pooled connection, and to write."""

CONFIGURATION: Final = {
    "accept_content": ["json"],
    "task_serializer": "json",
    "result_serializer": "json",
    # The docket records votes from the backend's mark_as_done, which is called for ignored results as well.
    "task_ignore_result": True,
    "result_backend_thread_safe": True,
    # Early: a lost message is the keeper's to send again; a 5.7 worker exits when its broker goes while one is unacked.
    "task_acks_late": False,
    "worker_prefetch_multiplier": 1,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_enable_remote_control": False,
    "worker_send_task_events": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_connection_timeout": BROKER_TIMEOUT,
    "broker_pool_acquire_timeout": BROKER_TIMEOUT,
    # A solo worker does not read its connection while a judge thinks; leases tell who is gone.
    "broker_heartbeat": 0,
    "task_publish_retry": True,
    "task_publish_retry_policy": {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0},
    "task_create_missing_queues": True,
    "task_store_errors_even_if_ignored": False,
    "enable_utc": True,
}
REDIS_TRANSPORT: Final = {
    "priority_steps": [0],
    "socket_connect_timeout": BROKER_TIMEOUT,
    # Above the second that a worker's blocking pop lasts.
    "socket_timeout": 2.0,
    "socket_keepalive": True,
    "visibility_timeout": 3600,
}
AMQP_TRANSPORT: Final = {
    "confirm_publish": True,
    "connect_timeout": BROKER_TIMEOUT,
    # A broker that is stopped, or blocks its publishers, must not hold them for ever.
    "read_timeout": 5.0,
    "write_timeout": 5.0,
}


class TribunalApp(Celery):
    """A Celery app that knows its docket and how cases are sent."""

    docket: Docket
    dispatcher: "Dispatcher"
    names: Names


def make_app(settings: "Settings", docket: Docket) -> TribunalApp:
    """The app of one installation; not made the current app, so that a host program keeps its own.

    Raises:
        ConfigurationError: no broker is configured.
    """
    broker = settings.effective_broker_url
    if broker is None:
        raise ConfigurationError("no broker: set redis_url (or TRIBUNAL_REDIS_URL), or start `tribunal up`")
    app = TribunalApp(
        "tribunal",
        broker=kombu_url(broker),
        backend=f"tribunal.docket.backend:DocketBackend+{docket.url}",
        set_as_current=False,
        fixups=[],
    )
    options = AMQP_TRANSPORT if broker.startswith(("amqp", "pyamqp")) else REDIS_TRANSPORT
    app.conf.update(CONFIGURATION, broker_transport_options=options)
    app.docket = docket
    app.names = docket.names
    app.dispatcher = Dispatcher(app)
    return app


class Dispatcher:
    """Sends the tasks of a case. Ids only: the case itself lies in the docket (claim check)."""

    def __init__(self, app: TribunalApp) -> None:
        self._app = app

    def _seat(self, case_id: str, stage: int, seat: str, judge: str, sent: int) -> Any:
        return self._app.signature(
            JUDGE_TASK,
            args=(case_id, stage, seat),
            immutable=True,
            options={
                "task_id": task_id(case_id, stage, seat),
                "queue": self._app.names.queue(judge),
                "headers": {SEND_HEADER: send_id(sent)},
            },
        )

    def _body(self, case_id: str, hint: int | None = None) -> Any:
        return self._app.signature(
            AGGREGATE_TASK, args=(case_id, hint), immutable=True, options={"queue": self._app.names.aggregation}
        )

    def stage(self, case_id: str, stage: int, dispatch: Dispatch) -> None:
        """Send a stage's chord: a header task for each seat, the aggregator as body.

        Raises:
            DispatchError: the broker did not take it; what is missing is sent again by the keeper.
        """
        header = [self._seat(case_id, stage, seat, judge, dispatch.sent) for seat, judge in dispatch.seats]
        self._send(lambda: chord(header, app=self._app)(self._body(case_id), task_id=f"{case_id}:{stage}"), case_id)

    def seat(self, case_id: str, stage: int, seat: str, judge: str, sent: int) -> None:
        """Send one seat's task again, under the same task id.

        Raises:
            DispatchError: the broker did not take it.
        """
        signature = self._seat(case_id, stage, seat, judge, sent)
        self._send(lambda: signature.apply_async(chord=self._body(case_id)), case_id)

    def aggregate(self, case_id: str, hint: int | None = None) -> None:
        """Call the aggregator, by best effort: where the broker fails, the keeper comes a second later."""
        self.publish(self._body(case_id, hint))

    def publish(self, body: Any) -> None:
        """Publish a chord's body, by best effort."""
        try:
            body.apply_async()
        except (OperationalError, OSError) as error:
            logger.warning("aggregator not called; the keeper will", error=str(error))

    def _send(self, send: Any, case_id: str) -> None:
        try:
            send()
        except (OperationalError, OSError) as error:
            raise DispatchError(
                f"the broker did not take the tasks of case {case_id} ({error}); "
                "it is open and gets its verdict by its deadline: wait for it, do not submit it again"
            ) from error
