"""``python -m producers``: ways in that are programs of their own.

Faults and exit codes are those of the command ``tribunal``.
"""

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from producers.batch import (
    OPEN_AT_ONCE,
    Judged,
    as_line,
    exit_code,
    judge_all,
    make_cases,
    results_table,
    summary,
    summary_line,
)
from producers.demo import run_demo
from producers.drafts import read_drafts
from tribunal.cli.faults import told
from tribunal.cli.options import AsJson, ConfigFile, PanelName, client_settings
from tribunal.cli.output import print_json, show
from tribunal.client import Client

app = typer.Typer(name="producers", add_completion=False, no_args_is_help=True, rich_markup_mode="markdown")


@app.command()
@told
def batch(
    panel: PanelName,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of drafts, *.md with front matter.")],
    at_once: Annotated[
        int, typer.Option("--at-once", metavar="N", min=1, max=64, help="Cases that are open at once.")
    ] = OPEN_AT_ONCE,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Have every draft of a folder judged by what runs here, and show the verdicts.

    The front matter holds the context (risk, workspace, memory, expertise, ref, …; paths relative to the file) and, if
    the author likes, the expected outcome as "expect". All files are checked before the first is sent.

    The exit code is the strictest verdict's, where one that its file expects counts as 0; 1 if a draft got no verdict
    or another one than expected; 2 for bad input, and then nothing was sent.
    """
    settings = client_settings(config)
    drafts = read_drafts(folder, settings.subject_limit)
    with Client(settings) as client:
        plan = client.panel(panel)
        cases = make_cases(client, plan, drafts, folder)
        results: list[Judged] = []
        with closing(judge_all(client, plan, drafts, cases, at_once)) as verdicts:
            watched = Console(stderr=True, quiet=as_json or not sys.stderr.isatty())
            for result in track(verdicts, "judging", total=len(drafts), console=watched, transient=True):
                results.append(result)
                if as_json:
                    print_json(as_line(result))
    if as_json:
        print_json({"summary": summary(results)})
    else:
        show(results_table(results), summary_line(results))
    raise typer.Exit(exit_code(results))


@app.command()
@told
def demo(
    output: Annotated[Path, typer.Option("--output", metavar="DIR", help="Where the audit files go.")] = Path(
        "output/demo"
    ),
) -> None:
    """Judge the drafts in examples/ by a court of its own, kill a judge, and judge one again.

    It starts everything in a temporary folder and stops it. The exit code is 0 if every verdict is what its file
    expects, and the draft that passed is warned about once a judge is dead; else 1.
    """
    raise typer.Exit(run_demo(output))


if __name__ == "__main__":
    app(prog_name="python -m producers")
