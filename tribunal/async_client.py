"""The client for asyncio: the same promises as :class:`tribunal.client.Client`.

Waiting is native: each waiter is a blocking read on its own connection, no thread. What sends or reads the ledger is
short and runs in threads.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from pydantic import JsonValue
from redis import asyncio as redis_asyncio
from redis.exceptions import RedisError

from tribunal.client import Client
from tribunal.docket import Event, parse_event
from tribunal.docket.connection import OPTIONS, unavailable
from tribunal.errors import NotFound, StillOpen
from tribunal.model import Context, Verdict
from tribunal.settings import Settings

_T = TypeVar("_T")
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
        await asyncio.to_thread(self._client.close)

    async def submit(
        self,
        panel: str,
        subject: str,
        context: Context | Mapping[str, JsonValue] | None = None,
        *,
        case_id: str | None = None,
    ) -> str:
        """Open a case and send it to its judges; see :meth:`tribunal.client.Client.submit`."""
        return await asyncio.to_thread(self._client.submit, panel, subject, context, case_id=case_id)

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
                    if event.kind == "verdict":
                        return
        except RedisError as error:
            raise unavailable(url, error) from error

    async def wait(self, case_id: str, *, timeout: float | None = None) -> Verdict:
        """The sealed verdict of a case, when it is there; see :meth:`tribunal.client.Client.wait`."""
        with suppress(NotFound):
            try:
                async with asyncio.timeout(timeout):
                    async for event in self.follow(case_id):
                        if event.verdict:
                            return event.verdict
            except TimeoutError:
                raise StillOpen(f"case {case_id} has no verdict after {timeout:g} s; wait again") from None
        return await asyncio.to_thread(self._client.wait, case_id, timeout=0)

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

        return await asyncio.to_thread(self._client.judge, panel, subject, context, case_id=case_id, on_event=passed_on)

    async def subscribe(
        self, pattern: str = "#", *, name: str | None = None, since: int | None = None
    ) -> AsyncIterator[Verdict]:
        """Verdicts whose routing key matches; see :meth:`tribunal.client.Client.subscribe`."""
        verdicts = self._client.subscribe(pattern, name=name, since=since)
        try:
            while (verdict := await _in_thread(lambda: next(verdicts, None))) is not None:
                yield verdict
        finally:
            await asyncio.to_thread(verdicts.close)


async def _in_thread(work: Callable[[], _T]) -> _T:
    return await cast("Awaitable[_T]", asyncio.to_thread(work))
