"""Reading what a procedure gets: its options, a judge's answer, the votes of the panel's seats."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from tribunal.errors import ConfigurationError
from tribunal.model import Answer, Decision, Stage, Vote, VoteStatus, canonical
from tribunal.panels import Panel, Seat
from tribunal.procedures.base import Procedure

_Options = TypeVar("_Options", bound=BaseModel)
_PRINTED_BITS = 256


class AnswerModel(BaseModel):
    """The fields of an answer that a procedure reads: strict, but what it does not know is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


def options_of(model: type[_Options], panel: Panel) -> _Options:
    """The panel's options, checked.

    Raises:
        ConfigurationError: one is unknown or wrong. It cannot happen with a panel that was checked when it was loaded.
    """
    try:
        return _parsed(model, canonical(panel.options))
    except ValidationError as error:
        raise ConfigurationError(f"panel {panel.name}: options: {first_fault(error)}") from error
    except ValueError as error:
        raise ConfigurationError(f"panel {panel.name}: options: valid JSON expected; {error}") from error


@lru_cache(maxsize=64)
def _parsed(model: type[_Options], text: str) -> _Options:
    return model.model_validate_json(text)


def failing_safe(fail_safe: Decision, reason: str) -> Decision:
    """The procedure's fail-safe with the reason why nothing else could be decided."""
    return fail_safe.model_copy(update={"reasons": (reason,)})


def answer_fault(model: type[AnswerModel], answer: Answer) -> str | None:
    """What is wrong with an answer, in one sentence; None if nothing is."""
    try:
        model.model_validate(dict(answer))
    except ValidationError as error:
        return first_fault(error)
    return None


def first_fault(error: ValidationError) -> str:
    """The first of a model's complaints: the field, what was expected and, if it is short, what came."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in fault["loc"])
    given = fault["input"]
    # The digits of an endless integer cannot be printed.
    short = isinstance(given, str | float | None) or (isinstance(given, int) and given.bit_length() <= _PRINTED_BITS)
    came = f"; {given!r} came" if short else ""
    return f"{field}: {fault['msg']}{came[:80]}" if field else f"{fault['msg']}{came[:80]}"


def seated_votes(procedure: Procedure, seats: Iterable[Seat], history: tuple[Stage, ...]) -> dict[str, Vote]:
    """One vote for each of the seats, in their order, whatever the history holds.

    A seat without one counts as ``timeout``; a vote whose answer is none of this procedure, and two different votes for
    one seat (the docket lets none through, I5), as ``error``. Late votes and those of strangers are left out.
    """
    return {seat.name: _one_vote(procedure, seat, _cast(seat, history)) for seat in seats}


def flagging(seats: Iterable[Seat], history: tuple[Stage, ...], flag: str) -> list[str]:
    """The seats that raised this flag: every vote object is heard, an abstention's and a faulty one's too."""
    return [
        seat.name
        for seat in seats
        if any(vote.answer is not None and vote.answer.get(flag) is True for vote in _cast(seat, history))
    ]


def readable(procedure: Procedure, vote: Vote) -> Answer | None:
    """What a seat said, where it can be read: of an ``error`` vote too, whose kept answer may hold a whole veto.

    A veto stands on it, since it needs no full panel; a score or an approval must not.
    """
    said = vote.answer if vote.status in (VoteStatus.VOTED, VoteStatus.ERROR) else None
    return None if said is None or procedure.check_answer(vote.seat, said) else said


def _cast(seat: Seat, history: tuple[Stage, ...]) -> list[Vote]:
    return [
        vote
        for stage in history
        if stage.stage == seat.stage
        for vote in stage.votes
        if vote.seat == seat.name and vote.status is not VoteStatus.LATE
    ]


def _one_vote(procedure: Procedure, seat: Seat, votes: list[Vote]) -> Vote:
    if not votes:
        return Vote(seat=seat.name, judge=seat.judge, status=VoteStatus.TIMEOUT, reason="no answer")
    vote = votes[0]
    if any(other != vote for other in votes):
        reason = "one vote expected; different ones came"
        return Vote(seat=seat.name, judge=seat.judge, status=VoteStatus.ERROR, reason=reason)
    if vote.answered:
        fault = "no answer in it" if vote.answer is None else procedure.check_answer(vote.seat, vote.answer)
        if fault:
            return vote.model_copy(update={"status": VoteStatus.ERROR, "reason": fault})
    return vote


def standing(vote: Vote) -> str:
    """A seat's status in print."""
    return "not awaited" if vote.status is VoteStatus.CUT else vote.status.value


def details_text(details: Mapping[str, JsonValue], key: str) -> tuple[str, ...]:
    """A list of texts out of a decision's details; empty where it holds none."""
    value = details.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
