"""Tribunal: a panel of judges on queues, and one verdict by a deadline.

Names are loaded when first used, so that ``import tribunal`` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tribunal.async_client import AsyncClient
    from tribunal.client import Client
    from tribunal.errors import (
        ConfigurationError,
        Conflict,
        ContractError,
        DispatchError,
        JudgeError,
        NotFound,
        RetryableJudgeError,
        StillOpen,
        StoreUnavailable,
        TribunalError,
    )
    from tribunal.judging import Abstain, Packet, judge
    from tribunal.model import Case, Context, Verdict, Vote

_HOMES = {
    "tribunal.async_client": ("AsyncClient",),
    "tribunal.client": ("Client",),
    "tribunal.errors": (
        "ConfigurationError",
        "Conflict",
        "ContractError",
        "DispatchError",
        "JudgeError",
        "NotFound",
        "RetryableJudgeError",
        "StillOpen",
        "StoreUnavailable",
        "TribunalError",
    ),
    "tribunal.judging": ("Abstain", "Packet", "judge"),
    "tribunal.model": ("Case", "Context", "Verdict", "Vote"),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # noqa: RUF022  # grouped by home, as above
    "AsyncClient",
    "Client",
    "ConfigurationError",
    "Conflict",
    "ContractError",
    "DispatchError",
    "JudgeError",
    "NotFound",
    "RetryableJudgeError",
    "StillOpen",
    "StoreUnavailable",
    "TribunalError",
    "Abstain",
    "Packet",
    "judge",
    "Case",
    "Context",
    "Verdict",
    "Vote",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'tribunal' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
