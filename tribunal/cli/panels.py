"""``tribunal panels``: what is configured here, without any service."""

import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from tribunal.cli.options import AsJson, ConfigFile
from tribunal.cli.output import print_json, show, words
from tribunal.config import load_catalogue
from tribunal.errors import ContractError, did_you_mean
from tribunal.panels import Catalogue, Panel
from tribunal.procedures import procedure_named
from tribunal.procedures.votes import options_of
from tribunal.settings import load_settings
from tribunal.tally import panels_output


def panels_command(
    panel: Annotated[str | None, typer.Argument(metavar="PANEL", help="This one only.")] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the configured panels and their judges.

    With --json each panel is a line; of one named panel, its agents, models, tie-break and briefs, with the rest under
    the key "tribunal". These are the panels of the configuration here; services use those that they were started with.
    """
    catalogue = load_catalogue(load_settings(config).config_path)
    if panel is None:
        if as_json:
            for one in catalogue.panels.values():
                print_json(described(one, catalogue))
        else:
            show(*(part for one in catalogue.panels.values() for part in _parts(one, catalogue)))
        return
    chosen = named_panel(catalogue, panel)
    if as_json:
        print_json({**panels_output(chosen, catalogue.judges), "tribunal": described(chosen, catalogue)})
    else:
        show(*_parts(chosen, catalogue))


def named_panel(catalogue: Catalogue, name: str) -> Panel:
    """The panel of that name.

    Raises:
        ContractError: there is none.
    """
    if name not in catalogue.panels:
        raise ContractError(f'unknown panel "{name}"{did_you_mean(name, catalogue.panels)}')
    return catalogue.panels[name]


def described(panel: Panel, catalogue: Catalogue) -> dict[str, Any]:
    """All of a panel as plain JSON values, with the thresholds that are in effect."""
    seats = [
        {
            **seat.model_dump(mode="json"),
            "configured": seat.judge in catalogue.judges,
            "function": catalogue.judges[seat.judge].function if seat.judge in catalogue.judges else None,
        }
        for seat in panel.seats
    ]
    options = options_of(procedure_named(panel.procedure).Options, panel)
    return {
        **panel.model_dump(mode="json", exclude={"seats", "options", "unseated"}),
        "panel_version": panel.version,
        "options": options.model_dump(mode="json"),
        "seats": seats,
    }


def _parts(panel: Panel, catalogue: Catalogue) -> Iterator[RenderableType]:
    share = f", stage 1 at most {panel.stage_share:g} s" if panel.stage_share is not None else ""
    procedure = "" if panel.procedure == panel.name else f", procedure {panel.procedure}"
    yield words(panel.name, "bold")
    yield words(f"answers within {panel.answer_within:g} s{share}{procedure}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("seat", "judge", "stage", "timeout", "weight", "configured"):
        table.add_column(title, header_style="bold", overflow="fold")
    for seat in panel.seats:
        configured = seat.judge in catalogue.judges
        here = words("yes", "green") if configured else words("no", "yellow")
        cells = (seat.name, seat.judge, str(seat.stage), f"{seat.timeout:g} s", seat.weight)
        table.add_row(*map(words, cells), here)
    yield table
    for name, value in described(panel, catalogue)["options"].items():
        yield words(f"  {name}: {json.dumps(value, ensure_ascii=False)}", "dim")
    yield words("")
