"""Files below a folder: reached through no symbolic link, written whole or not at all, for their owner's eyes."""

import errno
import os
import uuid
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from tribunal.errors import ConfigurationError, StoreUnavailable

_IN_THE_WAY = frozenset(
    {errno.ELOOP, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS}
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a file with."""


def write_once(root: Path, folders: tuple[str, ...], name: str, data: bytes) -> bool:
    """Write a file durably, mode 0600, whole or not at all. False if one of that name is there: it stays as it is.

    Raises:
        ConfigurationError: a symbolic link or a file is in the way.
        StoreUnavailable: it is not acknowledged; call again.
    """
    with faults(Path(root, *folders, name)), opened(root, folders) as folder, ExitStack() as stack:
        draft = f".{name}.{uuid.uuid4().hex}"
        file = os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FILE, 0o600, dir_fd=folder), "wb")
        stack.callback(os.unlink, draft, dir_fd=folder)
        with file:
            write(file, data)
        try:
            # A link, since a rename would overwrite.
            os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
        os.fsync(folder)
    return True


def write(file: BinaryIO, data: bytes) -> None:
    """Write, and wait until the disk has it."""
    file.write(data)
    file.flush()
    os.fsync(file)


@contextmanager
def faults(path: Path) -> Generator[None]:
    """Turn the system's errors about a path into ours."""
    try:
        yield
    except OSError as error:
        if error.errno in _IN_THE_WAY:
            raise ConfigurationError(
                f"{path}: a folder of its owner's expected on the way there, no symbolic link or file; {error} came; "
                "move it away or choose another root"
            ) from error
        raise StoreUnavailable(f"{path}: it could not be written ({error}); call again") from error


@contextmanager
def opened(root: Path, names: tuple[str, ...]) -> Generator[int]:
    """A descriptor of a folder below the root, made where it is missing; no name on the way may be a link."""
    root.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        # The root itself may be a link: that is its owner's choice.
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, folder)
        for name in names:
            try:
                os.mkdir(name, 0o700, dir_fd=folder)
                os.fsync(folder)
            except FileExistsError:
                pass
            folder = os.open(name, _FOLDER, dir_fd=folder)
            stack.callback(os.close, folder)
        yield folder
