"""Which services this machine has. A test that needs a missing one skips on a laptop and fails where CI found it."""

import os
import socket
from collections.abc import Callable

import pytest

SERVICES = {
    "redis": ("127.0.0.1", 6379),
    "postgresql": ("127.0.0.1", 5432),
    "rabbitmq": ("127.0.0.1", 5672),
}
REQUIRE = "TRIBUNAL_TEST_REQUIRE_SERVICES"
"""Names of services, with commas between, that must answer."""


def _answers(name: str) -> bool:
    try:
        with socket.create_connection(SERVICES[name], timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture(scope="session")
def require_service() -> Callable[[str], None]:
    """Call it with a service's name: it skips the test where that does not answer, or fails it where it must."""
    known: dict[str, bool] = {}

    def require(name: str) -> None:
        if name not in known:
            known[name] = _answers(name)
        if known[name]:
            return
        host, port = SERVICES[name]
        reason = f"{name} does not answer on {host}:{port}"
        if name in os.environ.get(REQUIRE, "").split(","):
            pytest.fail(f"{reason}, and {REQUIRE} says that it must")
        pytest.skip(reason)

    return require
