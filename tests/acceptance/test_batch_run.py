"""``python -m producers batch`` on the examples, by a ``tribunal up`` that runs."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """What the court and the batch share: the examples' configuration and a state folder of this test's own."""
    with TemporaryDirectory(prefix="batch") as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TRIBUNAL_")}
        yield {
            **kept,
            "PYTHONUNBUFFERED": "1",
            "TRIBUNAL_CONFIG": str(EXAMPLES / "tribunal.toml"),
            "TRIBUNAL_STATE_DIR": folder,
            "TRIBUNAL_OUTPUT_DIR": f"{folder}/output",
        }


def batch(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "producers", "batch", "recommendation", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_folder_is_judged_by_what_runs_here(environment: dict[str, str]) -> None:
    command = [sys.executable, "-P", "-m", "tribunal.cli", "up"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as up:
        assert up.stdout is not None
        try:
            assert any(line.startswith("usable") for line in up.stdout)
            judged = batch(environment, str(EXAMPLES / "drafts"), "--json")
        finally:
            up.send_signal(signal.SIGTERM)
            up.stdout.read()

    *lines, last = (json.loads(line) for line in judged.stdout.splitlines())
    assert {line["file"]: line["outcome"] for line in lines} == {line["file"]: line["expect"] for line in lines}
    assert sorted(line["seq"] for line in lines) == list(range(1, len(lines) + 1))
    assert last["summary"]["drafts"] == len(lines) == len(list((EXAMPLES / "drafts").glob("*.md")))
    assert (judged.returncode, judged.stderr) == (0, "")


def test_without_anything_that_runs_it_says_what_to_start(environment: dict[str, str]) -> None:
    ended = batch(environment, str(EXAMPLES / "drafts"))

    assert ended.returncode == 2
    assert "start `tribunal up`" in ended.stderr
