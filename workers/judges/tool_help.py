"""The help texts of known tools: the only thing that a judge starts.

The tool comes from a fixed list and is resolved to an absolute path outside the workspace; nothing of a draft reaches
its arguments. No shell, no input, no configuration of a user, a bounded answer, and the whole process group is killed.
"""

import os
import selectors
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import IO

from workers.judges.commands import SUBCOMMANDS, TOOLS, known_flags

HELP_SECONDS = 0.6
"""How long a tool may take to print its help; pip takes 0.4 to 0.5."""
HELP_LIMIT = 256 * 1024
"""At most so many bytes of it are read."""

_CACHE: dict[tuple[str, int, tuple[str, ...]], str | None] = {}


def help_text(command: tuple[str, ...], seconds: float, avoid: Path | None = None) -> str | None:
    """The help of a tool and its subcommand, within ``seconds`` and :data:`HELP_SECONDS`; None if it gave no whole one.

    ``command`` must be of :data:`~workers.judges.commands.TOOLS` and ``SUBCOMMANDS``. A tool inside ``avoid`` is never
    started. Whole answers are kept for this process, as long as the tool's file stays the same.
    """
    tool, *rest = command
    if tool not in TOOLS or (rest and (len(rest) > 1 or rest[0] not in SUBCOMMANDS.get(tool, ()))):
        return None
    folders = _search_path(avoid)
    found = shutil.which(tool, path=os.pathsep.join(folders))
    if found is None or (avoid is not None and Path(found).resolve().is_relative_to(avoid)):
        return None
    key = (found, Path(found).stat().st_mtime_ns, command)
    if key not in _CACHE:
        text = _run([found, *rest, *_asking(tool)], folders, min(seconds, HELP_SECONDS))
        if text is None:
            return None
        # A tool without long options, or one that lists a part of them, says nothing about a flag that it leaves out.
        _CACHE[key] = text if len(known_flags(text)) >= 3 and "BusyBox" not in text else None
    return _CACHE[key]


def _search_path(avoid: Path | None) -> list[str]:
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(folder).is_absolute()]
    return [folder for folder in folders if avoid is None or not Path(folder).resolve().is_relative_to(avoid)]


def _asking(tool: str) -> tuple[str, ...]:
    if tool == "git":
        return ("-h",)  # --help would open a manual page
    return ("--help", "all") if tool == "curl" else ("--help",)


def _run(argv: list[str], folders: list[str], seconds: float) -> str | None:
    """What the process prints until it ends; None if it does not end in time or prints too much."""
    environment = {
        "PATH": os.pathsep.join(folders),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            assert process.stdout is not None  # noqa: S101  # a pipe was asked for
            return _read(process.stdout, time.monotonic() + seconds)
        finally:
            # Not reaped yet, so the group is still this one.
            os.killpg(process.pid, signal.SIGKILL)


def _read(pipe: IO[bytes], end: float) -> str | None:
    content = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(content) <= HELP_LIMIT and selector.select(max(0.0, end - time.monotonic())):
            chunk = os.read(pipe.fileno(), 65_536)
            if not chunk:
                return content.decode(errors="replace")
            content += chunk
    return None
