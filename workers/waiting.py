"""The runtime of judges that wait (``async`` functions): cancellable tasks on one event loop, many at once."""

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import TimeoutError as NotYet
from typing import Any

from tribunal.judging import Judge, Packet
from tribunal.redaction import redact
from workers.child import fault_of, load, reply_of
from workers.process import JudgeStopped, JudgeTimeout


class WaitingJudge:
    """An ``async`` judge. Its :meth:`ask` is called from the threads of a worker's pool."""

    def __init__(self, reference: str, folder: str | None = None) -> None:
        self._judge: Judge = load(reference, folder)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="tribunal-judges").start()

    def ask(self, packet: Packet, *, every: float, keep_going: Callable[[], bool]) -> dict[str, Any]:
        """Let the judge answer a packet within its ``seconds``; raises like :meth:`JudgeProcess.ask`."""
        until = time.monotonic() + packet.seconds
        future = asyncio.run_coroutine_threadsafe(self._answer(packet), self._loop)
        while True:
            try:
                return future.result(max(0.0, min(every, until - time.monotonic())))
            except NotYet:
                if future.done():
                    continue
                if time.monotonic() >= until:
                    future.cancel()
                    raise JudgeTimeout from None
                if not keep_going():
                    future.cancel()
                    raise JudgeStopped from None

    async def _answer(self, packet: Packet) -> dict[str, Any]:
        try:
            return reply_of(await self._judge(packet))
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  # costs its own vote only (I6)
            print(redact(traceback.format_exc()), file=sys.stderr, flush=True)
            return fault_of(error)
