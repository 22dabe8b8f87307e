"""The flags that several commands have, and the settings that they lead to."""

from pathlib import Path
from typing import Annotated

import typer

from tribunal.local.running import read_running, running_settings
from tribunal.settings import Settings, load_settings

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The configuration; without it, tribunal.toml here if there is one."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Plain JSON on standard output, a fault too.")]
PanelName = Annotated[str, typer.Argument(metavar="PANEL", help="A panel's name; see tribunal panels.")]
CaseName = Annotated[str, typer.Argument(metavar="CASE", help="A case's id.")]
SubjectFile = Annotated[
    str | None, typer.Argument(metavar="FILE", help="What is judged; - or nothing reads standard input.")
]


def client_settings(config: Path | None) -> Settings:
    """The settings of a command that talks to the services. Its log goes to standard error.

    ``log_level`` is the services'; at its default a command logs warnings only.
    """
    from tribunal.logs import configure_logging

    settings = load_settings(config)
    configure_logging("warning" if settings.log_level == "info" else settings.log_level)
    return settings


def runs_here(settings: Settings) -> bool:
    """Whether a Redis is configured or a `tribunal up` runs here."""
    return settings.redis_url is not None or read_running(settings.state_dir) is not None


def ledger_settings(settings: Settings) -> Settings:
    """The settings with the ledger of what runs here, or that of an earlier run."""
    return running_settings(settings) if runs_here(settings) else settings
