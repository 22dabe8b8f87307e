"""``tribunal tally``: the procedures from the shell, over :mod:`tribunal.tally`. No service, no Celery."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from tribunal.cli.faults import warn
from tribunal.cli.options import AsJson, ConfigFile
from tribunal.cli.output import print_json, show, words
from tribunal.cli.panels import named_panel
from tribunal.cli.reading import read_bytes, read_lines
from tribunal.config import builtin_catalogue, load_catalogue
from tribunal.errors import ContractError, did_you_mean
from tribunal.panels import Panel
from tribunal.procedures.routine_review import RoutineReview
from tribunal.settings import load_settings
from tribunal.tally import TallyParams, TallyResult, Trail, bad_input, recorded, self_test, tally, tally_lines

INPUT_LIMIT = 64 * 1024 * 1024
"""Bytes that are read for one tally, and of one line with ``--lines``."""


def tally_command(
    panel: Annotated[str | None, typer.Argument(metavar="PANEL", help="A panel's name; see tribunal panels.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="F", help="The votes; - or nothing reads standard input.")
    ] = None,
    round_: Annotated[int | None, typer.Option("--round", metavar="N", help="routine-review: this round.")] = None,
    max_rounds: Annotated[
        int | None, typer.Option("--max-rounds", metavar="N", help="routine-review: the round that escalates.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", metavar="X", help="routine-review: the confidence that is enough.")
    ] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="consensus: the weights' name.")] = None,
    lines: Annotated[bool, typer.Option("--lines", help="One object a line in, one a line out, in order.")] = False,
    routine: Annotated[
        str | None, typer.Option("--routine", metavar="SLUG", help="routine-review: keep receipts of that routine.")
    ] = None,
    root: Annotated[
        Path | None, typer.Option("--root", metavar="DIR", help="Receipts go below it; else the setting output_dir.")
    ] = None,
    run_dir: Annotated[
        str | None, typer.Option("--run-dir", metavar="DIR", help="The run's folder, as an earlier tally told it.")
    ] = None,
    self_test_: Annotated[bool, typer.Option("--self-test", help="Check the engine: twelve known tallies.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Decide on votes given as JSON, without any service.

    Reads one object: seat name to vote or null, and optionally "case" with round, max_rounds, threshold, profile,
    draft, type, ref; a flag wins over it. Prints the panel's own JSON and exits with 0 whatever the verdict. Input
    that is no such object, or cannot be read, prints the panel's fail-safe verdict with the reason, and exits with 2.
    """
    settings = load_settings(config)
    catalogue = load_catalogue(settings.config_path)
    if self_test_:
        _self_test(named_panel(catalogue, panel) if panel else builtin_catalogue().panels[RoutineReview.name], as_json)
        return
    if panel is None:
        raise ContractError(f"a PANEL expected, none came{did_you_mean('', catalogue.panels)}")
    if routine is None and (root is not None or run_dir is not None):
        raise ContractError("--root and --run-dir say where receipts go; name the routine too (--routine SLUG)")
    chosen = named_panel(catalogue, panel)
    params = TallyParams(
        now=time.time_ns() // 1_000_000, round=round_, max_rounds=max_rounds, threshold=threshold, profile=profile
    )
    if lines:
        if routine is not None:
            raise ContractError("--lines keeps no receipts; leave --routine out, or tally one at a time")
        raise typer.Exit(_print_all(_tallied(chosen, read_lines(file, INPUT_LIMIT), params)))
    try:
        data = read_bytes(file, INPUT_LIMIT, "votes are short")
    except ContractError as error:
        result = bad_input(chosen, str(error), params)
    else:
        result = tally(chosen, _text(data), params)
    if routine is not None:
        result = recorded(chosen, result, params, Trail(root or settings.output_dir, routine, run_dir))
    _print(result)
    raise typer.Exit(result.exit_code)


def _tallied(panel: Panel, lines: Iterable[bytes], params: TallyParams) -> Iterator[TallyResult]:
    """A result a line; one more, the fail-safe, where the rest cannot be read."""
    try:
        yield from tally_lines(panel, map(_text, lines), params)
    except ContractError as error:
        yield bad_input(panel, str(error), params)


def _print_all(results: Iterator[TallyResult]) -> int:
    """The exit code of a batch: 2 if any line of it was bad."""
    worst = 0
    for number, result in enumerate(results, 1):
        _print(result, f"line {number}: ")
        worst = max(worst, result.exit_code)
    return worst


def _print(result: TallyResult, where: str = "") -> None:
    print_json(result.output)
    if result.error is not None:
        warn(f"{where}{result.error}", word="error")


def _text(data: bytes) -> str:
    # What is no UTF-8 becomes lone surrogates, which the tally refuses with its fail-safe.
    return data.decode(errors="surrogateescape")


def _self_test(panel: Panel, as_json: bool) -> None:
    if panel.procedure != RoutineReview.name:
        raise ContractError(f'the self-test is of {RoutineReview.name}; panel "{panel.name}" is {panel.procedure}')
    checks = self_test(panel)
    failed = sum(bool(check.faults) for check in checks)
    if as_json:
        told = [{"name": check.name, "passed": not check.faults, "faults": list(check.faults)} for check in checks]
        print_json({"passed": len(checks) - failed, "failed": failed, "checks": told})
    else:
        for check in checks:
            show(words(f"{'FAILED' if check.faults else 'ok':<6} {check.name}", "red" if check.faults else ""))
            for fault in check.faults:
                show(words(f"         {fault}"))
        show(words(f"{len(checks) - failed} of {len(checks)} passed"))
    raise typer.Exit(1 if failed else 0)
