"""What every procedure is: a pure, total function from frozen votes to a decision.

No clock, no I/O, no Celery; the order of votes does not matter; no input of the right type raises.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from tribunal.errors import ContractError
from tribunal.model import Answer, Case, Decision, Frozen, Grade, Stage, Vote, VoteStatus, canonical
from tribunal.panels import Panel
from tribunal.strict_json import check_depth, salvage

Facts = Mapping[str, JsonValue]
"""What a procedure is told beside the votes, fixed when a case is opened: the gate's answer, round, protected paths."""

_ABSENT = {
    "timeout": VoteStatus.TIMEOUT,
    "error": VoteStatus.ERROR,
    "abstained": VoteStatus.ABSTAINED,
    "abstain": VoteStatus.ABSTAINED,
}
_OBJECT = TypeAdapter(dict[str, JsonValue], config=ConfigDict(allow_inf_nan=False))


class Convene(Frozen):
    """Another stage is needed; its seats see the votes so far."""

    stage: int
    reason: str


class Undecided(Frozen):
    """Seats are still open and what they say can matter."""


Outcome = Decision | Convene | Undecided


@dataclass(frozen=True)
class Rendering:
    """What the seeds' own output formats want beside the decision. None of it is in the decision (I10)."""

    subject: str
    """As submitted: redact what is quoted of it, so that a secret does not come back in a banner."""
    facts: Facts
    history: tuple[Stage, ...]
    case_id: str
    ref: str | None
    type: str | None
    opened_at: int
    """Milliseconds since the epoch."""
    elapsed_ms: int
    path: str | None
    """Where the audit file goes, below ``output_dir``; None where none is written (``tally``)."""


class Procedure(Protocol):
    """One panel document of the seeds, as code."""

    name: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    """The panel's ``options``."""
    fail_safe: ClassVar[Decision]
    """What is answered when nothing can be decided; never permissive."""

    def check_panel(self, panel: Panel) -> list[str]:
        """What is wrong with the panel's seats for this procedure, one sentence each."""
        ...

    def seat_name(self, name: str) -> str:
        """The full name of a seat that may be given by a short one."""
        ...

    def gate(self, panel: Panel, case: Case) -> Facts:
        """The facts of a new case. With the key ``skip`` (a reason) no judge runs."""
        ...

    def check_answer(self, seat: str, answer: Answer) -> str | None:
        """Why an answer is no vote of this procedure; None if it is one."""
        ...

    def decisive(self, seat: str, answer: Answer) -> bool:
        """Whether this vote alone may decide the case, so that the aggregator is asked at once."""
        ...

    def decide(self, panel: Panel, facts: Facts, history: tuple[Stage, ...]) -> Outcome:
        """The decision on the votes so far."""
        ...

    def output(self, panel: Panel, decision: Decision, rendering: Rendering) -> dict[str, JsonValue]:
        """The decision in the seed's own output format."""
        ...

    def paths(self, rendering: Rendering) -> tuple[str, str] | None:
        """Where the audit file goes, relative to ``output_dir``: the seed's path, and the one used if that is taken."""
        ...


def read_vote(procedure: Procedure, seat: str, judge: str, raw: JsonValue) -> Vote:
    """A judge's raw JSON as a vote: rubbish becomes an ``error`` vote, ``null`` a ``timeout``; never raises.

    An object that is no JSON through and through (NaN, a lone surrogate, a hundred levels) is an ``error`` too, with
    what can be kept of it as its answer: whatever a judge flagged must be heard (I9). ``timeout: true`` stands for the
    status ``timeout``, whatever else is in the object (the consensus document's own key).
    """
    if raw is None:
        return Vote(seat=seat, judge=judge, status=VoteStatus.TIMEOUT, reason="no answer")
    try:
        answer = _OBJECT.validate_python(raw, strict=True)
        canonical(answer).encode()
        check_depth(answer)
    except (ValueError, ContractError):
        kept = salvage(raw)
        reason = "a vote is a JSON object of finite numbers and valid Unicode, not nested too deep"
        return Vote(
            seat=seat,
            judge=judge,
            status=VoteStatus.ERROR,
            answer=kept if isinstance(kept, dict) else None,
            reason=f"{reason}; this {type(raw).__name__} is none",
        )
    timeout = answer.get("timeout", False)
    status = "timeout" if timeout is True else answer.get("status", "voted")
    if isinstance(status, str) and status in _ABSENT:
        reason = answer.get("reason") or answer.get("reasoning")
        return Vote(
            seat=seat,
            judge=judge,
            status=_ABSENT[status],
            answer=answer,
            reason=reason if isinstance(reason, str) else status,
        )
    if status != "voted":
        wrong = f'status "voted", "abstained", "timeout" or "error"; {repr(status)[:80]} came'
    elif timeout is not False:
        wrong = f"timeout: true or false; {repr(timeout)[:80]} came"
    else:
        wrong = procedure.check_answer(seat, answer)
    if wrong:
        return Vote(seat=seat, judge=judge, status=VoteStatus.ERROR, answer=answer, reason=wrong)
    return Vote(seat=seat, judge=judge, status=VoteStatus.VOTED, answer=answer)


_STRICTNESS = {Grade.SKIPPED: 0, Grade.PERMISSIVE: 0, Grade.MIDDLE: 1, Grade.REFUSING: 2}


def stricter(one: Decision, other: Decision) -> Decision:
    """The stricter of two decisions; the first where they are equal."""
    return other if _STRICTNESS[other.grade] > _STRICTNESS[one.grade] else one
