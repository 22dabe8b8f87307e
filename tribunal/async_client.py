"""The client for asyncio: the same promises as :class:`tribunal.client.Client`.

Waiting is native: each waiter is a blocking read on its own connection, no thread. What sends or reads the ledger is
short and runs in threads.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, cast

from pydantic import JsonValue
from redis import asyncio as redis_asyncio
from redis.exceptions import RedisError

from tribunal.client import Client, ended
from tribunal.docket import LAST_EVENTS, Event, parse_event
from tribunal.docket.connection import OPTIONS, unavailable
from tribunal.errors import NotFound, StillOpen
from tribunal.model import Context, Verdict
from tribunal.settings import Settings

_T = TypeVar("_T")
_P = ParamSpec("_P")
BLOCK_MS = 1000


class AsyncClient:
    """A producer's way in, for asyncio. Use it in one event loop; close it, or use it as a context manager.

    Raises:
        ConfigurationError: no Redis is configured and no `tribunal up` runs here.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._client = Client(settings)
        # Any: redis-py's own annotations are partly unknown.
        self._redis: Any = cast("Any", redis_asyncio.Redis).from_url(self._client.docket.url, **OPTIONS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
        await _in_thread(self._client.close)

    async def submit(
        self,
        panel: str,
        subject: str,
        context: Context | Mapping[str, JsonValue] | None = None,
        *,
        case_id: str | None = None,
    ) -> str:
        """Open a case and send it to its judges; see :meth:`tribunal.client.Client.submit`."""
        return await _in_thread(self._client.submit, panel, subject, context, case_id=case_id)

    async def follow(self, case_id: str) -> AsyncIterator[Event]:
        """A case's events from the first, as they come, up to its verdict.

        Raises:
            NotFound: the docket does not hold the case (any more): it closed over ten minutes ago, or never was.
            StoreUnavailable: Redis does not answer.
        """
        names, url = self._client.docket.names, self._client.docket.url
        stream, last = names.key("events", case_id), "0"
        try:
            if not await self._redis.exists(names.key("case", case_id)):
                raise NotFound(f"case {case_id} is not open and did not close in the last ten minutes")
            while True:
                reply: list[tuple[str, list[tuple[str, dict[str, str]]]]] = await self._redis.xread(
                    {stream: last}, block=BLOCK_MS
                )
                for entry_id, fields in reply[0][1] if reply else []:
                    last = entry_id
                    event = parse_event(fields)
                    yield event
                    if event.kind in LAST_EVENTS:
                        return
        except RedisError as error:
            raise unavailable(url, error) from error

    async def wait(self, case_id: str, *, timeout: float | None = None) -> Verdict:
        """The sealed verdict of a case, when it is there; see :meth:`tribunal.client.Client.wait`."""
        with suppress(NotFound):
            try:
                async with asyncio.timeout(timeout):
                    async for event in self.follow(case_id):
                        if verdict := ended(case_id, event):
                            return verdict
            except TimeoutError:
                raise StillOpen(f"case {case_id} has no verdict after {timeout:g} s; wait again") from None
        return await _in_thread(self._client.wait, case_id, timeout=0)

    async def judge(
        self,
        panel: str,
        subject: str,
        context: Context | Mapping[str, JsonValue] | None = None,
        *,
        case_id: str | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Verdict:
        """Submit and wait, within the panel's ``answer_within``; see :meth:`tribunal.client.Client.judge`.

        ``on_event`` is called in the event loop.
        """
        loop = asyncio.get_running_loop()

        def passed_on(event: Event) -> None:
            if on_event:
                loop.call_soon_threadsafe(on_event, event)

        return await _in_thread(self._client.judge, panel, subject, context, case_id=case_id, on_event=passed_on)

    async def subscribe(
        self, pattern: str = "#", *, name: str | None = None, since: int | None = None
    ) -> AsyncIterator[Verdict]:
        """Verdicts whose routing key matches; see :meth:`tribunal.client.Client.subscribe`."""
        stop = threading.Event()
        verdicts = await _in_thread(self._client.subscribe, pattern, name=name, since=since, stop=stop)
        asked: asyncio.Future[Verdict | None] | None = None
        try:
            while True:
                asked = asyncio.ensure_future(_in_thread(next, verdicts, None))
                # Shielded: a generator that still runs in its thread cannot be closed.
                verdict = await asyncio.shield(asked)
                if verdict is None:
                    return
                yield verdict
        finally:
            stop.set()
            if asked is not None and not asked.done():
                await asyncio.wait({asked})
            await _in_thread(verdicts.close)


async def _in_thread(work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What ``work`` returns, from a thread of its own: a pool's few would let one long wait hold up all others."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def tell(result: _T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(cast("_T", result))

    def run() -> None:
        try:
            result, error = work(*args, **kwargs), None
        except BaseException as raised:  # noqa: BLE001  # raised again in the event loop
            result, error = None, raised
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=run, daemon=True, name="tribunal-async").start()
    return await done
