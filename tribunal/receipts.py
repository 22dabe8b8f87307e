"""The receipt trail of routine-review: a log line at every tally and tie-break, and a snapshot of each resolved round.

``<root>/runs/routine-review/<slug>/<UTC timestamp>/`` holds ``run-log.jsonl`` and ``round-<N>.json``: one folder a
lineage. Nothing below the root is reached through a symbolic link, and nobody else can read it.
"""

import fcntl
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from pydantic import JsonValue, TypeAdapter, ValidationError

from tribunal.confined import FILE, faults, opened, write, write_once
from tribunal.errors import ContractError
from tribunal.model import Slug, canonical

LOG = "run-log.jsonl"
_TRAIL = ("runs", "routine-review")
_RUN = re.compile(r"[0-9]{8}T[0-9]{9}Z")
_RUN_FORMAT = "%Y%m%dT%H%M%S%f"
_SLUG: TypeAdapter[str] = TypeAdapter(Slug)


def run_name(opened_at: int) -> str:
    """The folder of a lineage that was opened then (milliseconds since the epoch): ``20260110T101112345Z``."""
    opened = datetime.fromtimestamp(opened_at // 1000, UTC)
    return f"{opened:%Y%m%dT%H%M%S}{opened_at % 1000:03d}Z"


def run_folder(root: Path, slug: str, run: str) -> Path:
    """Where that run's receipts are.

    Raises:
        ContractError: the slug or the run is no name of a folder here.
    """
    return Path(root, *_TRAIL, _checked_slug(slug), _checked_run(run))


def newest_run(root: Path, slug: str) -> str | None:
    """The newest run of a routine; None if it has none.

    Raises:
        ContractError: the slug is none.
        ConfigurationError: a symbolic link or a file is in the way.
        StoreUnavailable: the folder cannot be read.
    """
    folder = Path(root, *_TRAIL, _checked_slug(slug))
    with faults(folder):
        if not folder.exists():
            return None
        with opened(root, (*_TRAIL, slug)) as parent:
            return _newest(parent) or None


def new_run(root: Path, slug: str, now: int) -> str:
    """Make a fresh run and give its name, which sorts after all others of the routine. ``now``: milliseconds.

    Raises:
        ContractError: the slug is none.
        ConfigurationError: a symbolic link or a file is in the way.
        StoreUnavailable: the folder cannot be written.
    """
    folder = Path(root, *_TRAIL, _checked_slug(slug))
    with faults(folder), opened(root, (*_TRAIL, slug)) as parent:
        name = run_name(now)
        while True:
            newest = _newest(parent)
            name = name if name > newest else _next_run(newest)
            try:
                os.mkdir(name, 0o700, dir_fd=parent)
            except FileExistsError:
                continue
            os.fsync(parent)
            return name


def append(root: Path, slug: str, run: str, line: Mapping[str, JsonValue], key: str | None = None) -> bool:
    """Append a line to the run's log, durably. False if a line with this ``key`` is there already.

    The key lets a caller that died before it could note its success call again. A last line that was cut short by a
    crash, and so was never acknowledged, is removed.

    Raises:
        ContractError: the slug or the run is none.
        ConfigurationError: a symbolic link or a file is in the way.
        StoreUnavailable: nothing was acknowledged; call again with the same key.
    """
    data = _encoded(canonical({**line, "key": key} if key is not None else dict(line)))
    path = run_folder(root, slug, run) / LOG
    with faults(path), opened(root, (*_TRAIL, slug, run)) as folder:
        with os.fdopen(os.open(LOG, os.O_RDWR | os.O_CREAT | FILE, 0o600, dir_fd=folder), "r+b") as log:
            fcntl.flock(log, fcntl.LOCK_EX)
            before = log.read()
            whole = before.rfind(b"\n") + 1
            if key is not None and any(_key(row) == key for row in before[:whole].split(b"\n")):
                return False
            log.truncate(whole)
            log.seek(whole)
            write(log, data)
        os.fsync(folder)
    return True


def write_round(root: Path, slug: str, run: str, number: int, record: Mapping[str, JsonValue]) -> bool:
    """Write ``round-<number>.json``, whole or not at all. False if it is there: it is never overwritten.

    Raises:
        ContractError: the slug or the run is none, or the number is below 1.
        ConfigurationError: a symbolic link or a file is in the way.
        StoreUnavailable: it is not acknowledged; call again.
    """
    if number < 1:
        raise ContractError(f"a round is 1 or more; {number} came")
    data = _encoded(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False))
    folders = (*_TRAIL, _checked_slug(slug), _checked_run(run))
    return write_once(root, folders, f"round-{number}.json", data)


def _checked_slug(slug: str) -> str:
    try:
        return _SLUG.validate_python(slug, strict=True)
    except ValidationError as error:
        raise ContractError(f"a routine's slug is {error.errors()[0]['msg']}; {slug!r} came") from error


def _checked_run(run: str) -> str:
    if _time_of(run) is None:
        raise ContractError(f"a run is a UTC timestamp such as 20260110T101112345Z; {run!r} came")
    return run


def _time_of(run: str) -> datetime | None:
    if not _RUN.fullmatch(run):
        return None
    try:
        return datetime.strptime(run[:-1] + "000", _RUN_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


def _newest(folder: int) -> str:
    return max((name for name in os.listdir(folder) if _time_of(name)), default="")


def _next_run(run: str) -> str:
    time = _time_of(run)
    return run_name(round(time.timestamp() * 1000) + 1) if time else run


def _key(row: bytes) -> object:
    """The key of a line; None of one that is no JSON object, as somebody's edit may leave it."""
    try:
        line: object = json.loads(row)
    except ValueError:
        return None
    return cast("dict[str, object]", line).get("key") if isinstance(line, dict) else None


def _encoded(text: str) -> bytes:
    # A lone surrogate, which a judge may have said, becomes its JSON escape.
    return text.encode("utf-8", "backslashreplace") + b"\n"
