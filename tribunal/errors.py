"""Faults, as exceptions; an expected result is never one of them.

Every message says what was expected, what came and what to do. ``retryable`` says whether calling again, unchanged,
can help; ``exit_code`` is what the command line ends with.
"""

from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class TribunalError(Exception):
    """The root of every fault that Tribunal raises."""

    retryable: ClassVar[bool] = False
    exit_code: ClassVar[int] = 1


class ConfigurationError(TribunalError):
    """A panel, a judge or a setting is wrong; nothing was started."""

    exit_code = 2


class ContractError(TribunalError):
    """A case, a vote or an argument is not of the agreed form."""

    exit_code = 2


class Conflict(ContractError):
    """The same case id was submitted with other content, or ``previous`` does not fit the lineage (HTTP 409)."""


class NotFound(ContractError):
    """No case, verdict or subscription of that name."""


class StoreUnavailable(TribunalError):
    """Redis or the ledger did not answer or did not acknowledge a write; call again."""

    retryable = True


class DispatchError(TribunalError):
    """The broker did not take the judges' tasks; the docket still closes the case by its deadline."""

    retryable = True


class StillOpen(TribunalError):
    """The case has no verdict yet; wait again."""

    retryable = True


class JudgeError(TribunalError):
    """A judge could not answer. Its seat becomes an ``error`` vote, at once."""


class RetryableJudgeError(JudgeError):
    """A judge could not answer now; its seat gets a second attempt where time allows."""

    retryable = True


def did_you_mean(name: str, known: "Iterable[str]") -> str:
    """The tail of an error about an unknown name: the nearest known one, and all of them.

    >>> did_you_mean("tonne", ["tone", "safety"])
    '; did you mean "tone"? Known: safety, tone'
    """
    names = sorted(known)
    near = get_close_matches(name, names, n=1)
    hint = f'; did you mean "{near[0]}"?' if near else "."
    return f"{hint} Known: {', '.join(names) if names else 'none'}"
