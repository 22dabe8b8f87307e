"""``tribunal subscribe``: verdicts as JSON lines, for the next program in a pipe."""

import signal
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Annotated

import typer

from tribunal.cli.faults import drop_output
from tribunal.cli.options import AsJson, ConfigFile, client_settings
from tribunal.cli.output import print_json
from tribunal.client import Client
from tribunal.model import Verdict


def subscribe_command(
    pattern: Annotated[
        str, typer.Argument(metavar="PATTERN", help="Routing keys: * is one word, # any number; '#' is all.")
    ] = "#",
    name: Annotated[
        str | None, typer.Option("--name", help="A durable subscription: goes on where that name ended.")
    ] = None,
    since: Annotated[
        int | None, typer.Option("--since", metavar="N", help="The first number, of a new name or without one.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="End after so many.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,  # noqa: ARG001  # read by the fault handler; the output is JSON either way
) -> None:
    """Print verdicts as they are published, a JSON line each.

    The keys are PANEL.OUTCOME, on approved diffs with .auto or .human behind. Without --name and --since only verdicts
    from now on come. With --name none is missed: its cursor moves when the line is written, so that after a crash the
    last line may come again, with the same "seq".

    Ctrl-C, SIGTERM and a closed pipe end it, with exit code 0.
    """
    stop = threading.Event()
    with _stopped_by_signals(stop), Client(client_settings(config)) as client:
        print_verdicts(client.subscribe(pattern, name=name, since=since, stop=stop), stop, limit)


def print_verdicts(verdicts: Generator[Verdict], stop: threading.Event, limit: int | None = None) -> None:
    """Print verdicts, a JSON line each, until they end, ``stop`` is set, or the pipe is closed; at most ``limit``.

    Each line is written through before the next verdict is asked for, which is what moves a durable cursor.
    """
    written = 0
    # Closed before the next verdict is asked for, the generator leaves the cursor where it is.
    with closing(verdicts):
        for verdict in verdicts:
            if stop.is_set():
                return
            try:
                print_json(verdict.model_dump(mode="json"))
            except BrokenPipeError:
                drop_output()
                return
            written += 1
            if written == limit:
                # The loop asks once more: the cursor moves.
                stop.set()


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Generator[None]:
    """Turn the first SIGINT or SIGTERM into ``stop``; a second one ends the process as usual."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in kept.items():
            signal.signal(number, handler)

    def handle(*_: object) -> None:
        restore()
        stop.set()

    for number in kept:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
