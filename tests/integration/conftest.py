"""Fixtures of the engine's tests: everything is real, nothing is simulated by raising."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from court import Court, court_in, served_by


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder with a short name: the path of a unix socket is limited."""
    with TemporaryDirectory(prefix="court") as folder:
        yield Path(folder)


@pytest.fixture
def court(short_folder: Path) -> Iterator[Court]:
    """A court of this test's own; nothing runs in it yet but Valkey."""
    with court_in(short_folder) as court:
        yield court


@pytest.fixture(scope="module", params=["embedded", "services", "rabbitmq"])
def shared_court(request: pytest.FixtureRequest, require_service: Callable[[str], None]) -> Iterator[Court]:
    """A court for the tests of a module that kill nothing, with every judge at work, on each kind of store."""
    for service in {"services": ("redis", "postgresql"), "rabbitmq": ("rabbitmq",)}.get(request.param, ()):
        require_service(service)
    with (
        TemporaryDirectory(prefix="court") as folder,
        served_by(request.param) as settings,
        court_in(Path(folder), **settings) as court,
    ):
        court.serve("fine", "fine-waiting", "slow", "slow-waiting", "misbehaving", "reviewer", "vetoing")
        yield court
