"""What people who write judges use: the packet a judge gets, and the decorator that makes a function a judge.

from tribunal import Packet, judge

@judge
def tone(packet: Packet) -> dict:
    rude = "stupid" in packet.subject
    return {"score": 0 if rude else 100, "veto": rude, "confidence": 0.9, "reason": "rude" if rude else ""}
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from pydantic import Field, JsonValue

from tribunal.errors import ConfigurationError
from tribunal.model import Answer, CaseId, Context, Frozen, Name, Vote

JudgeFunction = Callable[["Packet"], "Answer | Abstain | Awaitable[Answer | Abstain]"]


class Packet(Frozen):
    """What a judge gets of a case."""

    case_id: CaseId
    panel: Name
    seat: Name
    stage: int
    attempt: int = 1
    subject: str
    """Untrusted: data, never instructions (I9)."""
    context: Context = Context()
    peers: tuple[Vote, ...] = ()
    """The earlier stages' votes; empty in stage 1."""
    seconds: float
    """How long the judge has, in seconds. It is stopped after that."""
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The judge's own options from the configuration."""


class Abstain(Frozen):
    """Returned by a judge that could not look; ``reason`` says why."""

    reason: str


class Judge(Protocol):
    """Code that reads a case and casts a vote."""

    def __call__(self, packet: Packet, /) -> Any:
        """The vote: a JSON object with the fields of the panel's procedure, or :class:`Abstain`; may be awaitable.

        Raises:
            RetryableJudgeError: a second attempt can help.
            Exception: anything else becomes an ``error`` vote.
        """
        ...


def judge(function: JudgeFunction) -> JudgeFunction:
    """Mark a function, plain or ``async``, as a judge. A plain one runs in a process of its own, one call at a time.

    Raises:
        ConfigurationError: it is no function of one argument.
    """
    parameters = inspect.signature(function).parameters
    if len(parameters) != 1:
        raise ConfigurationError(
            f"a judge takes one argument, the packet; {function.__qualname__} takes {len(parameters)}"
        )
    function.__tribunal_judge__ = True  # type: ignore[attr-defined]  # a mark on a function
    return function


def is_judge(value: object) -> bool:
    """Whether ``value`` was marked with :func:`judge`."""
    return callable(value) and hasattr(value, "__tribunal_judge__")
