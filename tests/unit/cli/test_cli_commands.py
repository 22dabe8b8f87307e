"""The list of commands: cheap, complete, helpful."""

import json
import subprocess
import sys

import pytest

from tests.unit.cli.conftest import Run
from tribunal.cli import COMMANDS, Entry

HEAVY = ("celery", "kombu", "redis", "sqlalchemy", "alembic", "pydantic", "tribunal.model", "tribunal.client")


def modules_after(*arguments: str) -> set[str]:
    """The modules that are loaded in a fresh interpreter after the command."""
    script = (
        "import json, sys\n"
        "from tribunal.cli import make_group\n"
        f"try: make_group().main({list(arguments)!r}, prog_name='tribunal')\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], input="{}", capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_list_of_commands_loads_nothing_heavy():
    assert modules_after("--help").isdisjoint(HEAVY)


@pytest.mark.parametrize("arguments", [("tally", "consensus"), ("classify",), ("panels",)], ids=" ".join)
def test_a_command_without_services_loads_none_of_their_libraries(arguments: tuple[str, ...]):
    loaded = modules_after(*arguments)
    assert loaded.isdisjoint({"celery", "kombu", "redis", "sqlalchemy", "tribunal.client"})


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_every_command_has_help_with_an_example(entry: Entry, run: Run):
    ran = run(entry.name, "--help")

    assert ran.code == 0
    assert entry.summary in ran.out, "the list and the command's own help begin alike"
    assert entry.example.split()[:2] == ["tribunal", entry.name] or f"| tribunal {entry.name}" in entry.example
    assert " ".join(entry.example.split()) in " ".join(ran.out.split())


def test_the_list_names_every_command(run: Run):
    listed = run("--help").out
    assert all(entry.name in listed and entry.summary in listed for entry in COMMANDS)


def test_the_version_is_the_distributions(run: Run):
    from importlib.metadata import version

    assert run("--version").out == f"tribunal {version('tribunal-queue')}\n"


def test_a_mistyped_command_is_told_the_nearest(run: Run):
    ran = run("jugde")
    assert ran.code == 2
    assert "Did you mean 'judge'?" in ran.err


def test_a_mistyped_flag_ends_with_2(run: Run):
    assert run("list", "--pannel", "x").code == 2
