"""The core of ``tribunal tally``: votes as JSON in, the panel's own output out, without any service.

The command reads the text and the flags, prints :attr:`TallyResult.output` as one JSON object, writes
:attr:`TallyResult.error` to the standard error, and ends with :attr:`TallyResult.exit_code`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, JsonValue, ValidationError

from tribunal import receipts
from tribunal.errors import ConfigurationError, ContractError, TribunalError, did_you_mean
from tribunal.model import Case, CleanText, Context, Decision, Frozen, Line, Stage
from tribunal.panels import JudgeConfig, Panel
from tribunal.procedures import Convene, Procedure, Rendering, procedure_named, read_vote
from tribunal.procedures.base import Facts
from tribunal.procedures.routine_review import RoutineReview
from tribunal.procedures.selftest import SELF_TEST, Check
from tribunal.procedures.votes import failing_safe, first_fault, options_of
from tribunal.strict_json import read_object

CASE_KEY = "case"
_OVERRIDES = ("max_rounds", "threshold", "profile")


class TallyCase(Frozen):
    """What the input may say about the case, under the key ``case``; a flag of the same name wins over it."""

    round: Annotated[int, Field(ge=1)] | None = None
    max_rounds: Annotated[int, Field(ge=1)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    profile: str | None = None
    draft: CleanText | None = None
    """The subject: a draft answer, or the diff, whose protected paths then count."""
    type: Literal["spec", "pr", "decision"] | None = None
    ref: Line | None = None


@dataclass(frozen=True)
class TallyParams:
    """The flags ``--round --max-rounds --threshold --profile``, None where not given, and the time."""

    now: int
    """Milliseconds since the epoch: stands in the output, decides nothing."""
    round: int | None = None
    max_rounds: int | None = None
    threshold: float | None = None
    profile: str | None = None


@dataclass(frozen=True)
class Trail:
    """Where the receipts go: ``--routine`` is the slug, ``--run-dir`` the run."""

    root: Path
    """The output folder, which ``runs/routine-review/…`` is below."""
    slug: str
    run: str | None = None
    """The name of a run's folder or its path. None: round 1 without thor opens one, else the slug's newest."""


@dataclass(frozen=True)
class TallyResult:
    """What the command prints and ends with."""

    output: Mapping[str, JsonValue]
    exit_code: int = 0
    """0 whatever the verdict; 2 if the input was bad."""
    error: str | None = None
    votes: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The votes as they came, by the seats' full names."""
    opens: bool = False
    """Whether this is round 1 without the tie-break, which begins a run."""


@dataclass(frozen=True)
class Checked:
    """One check of the self-test: what went wrong, if anything did."""

    name: str
    faults: tuple[str, ...]


def tally(panel: Panel, text: str, params: TallyParams) -> TallyResult:
    """Decide on the votes in ``text``. Bad input gives the panel's fail-safe with the reason, and exit code 2.

    The text is one JSON object: seat (short names accepted) to vote object or null, and optionally ``case``.
    """
    procedure = procedure_named(panel.procedure)
    try:
        votes, case = _read(procedure, panel, text, params)
        decided_panel = _overridden(procedure, panel, case)
        facts = _facts(procedure, decided_panel, case)
    except (ContractError, ConfigurationError) as error:
        return bad_input(panel, str(error), params)
    history = _history(procedure, panel, votes)
    rendering = _rendering(params, case, facts, history)
    outcome = procedure.decide(decided_panel, facts, history)
    if isinstance(outcome, Decision):
        output = procedure.output(decided_panel, outcome, rendering)
    elif isinstance(outcome, Convene) and isinstance(procedure, RoutineReview):
        output = procedure.tiebreak_output(decided_panel, outcome, rendering)
    else:
        raise TribunalError(f"{panel.procedure} must decide on votes that are all in; {outcome!r} came: report this")
    return TallyResult(output, votes=votes, opens=len(history) == 1 and (case.round or 1) == 1)


def tally_lines(panel: Panel, lines: Iterable[str], params: TallyParams) -> Iterator[TallyResult]:
    """One result a line, in order (``--lines``); a line that is bad input, an empty one too, has its fail-safe."""
    return (tally(panel, line, params) for line in lines)


def bad_input(panel: Panel, reason: str, params: TallyParams) -> TallyResult:
    """The panel's fail-safe for input that is no votes, or cannot be read, with the reason, and exit code 2."""
    procedure = procedure_named(panel.procedure)
    # A file's name may hold bytes that are no UTF-8.
    said = reason.encode("utf-8", "backslashreplace").decode()
    safe = failing_safe(procedure.fail_safe, f"bad input: {said}")
    safe = safe.model_copy(update={"details": {**safe.details, "reason": "bad input"}})
    rendering = _rendering(params, TallyCase(), {} if params.round is None else {"round": params.round}, ())
    return TallyResult({**procedure.output(panel, safe, rendering), "error": said}, exit_code=2, error=said)


def recorded(panel: Panel, result: TallyResult, params: TallyParams, trail: Trail) -> TallyResult:
    """The result with a receipt of it, and with a snapshot of the round once that is resolved.

    ``run_dir`` in the output is the folder. A repeated tally appends a receipt; the round's snapshot stays as it is.

    Raises:
        ConfigurationError: a symbolic link or a file is in the way of the receipts.
        StoreUnavailable: the receipt is not acknowledged, and so the verdict is not given.
    """
    try:
        run = _run(panel, result, params, trail)
    except ContractError as error:
        return bad_input(panel, str(error), params)
    at = datetime.fromtimestamp(params.now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line: dict[str, JsonValue] = {
        "at": at,
        "event": "tally",
        "panel": panel.name,
        "votes": dict(result.votes),
        "output": dict(result.output),
        "error": result.error,
    }
    receipts.append(trail.root, trail.slug, run, line)
    number = result.output.get("round")
    if result.error is None and result.output.get("outcome") == "resolved" and isinstance(number, int):
        receipts.write_round(trail.root, trail.slug, run, number, line)
    folder = receipts.run_folder(trail.root, trail.slug, run)
    return replace(result, output={**result.output, "run_dir": str(folder)})


def panels_output(panel: Panel, judges: Mapping[str, JudgeConfig]) -> dict[str, JsonValue]:
    """The seed's ``panels``: agents and models by seat, the tie-break's (null without one), and the briefs.

    The agent is the seat's judge; model and brief are that judge's options ``model`` and ``brief``, null without them.
    """

    def option(judge: str, name: str) -> JsonValue:
        return judges[judge].options.get(name) if judge in judges else None

    def agent(judge: str) -> dict[str, JsonValue]:
        return {"agent": judge, "model": option(judge, "model")}

    breaker = next((seat for seat in panel.seats_of(2)), None)
    return {
        "panels": {seat.name: agent(seat.judge) for seat in panel.seats_of(1)},
        "tiebreak": {"seat": breaker.name, **agent(breaker.judge)} if breaker else None,
        "briefs": {seat.name: option(seat.judge, "brief") for seat in panel.seats},
    }


def self_test(panel: Panel, checks: Iterable[Check] = SELF_TEST) -> tuple[Checked, ...]:
    """The seed's twelve checks on a routine-review panel with the seats mimir, forseti and thor."""
    params = TallyParams(now=0)
    results: list[Checked] = []
    for check in checks:
        faults: list[str] = []
        for example in check.examples:
            output = tally(panel, json.dumps(example.given), params).output
            faults += [
                f"{key}: {expected!r} expected, {output.get(key)!r} came"
                for key, expected in example.expected.items()
                if output.get(key) != expected
            ]
            faults += [f"{key}: must be absent, {output[key]!r} came" for key in example.absent if key in output]
        results.append(Checked(check.name, tuple(faults)))
    return tuple(results)


def _read(procedure: Procedure, panel: Panel, text: str, params: TallyParams) -> tuple[dict[str, JsonValue], TallyCase]:
    given = read_object(text)
    table = given.pop(CASE_KEY, None)
    if table is not None and not isinstance(table, dict):
        raise ContractError(f"{CASE_KEY}: an object or null expected; {type(table).__name__} came")
    flags = {name: value for name in ("round", *_OVERRIDES) if (value := getattr(params, name)) is not None}
    try:
        case = TallyCase.model_validate({**cast("dict[str, Any]", table or {}), **flags})
    except ValidationError as error:
        raise ContractError(
            f"{CASE_KEY}: {first_fault(error)}; it knows {', '.join(TallyCase.model_fields)}"
        ) from error
    votes: dict[str, JsonValue] = {}
    names = [seat.name for seat in panel.seats]
    for short, vote in given.items():
        name = procedure.seat_name(short)
        if name not in names:
            raise ContractError(f'unknown seat "{short}"{did_you_mean(short, [*names, CASE_KEY])}')
        if name in votes:
            raise ContractError(f'seat "{name}" came twice, as "{short}" too; give one vote a seat')
        votes[name] = vote
    return votes, case


def _overridden(procedure: Procedure, panel: Panel, case: TallyCase) -> Panel:
    """The panel with the options that the case or a flag gives."""
    known = procedure.Options.model_fields
    given = {name: value for name in _OVERRIDES if (value := getattr(case, name)) is not None}
    foreign = [name for name in given if name not in known]
    if case.round is not None and "max_rounds" not in known:
        foreign.append("round")
    if foreign:
        raise ContractError(f'panel "{panel.name}" reads no {", ".join(foreign)}; leave that out')
    changed = panel.model_copy(update={"options": {**panel.options, **given}})
    options_of(procedure.Options, changed)
    return changed


def _facts(procedure: Procedure, panel: Panel, case: TallyCase) -> dict[str, JsonValue]:
    """The gate's facts where the subject is known; it skips nothing, since the votes are here."""
    facts: dict[str, JsonValue] = {}
    if case.draft and case.draft.strip():
        context = Context(type=case.type, ref=case.ref)
        facts = dict(procedure.gate(panel, Case(panel=panel.name, subject=case.draft, context=context)))
        facts.pop("skip", None)
    return facts if case.round is None else {**facts, "round": case.round}


def _history(procedure: Procedure, panel: Panel, votes: Mapping[str, JsonValue]) -> tuple[Stage, ...]:
    """The votes as stages; the second one only if somebody voted in it, for null means not convened."""
    history: list[Stage] = []
    for number in sorted({seat.stage for seat in panel.seats}):
        seats = panel.seats_of(number)
        if number == 1 or any(votes.get(seat.name) is not None for seat in seats):
            cast_votes = tuple(read_vote(procedure, seat.name, seat.judge, votes.get(seat.name)) for seat in seats)
            history.append(Stage(stage=number, votes=cast_votes))
    return tuple(history)


def _rendering(params: TallyParams, case: TallyCase, facts: Facts, history: tuple[Stage, ...]) -> Rendering:
    return Rendering(
        subject=case.draft or "",
        facts=facts,
        history=history,
        case_id="tally",
        ref=case.ref,
        type=case.type,
        opened_at=params.now,
        elapsed_ms=0,
        path=None,
    )


def _run(panel: Panel, result: TallyResult, params: TallyParams, trail: Trail) -> str:
    """The name of the run that the receipt belongs to; the folder of a new one is made."""
    if panel.procedure != RoutineReview.name:
        raise ContractError(f'only routine-review keeps receipts; panel "{panel.name}" is {panel.procedure}')
    if trail.run is not None:
        folder = receipts.run_folder(trail.root, trail.slug, Path(trail.run).name)
        if Path(trail.run).name != trail.run and Path(trail.run).absolute() != folder.absolute():
            raise ContractError(f"a run of {trail.slug} is below {folder.parent}; {trail.run} came")
        return folder.name
    newest = None if result.opens else receipts.newest_run(trail.root, trail.slug)
    return newest or receipts.new_run(trail.root, trail.slug, params.now)
