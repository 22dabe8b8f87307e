"""Connections to Redis or Valkey, and what its append-only file promises."""

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit, urlunsplit

import redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError
from redis.retry import Retry

from tribunal.errors import ConfigurationError, StoreUnavailable, TribunalError

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECT_TIMEOUT = 1.0
SOCKET_TIMEOUT = 2.0
"""Seconds. Blocking reads use connections of their own, see :meth:`tribunal.docket.Docket.events`."""

OPTIONS: dict[str, Any] = {
    "decode_responses": True,
    "socket_connect_timeout": CONNECT_TIMEOUT,
    "socket_timeout": SOCKET_TIMEOUT,
    "health_check_interval": 30,
}


def connect(url: str) -> Any:
    """A redis-py client for ``url``; nothing is sent yet. A broken connection is tried once more, at once.

    Typed Any, since redis-py's annotations are partly unknown.

    Raises:
        ConfigurationError: it is no Redis URL.
    """
    try:
        return cast("Any", redis.Redis).from_url(url, retry=Retry(ExponentialBackoff(cap=0.1, base=0.01), 1), **OPTIONS)
    except ValueError as error:
        raise ConfigurationError(
            f"Redis URL: redis://host:port/db, rediss://… or unix:///path expected; {masked(url)} came"
        ) from error


def masked(url: str) -> str:
    """A URL without its password, for messages and logs."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return f"{url.partition(':')[0]}://…"
    if password is not None:
        host = parts.netloc.rpartition("@")[2]
        parts = parts._replace(netloc=f"{parts.username or ''}:***@{host}")
    # redis-py takes a password from the query, too.
    return urlunsplit(parts._replace(query=re.sub(r"(?<=password=)[^&]*", "***", parts.query)))


class Durability(StrEnum):
    """How this server can acknowledge that a write is in its append-only file."""

    WAITAOF = "waitaof"
    ALWAYS = "always"
    """``appendfsync always``: every reply says so."""


def durability(client: Any, url: str) -> Durability:
    """What the server offers.

    Raises:
        ConfigurationError: it keeps nothing that it acknowledges.
        StoreUnavailable: it did not answer.
    """
    advice = (
        "set `appendonly yes` (and, before Redis 7.2, `appendfsync always`), or accept with the setting "
        "wait_aof_ms = 0 that a crash of Redis can lose cases"
    )
    try:
        client.execute_command("WAITAOF", 1, 0, 1)
        return Durability.WAITAOF
    except NoPermissionError as error:
        raise unavailable(url, error) from error
    except ResponseError as error:
        if "unknown command" not in str(error).lower():
            raise ConfigurationError(f"Redis at {masked(url)} has no append-only file ({error}); {advice}") from error
    except RedisError as error:
        raise unavailable(url, error) from error
    try:
        found: dict[str, str] = client.config_get("append*")
    except NoPermissionError:
        found = {}
    except RedisError as error:
        raise unavailable(url, error) from error
    if found.get("appendonly") == "yes" and found.get("appendfsync") == "always":
        return Durability.ALWAYS
    raise ConfigurationError(f"Redis at {masked(url)} has no WAITAOF and does not write each command to disk; {advice}")


def unavailable(url: str, error: Exception) -> TribunalError:
    """The fault to raise for an error of redis-py: one of the configuration where trying again cannot help."""
    if isinstance(error, AuthenticationError | NoPermissionError):
        return ConfigurationError(
            f"Redis at {masked(url)} refused us ({error}); check the user, password and ACL in its URL"
        )
    return StoreUnavailable(f"Redis at {masked(url)} did not answer ({type(error).__name__}: {error}); try again")


def pairs(flat: list[str]) -> "Iterator[tuple[str, str]]":
    """A flat reply of names and values as pairs."""
    return zip(flat[::2], flat[1::2], strict=True)
