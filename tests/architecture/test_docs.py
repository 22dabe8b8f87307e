"""The documents are true: code runs, links lead somewhere, and what they name is what the code has."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from pages import PAGES, ROOT, Block, blocks, files_of, first_cells, inline_code, links, page, prose, section
from pydantic import BaseModel

from tribunal import errors
from tribunal.cli import COMMANDS, Deferred
from tribunal.config import load_catalogue
from tribunal.judging import Packet
from tribunal.ledger.schema import metadata
from tribunal.model import Context, Verdict
from tribunal.panels import JudgeConfig, Panel, Seat
from tribunal.procedures import PROCEDURES
from tribunal.settings import ENV_PREFIX, Settings, load_settings
from tribunal.wire import Names

TRIBUNAL = [sys.executable, "-P", "-m", "tribunal.cli"]
NAMED_COMMANDS = {entry.name: Deferred(entry) for entry in COMMANDS}
ONLY_FOR_TESTS = {"TRIBUNAL_FAULT", "TRIBUNAL_FAULT_ONCE", "TRIBUNAL_TEST_REQUIRE_SERVICES"}


def every(language: str | None = None, mark: str | None = None) -> list[Block]:
    return [block for name in PAGES for block in blocks(name, language, mark)]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, timeout=60)


# Code


@pytest.mark.parametrize("block", every("python"), ids=str)
def test_python_compiles(block: Block) -> None:
    compile(block.text, str(block), "exec")


@pytest.mark.parametrize("name", [name for name in PAGES if "tribunal.toml" in files_of(name)])
def test_a_configuration_loads_whole(name: str, tmp_path: Path) -> None:
    for file, text in files_of(name).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    given = tomllib.loads(files_of(name)["tribunal.toml"])
    settings = load_settings(tmp_path / "tribunal.toml")
    catalogue = load_catalogue(settings.config_path)
    assert set(given.get("panels", {})) <= set(catalogue.panels)
    assert set(given.get("judges", {})) <= set(catalogue.judges)
    for panel in given.get("panels", {}):
        assert not catalogue.panels[panel].unseated


@pytest.mark.parametrize("block", every("python", "run"), ids=str)
def test_what_is_marked_to_run_runs(block: Block, served: Path, tmp_path: Path) -> None:
    """In the folder of the page's own files; pages without any run where the README's `tribunal up` does."""
    files = files_of(block.page)
    folder = tmp_path if files else served
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    done = run([sys.executable, "-W", "error", "-c", block.text], folder)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def served() -> Iterator[Path]:
    """The README's folder, with `tribunal up` in it and its first example judged."""
    with TemporaryDirectory(prefix="docs") as name:
        folder = Path(name)
        for file, text in files_of("README.md").items():
            (folder / file).write_text(text, encoding="utf-8")
        with subprocess.Popen([*TRIBUNAL, "up"], cwd=folder, stdout=subprocess.PIPE, text=True) as up:
            assert up.stdout is not None
            try:
                said = next((line for line in up.stdout if line.startswith("usable")), "it ended")
                assert "panels" in said
                [echo, judge] = list(commands(blocks("README.md", "sh")[1].text))[-2:]
                command = [*TRIBUNAL, *judge[1:]]
                first = subprocess.run(command, input=echo[1], cwd=folder, check=False, capture_output=True, text=True)
                assert first.returncode == 20, first.stderr
                yield folder
            finally:
                up.send_signal(signal.SIGTERM)
                up.wait(20)
        assert up.returncode == 0


def on_a_terminal(command: list[str], folder: Path) -> tuple[str, int]:
    """What a command shows on a plain terminal of 80 columns, and its exit code."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        shown = b""
        # Linux tells the end of a terminal by an error, macOS by nothing to read.
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:
            pass
        finally:
            os.close(ours)
    return shown.decode().replace("\r\n", "\n"), process.returncode


def plain(line: str) -> str:
    """A line without what differs from run to run."""
    return re.sub(r" +\d+ ms$", "", line.rstrip())


def test_the_readmes_verdict_is_what_a_terminal_shows(served: Path) -> None:
    [write, judge] = blocks("README.md", "sh")[2].text.splitlines()
    draft = re.fullmatch(r"echo '(.+)' > draft\.md", write)
    assert draft
    (served / "draft.md").write_text(draft[1] + "\n", encoding="utf-8")
    shown, code = on_a_terminal([*TRIBUNAL, *shlex.split(judge)[1:]], served)
    [printed] = blocks("README.md", "text", "verdict")
    lines = iter(map(plain, shown.split("\n")))
    for line in printed.text.splitlines():
        # `in` moves the iterator: the lines come in this order.
        assert line == "…" or plain(line) in lines, f"{line!r} was not shown in its place:\n{shown}"
    assert f"exit code {code}:" in printed.text


# The shell


def commands(text: str) -> Iterator[list[str]]:
    """The commands in a line or a block, without pipes, redirections and comments."""
    for line in text.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|>;&")
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set("|>;&"):
                yield command
                command = []
            else:
                command.append(word)


def shell() -> list[tuple[str, list[str]]]:
    """Every command of ``tribunal`` and ``make`` that a page shows, in a block or between backticks."""
    found: list[tuple[str, list[str]]] = []
    for name in PAGES:
        texts = [block.text for block in blocks(name, "sh")]
        texts += [code for code in inline_code(name) if code.startswith(("tribunal ", "make "))]
        found += [(name, command) for text in texts for command in commands(text) if command]
    return [(name, command) for name, command in found if command[0] in ("tribunal", "make")]


def test_every_command_that_is_shown_exists_with_its_flags() -> None:
    shown = shell()
    assert {command[0] for _, command in shown} == {"tribunal", "make"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name, (program, *rest) in shown:
        if program == "make":
            assert re.search(rf"^{rest[0]}:", makefile, re.MULTILINE), f"{name}: make {rest[0]}"
            continue
        if rest[0].startswith("-") or rest[0] == "COMMAND":
            continue
        assert rest[0] in NAMED_COMMANDS, f"{name}: tribunal {rest[0]}"
        known = {flag for parameter in NAMED_COMMANDS[rest[0]].loaded.params for flag in parameter.opts} | {"--help"}
        flags = {word.partition("=")[0] for word in rest[1:] if word.startswith("-") and word != "-"}
        assert flags <= known, f"{name}: tribunal {rest[0]} {flags - known}"


def test_the_example_of_the_shell_tallies() -> None:
    [block] = blocks("docs/panels.md", "sh")
    [echo, tally] = list(commands(block.text))
    done = subprocess.run([*TRIBUNAL, *tally[1:]], input=echo[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert '"needs_tiebreak"' in done.stdout


# Names


@pytest.mark.parametrize("name", PAGES)
def test_every_link_to_a_file_leads_to_one(name: str) -> None:
    for link in links(name):
        if not link.startswith(("http://", "https://", "#")):
            assert (ROOT / name).parent.joinpath(link.partition("#")[0]).exists(), f"{name}: {link}"


@pytest.mark.parametrize("name", PAGES)
def test_every_path_that_is_named_is_there(name: str) -> None:
    top = {path.name for path in ROOT.iterdir() if path.is_dir()}
    for code in inline_code(name):
        path, _, test = code.partition("::")
        if path.split("/")[0] in top and "/" in path and " " not in path and "<" not in path:
            # What the program writes is not there yet.
            if path.startswith(("output/", ".tribunal/")):
                continue
            assert (ROOT / path).exists(), f"{name}: {path}"
            assert not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{name}: {code}"


def test_every_invariant_names_tests_that_there_are() -> None:
    rows = re.findall(r"^\| (I\d+) \| .+ \| (.+) \|$", page("docs/architecture.md"), re.MULTILINE)
    assert [number for number, _ in rows] == [f"I{number}" for number in range(1, 11)]
    for number, cell in rows:
        path = ""
        tests = re.findall(r"`([^`]+)`", cell)
        assert tests, number
        for named in tests:
            path, test = named.split("::") if "::" in named else (path, named)
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), f"{number}: {named}"


def variables() -> dict[str, str]:
    """The environment variable of each setting."""
    return {name: ENV_PREFIX + ("CONFIG" if name == "config_path" else name.upper()) for name in Settings.model_fields}


@pytest.mark.parametrize("name", PAGES)
def test_every_variable_that_is_named_is_read(name: str) -> None:
    assert set(re.findall(r"\bTRIBUNAL_[A-Z_]+\b", page(name))) <= {*variables().values(), *ONLY_FOR_TESTS}


def test_the_tests_variables_are_read_by_the_tests_seams() -> None:
    sources = [ROOT / "tribunal" / "faults.py", ROOT / "tests" / "conftest.py"]
    read = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert all(f'"{name}"' in read for name in ONLY_FOR_TESTS)


def test_every_setting_is_told_with_its_variable_and_default() -> None:
    rows: dict[str, tuple[str, str]] = {
        name: (variable, default)
        for name, variable, default in re.findall(
            r"^\| `(\w+)` \| `(\w+)` \| (.+?) \|", page("docs/configuration.md"), re.MULTILINE
        )
    }
    assert set(rows) == set(Settings.model_fields) - {"config_path"}
    assert {name: variable for name, (variable, _) in rows.items()} | {"config_path": "TRIBUNAL_CONFIG"} == variables()
    for name, (_, told) in rows.items():
        default: Any = Settings.model_fields[name].default
        if default is not None:
            assert told.strip("`") == ("[]" if default == () else str(default)), name


def test_settings_reach_a_process_by_the_variables_that_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    given = load_settings(redis_url="redis://told", subject_limit=5).environment()
    assert set(given) <= set(variables().values())
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert (load_settings().redis_url, load_settings().subject_limit) == ("redis://told", 5)


def fields(model: type[BaseModel], *left_out: str) -> set[str]:
    return set(model.model_fields) - set(left_out)


@pytest.mark.parametrize(
    ("name", "heading", "expected"),
    [
        (
            "docs/panels.md",
            "A panel in `tribunal.toml`",
            fields(Panel, "name", "unseated") | fields(Seat),
        ),
        *(("docs/panels.md", procedure.name, {*fields(procedure.Options)}) for procedure in PROCEDURES.values()),
        ("docs/client.md", "The context", fields(Context)),
        ("docs/client.md", "The verdict", fields(Verdict)),
        ("docs/judges.md", "What a judge gets", fields(Packet)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_field_is_told_and_no_other(name: str, heading: str, expected: set[str]) -> None:
    outcomes = {"approved", "rejected", "conditional", "escalate", "needs_revision", "veto", "warn", "pass"}
    rows = re.findall(r"^\| (`.+?) \|", section(name, heading), re.MULTILINE)
    told = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    assert expected <= told
    assert told - expected <= outcomes


def test_the_keys_of_a_judge_are_told() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", page("docs/judges.md").partition("\n## ")[0], re.MULTILINE)
    assert set(rows) == fields(JudgeConfig, "name")


def test_every_error_is_told_with_whether_a_retry_helps() -> None:
    known = {
        value.__name__: value.retryable
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.TribunalError) and value is not errors.TribunalError
    }
    told: dict[str, bool] = {}
    for names, answers in re.findall(r"^\| (`.+?) \| (.+?) \|", section("docs/client.md", "Faults"), re.MULTILINE):
        told |= {
            error: answer == "yes"
            for error, answer in zip(re.findall(r"`(\w+)`", names), answers.split(", "), strict=True)
        }
    assert told == known


def test_the_readmes_exit_codes_are_those_of_verdicts_and_errors() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d+) \|", section("README.md", "Exit codes"), re.MULTILINE)}
    assert told == {0, 10, 11, 12, 20, errors.ContractError.exit_code, errors.TribunalError.exit_code}


def test_every_key_in_redis_is_told() -> None:
    docket = ROOT / "tribunal" / "docket"
    lua = "".join(path.read_text(encoding="utf-8") for path in (docket / "scripts").glob("*.lua"))
    python = (docket / "docket.py").read_text(encoding="utf-8")
    topic = (ROOT / "tribunal" / "topic.py").read_text(encoding="utf-8")
    kinds = {
        *re.findall(r"\bkey\('(\w+)'", lua),
        *re.findall(r"ns \.\. ':(\w+)'", lua),
        *re.findall(r'names\.key\("(\w+)"', python),
        *re.findall(r'f"\{self\._namespace\}:(\w+)', topic),
    }
    told = re.findall(r"^\| `tribunal:(\w+)", section("docs/architecture.md", "Keys in Redis"), re.MULTILINE)
    assert sorted(told) == sorted(kinds)


def test_every_table_of_the_ledger_is_told() -> None:
    told = re.findall(r"^\| `(\w+)` \|", section("docs/architecture.md", "Tables of the ledger"), re.MULTILINE)
    assert sorted(told) == sorted(metadata.tables)


def test_queues_and_exchange_have_the_names_that_are_told() -> None:
    names = Names("tribunal")
    told = re.findall(r"^\| `([^`]+)` \|", section("docs/architecture.md", "Queues and exchange"), re.MULTILINE)
    assert told == [names.queue("<name>"), names.aggregation, names.exchange]


def test_every_page_is_within_reach_of_the_readme() -> None:
    assert {link for link in links("README.md") if link.endswith(".md")} == set(PAGES) - {"README.md"}


def test_the_readme_says_early_what_it_is_and_what_to_type() -> None:
    beginning = "\n".join(page("README.md").splitlines()[:40])
    for said in ("make demo", "make test", "aggregator", "Python 3.11", *PROCEDURES):
        assert said in beginning


def test_no_page_shows_a_panel_that_does_not_exist() -> None:
    """A page that says "built in" of a judge or a panel means one."""
    catalogue = load_catalogue(None)
    told = set(first_cells("docs/judges.md")) & set(catalogue.judges)
    assert told == set(catalogue.judges)
    assert set(PROCEDURES) == set(catalogue.panels)
    for name in PROCEDURES:
        assert f"\n## {name}\n" in page("docs/panels.md")
        assert name in prose("README.md")
