"""``tribunal up``, ``worker`` and ``aggregator``: the services, started by name."""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tribunal.cli.options import AsJson, ConfigFile
from tribunal.cli.output import print_json, show, words
from tribunal.errors import ContractError
from tribunal.local.siblings import sibling_command
from tribunal.settings import load_settings


def up_command(
    workers: Annotated[
        list[str] | None,
        typer.Option("--workers", metavar="JUDGE=N", help="So many workers of that judge; can be repeated."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier runs first, the ledger too.")] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Run everything here: Valkey, a worker per judge, an aggregator.

    Says when it is usable, restarts what dies, and stops all of it on Ctrl-C or SIGTERM. The state is kept in
    .tribunal/.
    """
    from tribunal.local.up import up
    from tribunal.logs import configure_logging

    settings = load_settings(config)
    configure_logging(settings.log_level, role="up")
    code = up(settings, workers=worker_counts(workers or []), fresh=fresh, say=_say_json if as_json else _say)
    raise typer.Exit(code)


def worker_command(
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="The judge's name; see tribunal panels.")],
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="N", min=1, help="Cases at once, of an async judge.")
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Run one worker of a judge.

    It consumes the judge's queue until SIGTERM or Ctrl-C; a second one consumes the same queue beside it. Needs the
    checkout or the image.
    """
    _become("workers", config, judge, *([] if concurrency is None else ["--concurrency", str(concurrency)]))


def aggregator_command(config: ConfigFile = None) -> None:
    """Run one aggregator.

    It publishes the panels, decides cases and seals verdicts until SIGTERM or Ctrl-C. More than one can run. Needs the
    checkout or the image.
    """
    _become("aggregation", config)


def worker_counts(given: list[str]) -> dict[str, int]:
    """``JUDGE=N`` as numbers by judge.

    Raises:
        ContractError: one is not of that form.
    """
    counts: dict[str, int] = {}
    for pair in given:
        judge, equals, number = pair.partition("=")
        if not (judge and equals and number.isdecimal()):
            raise ContractError(f"--workers: JUDGE=N expected, for instance rule-violation=2; {pair!r} came")
        counts[judge] = int(number)
    return counts


def _become(sibling: str, config: Path | None, *arguments: str) -> NoReturn:
    """Replace this process by ``python -m <sibling>``: its signals and its exit code are then the service's own."""
    environment = {**os.environ, **load_settings(config).environment()}
    command = sibling_command(sibling, *arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, environment)  # noqa: S606  # no shell


def _say(line: str) -> None:
    show(words(line))


def _say_json(line: str) -> None:
    print_json({"said": line})
