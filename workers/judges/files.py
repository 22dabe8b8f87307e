"""How the judges read files that somebody else wrote: bounded, regular, UTF-8, and never outside their folder."""

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

FILE_LIMIT = 256 * 1024
"""Largest file that is read, in bytes."""
FRONT_MATTER_LIMIT = 8 * 1024
"""Longest front matter, in characters."""


class UnreadableError(Exception):
    """A file or folder could not be read; the message is one clause that says why."""


def real_folder(path: str) -> Path:
    """The folder at ``path``, with every link resolved.

    Raises:
        UnreadableError: there is none, or it cannot be listed.
    """
    try:
        folder = Path(path).expanduser().resolve(strict=True)
        os.scandir(folder).close()
    except (OSError, RuntimeError, ValueError) as error:
        raise UnreadableError(f"the folder {path} cannot be read ({_cause(error)})") from error
    return folder


def read_file(path: Path, root: Path | None = None, limit: int = FILE_LIMIT) -> str:
    """The text of a regular file; with ``root``, only if it lies in that resolved folder, links followed.

    Raises:
        UnreadableError: it is missing, not regular, larger than ``limit`` bytes, not UTF-8, or leaves ``root``.
    """
    try:
        real = path.resolve(strict=True)
        if root is not None and not real.is_relative_to(root):
            raise UnreadableError(f"{path.name} leads out of its folder")
        # Non-blocking, so that a pipe put in a file's place is refused and not waited for.
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableError(f"{path.name} is no regular file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (OSError, RuntimeError, ValueError) as error:
        raise UnreadableError(f"{path.name} cannot be read ({_cause(error)})") from error
    if len(content) > limit:
        raise UnreadableError(f"{path.name} is larger than {limit} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"{path.name} is not UTF-8 (byte {error.start})") from error


def _cause(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)


class Document(NamedTuple):
    """A Markdown file: its front matter and what follows."""

    header: dict[str, Any]
    body: str


def split_front_matter(text: str) -> Document:
    """A Markdown text parted from its YAML front matter; without one the header is empty.

    Raises:
        UnreadableError: the front matter is too long, or no YAML mapping.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return Document({}, text)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return Document({}, text)
    header = "\n".join(lines[1:end])
    if len(header) > FRONT_MATTER_LIMIT:
        raise UnreadableError(f"the front matter is longer than {FRONT_MATTER_LIMIT} characters")
    try:
        # ValueError: a date or number that is none; RecursionError: brackets nested by the thousand.
        loaded: object = yaml.safe_load(header)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableError(f"the front matter is no YAML ({type(error).__name__})") from error
    if loaded is None:
        loaded = {}
    if not isinstance(loaded, dict):
        raise UnreadableError("the front matter is no YAML mapping")
    return Document(
        {str(key): value for key, value in cast("dict[Any, Any]", loaded).items()}, "\n".join(lines[end + 1 :])
    )
