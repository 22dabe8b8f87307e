"""``tribunal judge``: submit and wait, with a live table on a terminal."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.live import Live

from tribunal.cli.board import Board
from tribunal.cli.context import with_context
from tribunal.cli.options import AsJson, ConfigFile, PanelName, SubjectFile, client_settings, runs_here
from tribunal.cli.output import print_verdict
from tribunal.cli.reading import read_subject
from tribunal.client import Client
from tribunal.errors import TribunalError
from tribunal.model import Context, Verdict, new_case_id
from tribunal.settings import Settings

FRAMES_PER_SECOND = 10
SEAL_S = 5.0
"""Seconds that a private case may take to be sealed after its caller was answered."""


@with_context
def judge_command(
    panel: PanelName,
    file: SubjectFile = None,
    *,
    config: ConfigFile = None,
    as_json: AsJson = False,
    context: Context,
) -> None:
    """Have a subject judged, and wait for the verdict.

    It uses what runs here, or else starts the same privately for this one case. On a terminal it shows the seats and
    then the verdict; on a pipe it prints the panel's own JSON, with --json the same with the key "tribunal".

    The exit code is 0 for the permissive outcome, 10 for the middle one, 11 for approved where a person merges, 12 for
    skipped without a verdict, 20 for the refusing one; 2 for bad input, 1 for a fault.
    """
    settings = client_settings(config)
    subject = read_subject(file, settings.subject_limit)
    live = sys.stdout.isatty() and not as_json
    with _services(settings, panel, live=live) as running, Client(running) as client:
        verdict = _shown(client, panel, subject, context) if live else client.judge(panel, subject, context)
        # Before the private services stop, which takes a while.
        print_verdict(verdict, settings, as_json=as_json)
        if not verdict.final and not runs_here(settings):
            _await_seal(client, verdict.case_id)
    raise typer.Exit(verdict.exit_code)


def _await_seal(client: Client, case_id: str) -> None:
    """Give a private case that was answered without a seal the time to be sealed: it ends with this command."""
    said = Console(stderr=True)
    try:
        sealed = client.wait(case_id, timeout=SEAL_S)
    except TribunalError as error:
        said.print(f"case {case_id} was not sealed and ends with this command: {error}", markup=False)
    else:
        said.print(f"sealed after that answer as number {sealed.seq}: {sealed.decision.outcome}", markup=False)


@contextmanager
def _services(settings: Settings, panel: str, *, live: bool) -> Generator[Settings]:
    if runs_here(settings):
        yield settings
        return
    from tribunal.local.up import private

    # A signal would leave the private services' folder behind.
    kept = {number: signal.signal(number, _end) for number in (signal.SIGTERM, signal.SIGHUP)}
    said = Console(stderr=True, quiet=not live)
    waiting = said.status("no `tribunal up` runs here: starting one for this case")
    try:
        with waiting, private(settings, panel) as running:
            waiting.stop()
            yield running
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


def _shown(client: Client, panel: str, subject: str, context: Context) -> Verdict:
    case_id = new_case_id()
    board = Board(panel=lambda: client.panel(panel), peek=client.docket.peek, case_id=case_id)
    with Live(board, refresh_per_second=FRAMES_PER_SECOND, transient=True):
        return client.judge(panel, subject, context, case_id=case_id, on_event=board.apply)
