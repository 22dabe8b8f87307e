"""The command ``tribunal``: the list of its commands. A command's module is loaded when that command is called."""

import sys
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from inspect import getdoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tribunal.cli.faults import told

DISTRIBUTION = "tribunal-queue"


@dataclass(frozen=True)
class Entry:
    """A command, as far as the list of commands needs it."""

    name: str
    module: str
    """In ``tribunal.cli``; its function ``<name>_command`` is the command, its docstring the help."""
    summary: str
    example: str


COMMANDS = (
    Entry("up", "services", "Run everything here: Valkey, a worker per judge, an aggregator.", "tribunal up"),
    Entry(
        "judge",
        "judge",
        "Have a subject judged, and wait for the verdict.",
        "tribunal judge recommendation draft.md --workspace .",
    ),
    Entry(
        "submit",
        "cases",
        "Open a case and print its id, without waiting.",
        "git diff main | tribunal submit routine-review --routine nightly --target main",
    ),
    Entry("wait", "cases", "Wait for a case's verdict.", "tribunal wait 0b54b1a2 --timeout 60"),
    Entry("follow", "cases", "Show what happens to a case, as it happens.", "tribunal follow 0b54b1a2 --json"),
    Entry("show", "record", "Show all that is recorded of a case.", "tribunal show 0b54b1a2"),
    Entry(
        "list", "record", "List the newest verdicts, or the open cases.", "tribunal list --panel consensus --limit 10"
    ),
    Entry(
        "reopen",
        "record",
        "Let an escalated routine start again, as a person's decision.",
        'tribunal reopen 0b54b1a2 --by ana --note "reviewed by hand"',
    ),
    Entry(
        "subscribe",
        "subscribe",
        "Print verdicts as they are published, a JSON line each.",
        "tribunal subscribe 'routine-review.#' --name merger",
    ),
    Entry(
        "tally",
        "tally",
        "Decide on votes given as JSON, without any service.",
        """echo '{"mimir": null, "forseti": null}' | tribunal tally routine-review""",
    ),
    Entry("classify", "classify", "Tell a draft's risk class and what led to it.", "tribunal classify draft.md"),
    Entry("panels", "panels", "Show the configured panels and their judges.", "tribunal panels routine-review --json"),
    Entry("worker", "services", "Run one worker of a judge.", "tribunal worker rule-violation"),
    Entry("aggregator", "services", "Run one aggregator.", "tribunal aggregator"),
)


class Deferred(TyperCommand):
    """A command that imports its module when it is called."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(name=entry.name, help=entry.summary)
        self.entry = entry

    @cached_property
    def loaded(self) -> Any:
        """The command itself."""
        function = getattr(import_module(f"tribunal.cli.{self.entry.module}"), f"{self.entry.name}_command")
        app = typer.Typer(add_completion=False, rich_markup_mode="rich")
        # The paragraphs are wrapped again to the terminal's width.
        paragraphs = (getdoc(function) or "").split("\n\n")
        text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        app.command(self.entry.name, help=text, epilog=f"Example:\n\n  {self.entry.example}")(told(function))
        return get_command(app)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the loaded command, so that all that follows is that command's."""
        return self.loaded.make_context(info_name, args, parent=parent, **extra)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"tribunal {version(DISTRIBUTION)}")
        raise typer.Exit


def make_group() -> TyperGroup:
    """The command with all its commands, none of them loaded."""
    app = typer.Typer(name="tribunal", no_args_is_help=True, rich_markup_mode="rich")

    @app.callback(epilog="tribunal COMMAND --help has the flags of a command and an example.")
    def tribunal(  # pyright: ignore[reportUnusedFunction]  # typer keeps it
        version: Annotated[
            bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
        ] = False,
    ) -> None:
        """A panel of independent judges on queues, and exactly one verdict by a deadline."""

    group = get_command(app)
    if not isinstance(group, TyperGroup):
        raise TypeError(f"a command group expected; typer made {type(group).__name__}")
    for entry in COMMANDS:
        group.add_command(Deferred(entry))
    return group


def main() -> None:
    """Run the command that the arguments name, and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows its escape.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a TextIOWrapper, in a program
    make_group().main(prog_name="tribunal")
