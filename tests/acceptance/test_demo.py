"""``make demo``, as a user runs it: the verdicts, the dead judge, and nothing left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DRAFTS = ROOT / "examples" / "drafts"
JUDGES = {"memory-conflict", "rule-violation", "hallucination-fast"}
TITLE = re.compile(r"\d+ of \d+ · (\S+)")


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder for temporary files, with a short name: the path of a unix socket is limited."""
    with TemporaryDirectory(prefix="demo") as folder:
        yield Path(folder)


@contextmanager
def started(private: Path, output: Path, *, checkout: Path = ROOT) -> Iterator["subprocess.Popen[str]"]:
    """The demo, running. What this machine has configured must not reach it, so that names a Redis that is none."""
    environment = {
        **os.environ,
        "TMPDIR": str(private),
        "COLUMNS": "100",
        "PYTHONIOENCODING": "utf-8",
        "TRIBUNAL_REDIS_URL": "redis://127.0.0.1:1/0",
    }
    command = [sys.executable, "-m", "producers", "demo", "--output", str(output)]
    with subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(process: "subprocess.Popen[str]", until: str | None = None) -> list[str]:
    """Its output, up to a line that holds ``until`` or to the end."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if until and until in line:
            break
    return lines


def processes_of(private: Path) -> set[int]:
    """The processes that know the folder, from their arguments or their environment."""
    found: set[int] = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            known = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue  # it ended, or is another user's
        if os.fsencode(private) in known:
            found.add(int(entry.name))
    return found


def sections(lines: list[str]) -> dict[str, list[str]]:
    """The lines of each draft by its file's name; those of the one that is judged again under ``again``."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if match := TITLE.match(line):
            current = found.setdefault(match[1], [])
        elif "once more" in line:
            current = found.setdefault("again", [])
        current.append(line)
    return found


def word_of(section: list[str]) -> str:
    """The verdict that a section shows."""
    return next(match[1] for line in section if (match := re.match(r"  (PASS|WARN|VETO)\b", line)))


def expected() -> dict[str, str]:
    """What each example's file says that it deserves."""
    found = {path.name: re.search(r"^expect: (\w+)$", path.read_text("utf-8"), re.M) for path in DRAFTS.glob("*.md")}
    return {name: match[1] for name, match in found.items() if match}


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
def test_the_demo_shows_every_verdict_and_never_pass_without_a_judge(private: Path, tmp_path: Path) -> None:
    with started(private, tmp_path) as demo:
        before = lines_of(demo, until="was killed")
        alive = processes_of(private)
        after = lines_of(demo)
        code = demo.wait()

    shown = sections(before + after)
    again = shown.pop("again")
    assert {name: word_of(section) for name, section in shown.items()} == expected()
    assert code == 0, "\n".join(after)

    # With one judge dead, the draft that passed is warned about, and the banner names the judge.
    assert word_of(shown["02-refund-retry.en.md"]) == "PASS"
    assert word_of(again) == "WARN"
    assert any("hallucination-fast did not answer (timeout)" in line for line in again)

    # Real processes: the demo, Valkey, the aggregator, three workers with a child each; and none of them afterwards.
    assert len(alive) >= 9
    assert processes_of(private) == set()
    assert list(private.iterdir()) == []


def test_every_verdict_in_both_languages_is_among_the_examples() -> None:
    deserved = expected()

    assert len(deserved) == len(list(DRAFTS.glob("*.md"))) >= 9
    for language in ("en", "es"):
        assert {word for name, word in deserved.items() if f".{language}." in name} == {"PASS", "WARN", "VETO"}


def test_every_judge_decides_an_example(private: Path, tmp_path: Path) -> None:
    with started(private, tmp_path) as demo:
        lines = lines_of(demo)
        demo.wait()

    audits = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("recommendation-tribunal/*/*.json")]
    assert len(audits) == len(expected()) + 1, lines
    assert {judge for audit in audits for judge in audit["veto_judges"]} == JUDGES
    modes = [audit["judges"].get("expertise-asymmetry", {}).get("mode") for audit in audits]
    assert "rewrite-blind" in modes
    assert any("expertise-asymmetry asks for a rewrite" in line for line in lines)
    assert [audit["verdict"] for audit in audits if audit["skipped"]] == ["PASS"]


def test_a_verdict_that_its_draft_does_not_deserve_makes_the_demo_fail(private: Path, tmp_path: Path) -> None:
    """Given a copy of the checkout's demo, in which a draft with a password expects to pass."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "producers", checkout / "producers")
    shutil.copytree(ROOT / "examples", checkout / "examples", ignore=shutil.ignore_patterns("*.md"))
    drafts = checkout / "examples" / "drafts"
    drafts.mkdir(exist_ok=True)
    for name in ("02-refund-retry.en.md", "05-database-url.en.md"):
        text = (DRAFTS / name).read_text("utf-8").replace("expect: VETO", "expect: PASS")
        (drafts / name).write_text(text, encoding="utf-8")

    with started(private, tmp_path / "output", checkout=checkout) as demo:
        lines = lines_of(demo)
        code = demo.wait()

    assert code == 1
    assert "✗ 05-database-url.en.md: PASS expected, VETO came" in lines
    assert word_of(sections(lines)["again"]) == "WARN"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
def test_a_demo_that_is_told_to_stop_leaves_nothing_behind(private: Path, tmp_path: Path) -> None:
    with started(private, tmp_path) as demo:
        lines_of(demo, until="Usable")
        demo.send_signal(signal.SIGTERM)
        lines_of(demo)
        code = demo.wait()

    assert code == 128 + signal.SIGTERM
    assert processes_of(private) == set()
    assert list(private.iterdir()) == []
