"""What `tribunal up` runs here: the file that it leaves, and the settings that clients take from it."""

import json
import os
from pathlib import Path

from pydantic import ValidationError

from tribunal.errors import ConfigurationError
from tribunal.model import Frozen
from tribunal.settings import Settings

RUNNING_FILE = "up.json"


class Running(Frozen):
    """A running `tribunal up`."""

    pid: int
    started: int
    """When the process started, in clock ticks since boot (Linux), so that a reused pid is not taken for it."""
    redis_url: str
    broker_url: str | None = None
    ledger_url: str
    namespace: str = "tribunal"

    def alive(self) -> bool:
        """Whether that very process still runs."""
        return process_started(self.pid) == self.started


def process_started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; 0 where the system does not tell; None if it is gone."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    # The name in the second field may hold spaces and parentheses; the state is the third, the start the 22nd.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def read_running(state_dir: Path) -> Running | None:
    """What runs below ``state_dir``; None where nothing does.

    Raises:
        ConfigurationError: the file is there and cannot be read.
    """
    try:
        found = Running.model_validate_json((state_dir / RUNNING_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None
    except OSError as error:
        raise ConfigurationError(
            f"{state_dir / RUNNING_FILE} cannot be read ({error.strerror}); is it another user's? Then set state_dir"
        ) from error
    return found if found.alive() else None


def write_running(state_dir: Path, running: Running) -> None:
    """Leave the file for clients, whole or not at all, readable by this user only."""
    path = state_dir / RUNNING_FILE
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(running.model_dump(), file)
    part.replace(path)


def running_settings(settings: Settings) -> Settings:
    """The settings, with the embedded Valkey of the `tribunal up` that runs here where no Redis is configured.

    Raises:
        ConfigurationError: no Redis is configured and nothing runs.
    """
    if settings.redis_url is not None:
        return settings
    running = read_running(settings.state_dir)
    if running is None:
        raise ConfigurationError(
            f"no Tribunal runs here: nothing in {settings.state_dir / RUNNING_FILE} and no redis_url is set; "
            "start `tribunal up` in this folder, or set TRIBUNAL_REDIS_URL"
        )
    return settings.model_copy(update=running.model_dump(exclude={"pid", "started"}))
