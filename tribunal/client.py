"""What other people's code imports: submit, wait, follow, judge, subscribe. ``AsyncClient`` is the same for asyncio."""

import itertools
import json
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from types import TracebackType
from typing import Self, TypeVar

import structlog
from pydantic import JsonValue, ValidationError

from tribunal.celery_app import TribunalApp, make_app
from tribunal.config import load_catalogue
from tribunal.docket import Docket, Event, Opened, Plan
from tribunal.errors import (
    ConfigurationError,
    Conflict,
    ContractError,
    DispatchError,
    NotFound,
    StillOpen,
    StoreUnavailable,
    did_you_mean,
)
from tribunal.faults import fault_point
from tribunal.ledger import Ledger
from tribunal.ledger.subscriptions import DurableSubscription, tail
from tribunal.lineage import lineage_of
from tribunal.local.running import running_settings
from tribunal.model import Answered, Case, Context, Verdict, new_case_id
from tribunal.panels import Catalogue, Panel
from tribunal.procedures import procedure_named
from tribunal.provisional import Reason, provisional
from tribunal.settings import Settings, load_settings
from tribunal.topic import Listener, Topic, check_pattern

logger = structlog.get_logger(__name__)
_T = TypeVar("_T")

SLACK = 0.15
"""Seconds that ``judge()`` answers before ``answer_within``: a blocking read returns up to 0.1 s late."""
AGAIN_S = 0.1
"""Seconds between two tries of ``judge()`` to reach Redis."""
SHORTEST = 3.0
"""Seconds: the ``answer_within`` assumed of a panel that neither Redis nor a configuration here tells of."""
STOP_S = 0.5
"""Seconds: how soon a plain subscription notices that it shall stop."""
FOREVER = 10 * 365 * 86_400.0


class Client:
    """A producer's way in. Thread-safe; close it, or use it as a context manager.

    Without ``settings`` it takes ``tribunal.toml``, the environment, and the ``tribunal up`` that runs in this folder.

    Raises:
        ConfigurationError: no Redis is configured and no `tribunal up` runs here.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = running_settings(settings or load_settings())
        url = self.settings.redis_url
        if url is None:
            raise ConfigurationError("redis_url is not set")
        self.docket = Docket(url, namespace=self.settings.namespace, wait_aof_ms=self.settings.wait_aof_ms)
        self._plans: dict[str, Plan] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        opened = vars(self)
        if "app" in opened:
            self.app.close()
        if "ledger" in opened:
            self.ledger.close()
        if "topic" in opened:
            self.topic.close()
        self.docket.close()

    @cached_property
    def app(self) -> TribunalApp:
        """The Celery app that sends the judges' tasks."""
        return make_app(self.settings, self.docket)

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger, for verdicts that the docket no longer holds and for durable subscriptions."""
        return Ledger(self.settings.effective_ledger_url)

    @cached_property
    def topic(self) -> Topic:
        """The topic that verdicts are published on."""
        broker = self.settings.effective_broker_url
        if broker is None:
            raise ConfigurationError("no broker is configured")
        return Topic(broker, self.settings.namespace)

    def panel(self, name: str) -> Panel:
        """The panel as the aggregators published it.

        Raises:
            ContractError: there is none of that name.
        """
        return self._plan(name).panel

    def _plan(self, name: str) -> Plan:
        if name not in self._plans:
            self._plans[name] = self.docket.plan(name)
        return self._plans[name]

    def case(
        self,
        panel: str,
        subject: str,
        context: Context | Mapping[str, JsonValue] | None = None,
        case_id: str | None = None,
    ) -> Case:
        """A checked case.

        Raises:
            ContractError: naming the field, what was expected and what came.
        """
        size = len(subject.encode(errors="surrogatepass"))
        if size > self.settings.subject_limit:
            raise ContractError(
                f"subject: at most {self.settings.subject_limit:,} bytes (setting subject_limit); {size:,} came"
            )
        try:
            given = context if isinstance(context, Context) else parse_context(context or {})
            return Case(case_id=case_id or new_case_id(), panel=panel, subject=subject, context=given)
        except ValidationError as error:
            raise contract_error(error) from error

    def submit(
        self,
        panel: str,
        subject: str,
        context: Context | Mapping[str, JsonValue] | None = None,
        *,
        case_id: str | None = None,
    ) -> str:
        """Open a case and send it to its judges; returns its id.

        With ``case_id`` a submission can be repeated safely: the same id and content again opens nothing.

        Raises:
            ContractError: the case is not of the agreed form, or the panel is unknown.
            Conflict: the id was used for other content, or ``previous`` does not fit.
            StoreUnavailable: not acknowledged; submit the same id again.
            DispatchError: the case is open, and gets its verdict by its deadline, but its judges were not all called.
        """
        case = self.case(panel, subject, context, case_id)
        self.submit_case(case)
        return case.case_id

    def submit_case(self, case: Case) -> Opened:
        """Open a checked case and send it to its judges. Raises like :meth:`submit`."""
        plan = self._plan(case.panel)
        for _ in range(3):
            procedure = procedure_named(plan.panel.procedure)
            facts = procedure.gate(plan.panel, case)
            opened = self.docket.open(case, plan, facts, lineage_of(case, procedure.name))
            if isinstance(opened, Opened):
                break
            plan = self._plans[case.panel] = opened
        else:
            raise StoreUnavailable(f'panel "{case.panel}" changed three times while case {case.case_id} was opened')
        fault_point("opened")
        if opened.dispatch.seats:
            self.app.dispatcher.stage(case.case_id, 1, opened.dispatch)
        elif not opened.existed:
            self.app.dispatcher.aggregate(case.case_id)
        return opened

    def follow(self, case_id: str, *, timeout: float | None = None) -> Iterator[Event]:
        """A case's events from the first, as they come, up to its verdict; or until ``timeout`` seconds have passed.

        Raises:
            NotFound: the docket does not hold the case (any more): it closed over ten minutes ago, or never was.
        """
        if not self.docket.known(case_id):
            raise NotFound(f"case {case_id} is not open and did not close in the last ten minutes; see `tribunal show`")
        yield from self.docket.events(case_id, timeout=FOREVER if timeout is None else timeout)

    def wait(self, case_id: str, *, timeout: float | None = None) -> Verdict:
        """The sealed verdict of a case, when it is there.

        Raises:
            NotFound: neither the docket nor the ledger knows the case.
            StillOpen: ``timeout`` seconds have passed.
            Conflict: the ledger has a verdict of that id, on other content than was submitted now.
        """
        try:
            for event in self.follow(case_id, timeout=timeout):
                if verdict := ended(case_id, event):
                    return verdict
        except NotFound:
            verdict = self.ledger.get(case_id)
            if verdict is None:
                raise NotFound(f"no case {case_id}: neither the docket nor the ledger knows it") from None
            return verdict
        raise StillOpen(f"case {case_id} has no verdict after {timeout:g} s; wait again")

    def judge(
        self,
        panel: str,
        subject: str,
        context: Context | Mapping[str, JsonValue] | None = None,
        *,
        case_id: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Verdict:
        """Submit and wait: a verdict within the panel's ``answer_within``, whatever is down.

        Where none is sealed by then, the answer is ``final = False``, never the permissive outcome, and says why. The
        verdict that is sealed later carries what was answered. ``on_event`` is called with each event as it comes.

        Raises:
            ContractError: the case is not of the agreed form, or the panel is unknown. Conflict likewise.
        """
        started, started_at = time.monotonic(), round(time.time() * 1000)
        case = self.case(panel, subject, context, case_id)
        inbox: queue.SimpleQueue[Event | Exception] = queue.SimpleQueue()
        over = threading.Event()
        # In a thread, so that nothing that hangs there makes this answer late.
        _in_thread(lambda: self._pump(case, inbox, over))
        reason: Reason = "unreachable"
        try:
            while (left := started + self._answer_within(panel) - SLACK - time.monotonic()) > 0:
                try:
                    item = inbox.get(timeout=left)
                except queue.Empty:
                    break
                if isinstance(item, StoreUnavailable):
                    reason = "unreachable"
                    continue
                if isinstance(item, Exception):
                    raise item
                reason = "unrecorded" if item.kind == "deciding" else "timeout"
                if on_event:
                    on_event(item)
                if verdict := ended(case.case_id, item):
                    return verdict
        finally:
            over.set()
        return self._answer(case, reason, started_at)

    def _pump(self, case: Case, inbox: "queue.SimpleQueue[Event | Exception]", over: threading.Event) -> None:
        """Submit, then pass the case's events on, until ``over``. A store that is away is tried again."""
        passed = 0
        submitted = waited = False
        while not over.is_set():
            try:
                if not submitted:
                    self._submit_for_judge(case)
                    submitted = True
                events = self.docket.events(case.case_id, timeout=self._answer_within(case.panel))
                for event in itertools.islice(events, passed, None):
                    passed += 1
                    inbox.put(event)
                return
            except StoreUnavailable as error:
                if not waited:
                    logger.warning("the case waits for Redis", case_id=case.case_id, error=str(error))
                waited = True
                inbox.put(error)
                over.wait(AGAIN_S)
            except Exception as error:  # noqa: BLE001  # raised again in the caller's thread
                inbox.put(error)
                return

    def _submit_for_judge(self, case: Case) -> None:
        try:
            self.submit_case(case)
        except DispatchError as error:
            logger.warning("not all judges were called", case_id=case.case_id, error=str(error))

    def _answer_within(self, panel: str) -> float:
        """The panel's time as published; before that is known, as configured here, else the shortest built-in one."""
        published = self._plans.get(panel)
        configured = published.panel if published else self._catalogue.panels.get(panel)
        return configured.answer_within if configured else SHORTEST

    @cached_property
    def _catalogue(self) -> Catalogue:
        return load_catalogue(self.settings.config_path)

    def _answer(self, case: Case, reason: Reason, started_at: int) -> Verdict:
        """Answer without a seal, and note on the case what was answered; or the verdict if it came meanwhile."""
        published = self._plans.get(case.panel)
        panel = published.panel if published else self._catalogue.panels.get(case.panel)
        if panel is None:
            raise StoreUnavailable(
                f'Redis did not answer, and panel "{case.panel}" is in no configuration here'
                f"{did_you_mean(case.panel, self._catalogue.panels)}"
            )
        seen = _within(SLACK / 2, lambda: self.docket.peek(case.case_id))
        verdict = provisional(case, panel, seen, reason, started_at)
        note = Answered(outcome=verdict.decision.outcome, reason=reason)
        if _within(SLACK / 4, lambda: self.docket.answer(case.case_id, note)) == "closed":
            events = _within(SLACK / 4, lambda: list(self.docket.events(case.case_id, timeout=SLACK / 4)))
            return (events[-1].verdict if events else None) or verdict
        return verdict

    def subscribe(
        self,
        pattern: str = "#",
        *,
        name: str | None = None,
        since: int | None = None,
        stop: threading.Event | None = None,
    ) -> Generator[Verdict]:
        """Verdicts whose routing key matches: ``*`` is one word, ``#`` any number. It is subscribed when this returns.

        With ``name`` the subscription is durable: its cursor lies in the ledger and moves when the next verdict is
        asked for, so each is handled at least once and none is skipped (I4). ``since`` is the first sequence number of
        a new one; without a name, the log is read from there on, and nothing is remembered. Ends when ``stop`` is set.

        Raises:
            ContractError: the pattern or the name is not of the agreed form.
            Conflict: the name is taken by a subscription to another pattern.
        """
        stop = stop or threading.Event()
        if name is not None:
            return self._durable(DurableSubscription(self.ledger, name, pattern, since=since), stop)
        if since is not None:
            return self._tail(check_pattern(pattern), since, stop)
        return _live(self.topic.listen(pattern), stop)

    def _durable(self, subscription: DurableSubscription, stop: threading.Event) -> Generator[Verdict]:
        with self._nudge(subscription.pattern) as nudge:
            yield from subscription.verdicts(stop, nudge)

    def _tail(self, pattern: str, since: int, stop: threading.Event) -> Generator[Verdict]:
        with self._nudge(pattern) as nudge:
            yield from tail(self.ledger, pattern, since, stop, nudge)

    def consume(
        self,
        name: str,
        handler: Callable[[Verdict], object],
        *,
        pattern: str = "#",
        since: int | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Call ``handler`` with each verdict of a durable subscription until ``stop`` is set.

        The cursor moves when the handler has returned. One that raises is called again, five times in all; then the
        verdict is parked as a dead letter. Raises like :meth:`subscribe`.
        """
        subscription = DurableSubscription(self.ledger, name, pattern, since=since)
        with self._nudge(pattern) as nudge:
            subscription.run(handler, stop or threading.Event(), nudge)

    @contextmanager
    def _nudge(self, pattern: str) -> Generator[Callable[[float], bool] | None]:
        """The topic as a nudge to look at the log; none where the broker is away, as the log is looked at anyway."""
        try:
            listener = self.topic.listen(pattern)
        except DispatchError as error:
            logger.warning("no nudges", error=str(error))
            yield None
            return
        with listener:
            yield listener.nudge


def _live(listener: Listener, stop: threading.Event) -> Generator[Verdict]:
    with listener:
        while not stop.is_set():
            verdict = listener.get(STOP_S)
            if verdict is not None:
                yield verdict


def ended(case_id: str, event: Event) -> Verdict | None:
    """The verdict of a case's last event; None of an earlier one.

    Raises:
        Conflict: the ledger has a verdict of that id, on other content.
    """
    if event.kind == "conflict":
        raise Conflict(
            f"case id {case_id} was used before, for other content: verdict {event.fields['seq']} stands, and this "
            "case gets none; submit it again with a new id"
        )
    return event.verdict


def parse_context(values: Mapping[str, JsonValue]) -> Context:
    """A context from plain JSON values, strictly."""
    return Context.model_validate_json(json.dumps(dict(values), allow_nan=False))


def contract_error(error: ValidationError) -> ContractError:
    """What is wrong with a case, one fault a line."""
    lines: list[str] = []
    for fault in error.errors():
        name = ".".join(str(part) for part in fault["loc"])
        if fault["type"] == "extra_forbidden":
            lines.append(f'unknown field "{name}"{did_you_mean(name.rpartition(".")[2], Context.model_fields)}')
        else:
            came = repr(fault["input"])
            shown = came if len(came) <= 80 else f"{came[:77]}…"
            lines.append(f"{name}: {fault['msg'].removeprefix('Value error, ')}; {shown} came")
    return ContractError("; ".join(lines))


def _in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True, name="tribunal-judge")
    thread.start()
    return thread


def _within(seconds: float, read: Callable[[], _T]) -> _T | None:
    """What ``read`` returns, or None where it takes longer or the store is away."""
    answers: list[_T] = []

    def work() -> None:
        with suppress(StoreUnavailable):
            answers.append(read())

    _in_thread(work).join(seconds)
    return answers[0] if answers else None
