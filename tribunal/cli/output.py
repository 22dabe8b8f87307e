"""What a command prints: JSON for programs, rich text for people; never both on one stream."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from tribunal.cli.faults import printable
from tribunal.model import Verdict
from tribunal.settings import Settings

PIPE_WIDTH = 160
"""Columns of a table that no terminal shows."""


def print_json(value: Mapping[str, Any], *, indent: int | None = None) -> None:
    """One JSON object, on a line of its own, written through at once."""
    # Where the terminal or locale is not UTF-8, escapes keep it JSON.
    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    print(json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, indent=indent), flush=True)


def show(*parts: RenderableType) -> None:
    """Print for people."""
    # In a pipe there is no width to keep; a table that is cut there is cut for grep too.
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    console = Console(highlight=False, markup=False, emoji=False, width=width)
    for part in parts:
        # A path that the terminal itself wraps can be copied whole.
        console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)


def words(text: str, style: str = "") -> Text:
    """Text from anywhere, as it is: no markup, nothing that a terminal obeys."""
    return Text(printable(text), style=style)


def milliseconds(value: float | None) -> str:
    """A time for people: ``85 ms``, ``2.41 s``."""
    if value is None:
        return ""
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.2f} s"


def print_verdict(verdict: Verdict, settings: Settings, *, as_json: bool) -> None:
    """The verdict: for people on a terminal; else the panel's own JSON, with ``--json`` under ``tribunal`` what we add.

    The panel's own format is the seed's, so that a script that knows it reads on.
    """
    if as_json:
        print_json({**verdict.output, "tribunal": envelope(verdict)})
    elif sys.stdout.isatty():
        from tribunal.cli.verdicts import verdict_parts

        show(*verdict_parts(verdict, settings.output_dir))
    else:
        print_json(verdict.output)


def envelope(verdict: Verdict) -> dict[str, Any]:
    """What the common verdict says beside the panel's own format."""
    decision = verdict.decision
    return {
        "case_id": verdict.case_id,
        "verdict_id": verdict.verdict_id,
        "seq": verdict.seq,
        "final": verdict.final,
        "reason": verdict.reason,
        "panel": verdict.panel,
        "outcome": decision.outcome,
        "grade": decision.grade.value,
        "authority": decision.authority.value if decision.authority else None,
        "reasons": list(decision.reasons),
        "trigger": verdict.trigger.value if verdict.trigger else None,
        "opened_at": verdict.opened_at,
        "sealed_at": verdict.sealed_at,
        "exit_code": verdict.exit_code,
    }
