"""What a command reads: a file or standard input, bounded, as UTF-8."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from tribunal.errors import ContractError

STDIN = "-"


def read_subject(source: str | None, limit: int) -> str:
    """A subject from a file, or from standard input (``-`` or None); at most ``limit`` bytes of UTF-8.

    Raises:
        ContractError: it cannot be read, is too large, or no UTF-8; or nothing is piped in and no file named.
    """
    return decoded(read_bytes(source, limit, "setting subject_limit"), place(source))


def read_document(path: Path, limit: int) -> str:
    """A file that goes into the context, at most ``limit`` bytes. Raises like :func:`read_subject`."""
    return decoded(read_bytes(str(path), limit, "a context's documents are short"), str(path))


def read_bytes(source: str | None, limit: int, why: str) -> bytes:
    """At most ``limit`` bytes of a file or of standard input.

    Raises:
        ContractError: it cannot be read or is larger.
    """
    with opened(source) as stream:
        try:
            data = stream.read(limit + 1)
        except OSError as error:
            raise _unreadable(source, error) from error
    if len(data) > limit:
        raise ContractError(f"{place(source)}: at most {limit:,} bytes expected ({why}); more came; shorten it")
    return data


@contextmanager
def opened(source: str | None) -> Generator[BinaryIO]:
    """A file or standard input, as bytes.

    Raises:
        ContractError: it cannot be opened; or no file is named and standard input is a terminal, or closed.
    """
    standard: TextIO | None = sys.stdin  # None where the shell closed it (<&-), which its type does not say
    if source in (None, STDIN) and standard is None:
        raise ContractError("a file or text on standard input expected, but that is closed; name a file, or pipe it in")
    if source is None and sys.stdin.isatty():
        raise ContractError("a file or text on standard input expected, neither came; name a file, or pipe the text in")
    if source in (None, STDIN):
        yield sys.stdin.buffer
        return
    try:
        file = Path(str(source)).open("rb")  # noqa: SIM115  # closed below; only the opening is guarded here
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from error
    with file:
        yield file


def read_lines(source: str | None, limit: int) -> Generator[bytes]:
    """The lines of a file or of standard input, as they come, with their ends; one that is longer comes in pieces.

    Raises:
        ContractError: it cannot be opened or read.
    """
    with opened(source) as stream:
        while True:
            try:
                line = stream.readline(limit)
            except OSError as error:
                raise _unreadable(source, error) from error
            if not line:
                return
            yield line


def decoded(data: bytes, where: str) -> str:
    """The bytes as text.

    Raises:
        ContractError: they are no UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ContractError(
            f"{where}: UTF-8 expected; byte 0x{data[error.start]:02x} came at offset {error.start}; convert it"
        ) from error


def place(source: str | None) -> str:
    """What the source is called in messages."""
    return "standard input" if source in (None, STDIN) else str(source)


def _unreadable(source: str | None, error: OSError | ValueError) -> ContractError:
    reason = error.strerror if isinstance(error, OSError) else error
    return ContractError(f"{place(source)}: a file that can be read expected; {reason}; check the path and its mode")
