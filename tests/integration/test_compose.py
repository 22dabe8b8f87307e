"""docker-compose.yml without a Docker engine: its services, and the very commands that it names, run here."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from court import Court

from tribunal.config import builtin_catalogue

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def test_there_is_a_worker_for_every_judge_that_comes_built_in(compose: dict[str, Any]) -> None:
    commands = [service.get("command", [""]) for service in compose["services"].values()]
    workers = [command[1] for command in commands if command[0] == "workers"]
    assert sorted(workers) == list(builtin_catalogue().judge_names())


def test_valkey_keeps_what_it_acknowledges(compose: dict[str, Any]) -> None:
    command = compose["services"]["valkey"]["command"]
    assert command[command.index("--appendonly") + 1] == "yes"
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_the_commands_that_it_names_judge_a_draft(court: Court, compose: dict[str, Any]) -> None:
    roles: list[str] = []
    for service in compose["services"].values():
        command = service.get("command", [""])
        for _ in range(service.get("deploy", {}).get("replicas", 1)):
            if command[0] in ("workers", "aggregation"):
                court.start(*command)
                roles.append("aggregator" if command[0] == "aggregation" else f"judge:{command[1]}")
    court.ready(*roles)
    verdict = court.client.judge("recommendation", "Run `git push --force origin main`, it is fine.", {"risk": "high"})
    assert verdict.final
    assert verdict.decision.outcome == "veto"
