"""For tests of judges and of programs that use Tribunal: in-memory doubles, and a check of one judge.

The in-memory docket runs the real scripts on fakeredis, so it needs ``pip install 'fakeredis[lua]'``.
"""

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from tribunal.client import parse_context
from tribunal.config import builtin_catalogue
from tribunal.docket import Dispatch, Docket
from tribunal.errors import ConfigurationError
from tribunal.judging import Abstain, Judge, Packet, is_judge
from tribunal.model import Vote, VoteStatus
from tribunal.procedures import procedure_named, read_vote


def memory_docket(namespace: str = "tribunal") -> Docket:
    """A docket in this process's memory, with the real scripts; each call makes a new one."""
    import fakeredis

    client = fakeredis.FakeRedis(decode_responses=True, server=fakeredis.FakeServer())
    return Docket("memory://", namespace=namespace, wait_aof_ms=0, client=cast("Any", client))


@dataclass
class SentTasks:
    """A dispatcher that keeps what was sent instead of sending it."""

    seats: list[tuple[str, int, str, str]] = field(default_factory=list[tuple[str, int, str, str]])
    """Case id, stage, seat and judge of each judge's task, in the order sent."""
    aggregations: list[tuple[str, int | None]] = field(default_factory=list[tuple[str, int | None]])
    """Case id and hint of each call of the aggregator."""

    def stage(self, case_id: str, stage: int, dispatch: Dispatch) -> None:
        """Keep a stage's tasks."""
        self.seats.extend((case_id, stage, seat, judge) for seat, judge in dispatch.seats)

    def seat(self, case_id: str, stage: int, seat: str, judge: str, sent: int) -> None:  # noqa: ARG002  # as the real one
        """Keep one seat's task."""
        self.seats.append((case_id, stage, seat, judge))

    def aggregate(self, case_id: str, hint: int | None = None) -> None:
        """Keep a call of the aggregator."""
        self.aggregations.append((case_id, hint))


def check_judge(
    judge: Judge,
    subject: str,
    *,
    context: Mapping[str, JsonValue] | None = None,
    options: Mapping[str, JsonValue] | None = None,
    panel: str = "recommendation",
    seat: str | None = None,
    seconds: float = 30.0,
) -> Vote:
    """Run one judge on one subject, here and now, and read its answer as the panel's procedure does.

    A vote that the procedure would not take comes back with status ``error`` and the reason; what the judge raises is
    raised. ``seat`` is the built-in panel's seat that it would take: the first one where it is not given.

    Raises:
        ConfigurationError: it is no judge (``@judge`` is missing), or there is no such built-in panel.
    """
    if not is_judge(judge):
        raise ConfigurationError(f"a function decorated with @judge expected; {judge!r} came")
    panels = builtin_catalogue().panels
    if panel not in panels:
        raise ConfigurationError(f'built-in panels are {", ".join(sorted(panels))}; "{panel}" came')
    name = seat or panels[panel].seats[0].name
    packet = Packet(
        case_id="check",
        panel=panel,
        seat=name,
        stage=1,
        subject=subject,
        context=parse_context(context or {}),
        seconds=seconds,
        options=dict(options or {}),
    )
    answer = judge(packet)
    if inspect.isawaitable(answer):
        answer = asyncio.run(_awaited(answer))
    if isinstance(answer, Abstain):
        return Vote(seat=name, judge=name, status=VoteStatus.ABSTAINED, reason=answer.reason, attempt=1)
    procedure = procedure_named(panels[panel].procedure)
    return read_vote(procedure, name, name, cast("JsonValue", answer)).model_copy(update={"attempt": 1})


async def _awaited(answer: Any) -> Any:
    return await answer
