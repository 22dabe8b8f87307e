"""Settings: the file, then the environment, then flags; each fault with its source."""

from pathlib import Path

import pytest

from tribunal.docket.connection import connect, masked
from tribunal.errors import ConfigurationError
from tribunal.local.running import Running, process_started, read_running, running_settings, write_running
from tribunal.settings import load_settings


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("CONFIG", "NAMESPACE", "REDIS_URL", "SUBJECT_LIMIT", "CONTEXT_ROOTS", "STATE_DIR"):
        monkeypatch.delenv(f"TRIBUNAL_{name}", raising=False)
    return tmp_path


def test_a_flag_wins_over_the_environment_and_that_over_the_file(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("tribunal.toml").write_text('[settings]\nnamespace = "file"\nsubject_limit = 1\nwait_aof_ms = 7\n')
    monkeypatch.setenv("TRIBUNAL_NAMESPACE", "environment")
    monkeypatch.setenv("TRIBUNAL_SUBJECT_LIMIT", "2")
    settings = load_settings(namespace="flag", redis_url=None)
    assert (settings.namespace, settings.subject_limit, settings.wait_aof_ms) == ("flag", 2, 7)
    assert settings.config_path == empty_folder / "tribunal.toml"


def test_relative_paths_lie_below_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "my.toml").write_text('[settings]\nstate_dir = "state"\ncontext_roots = ["a", "/b"]\n')
    settings = load_settings(folder / "my.toml")
    assert settings.state_dir == folder / "state"
    assert settings.output_dir == folder / "output"
    assert settings.context_roots == (folder / "a", Path("/b"))
    assert settings.effective_ledger_url == f"sqlite:///{folder}/state/ledger.db"


def test_a_child_process_gets_the_same_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my.toml").write_text("[settings]\nwait_aof_ms = 7\n")
    settings = load_settings(tmp_path / "my.toml", context_roots=(Path("/a"),), redis_url="redis://h")
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir("/")
    assert load_settings() == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[settings]\nnamspace = "x"', 'unknown setting "namspace"; did you mean "namespace"?'),
        ('[settings]\nnamespace = "A B"', "setting namespace (from "),
        ("[settings]\nsubject_limit = 0", "setting subject_limit"),
        ("settings = 1", "[settings] must be a table"),
        ('[settings]\nconfig_path = "x"', 'unknown setting "config_path"'),
    ],
)
def test_a_fault_in_the_file_is_named(text: str, message: str) -> None:
    Path("tribunal.toml").write_text(text)
    with pytest.raises(ConfigurationError) as fault:
        load_settings()
    assert message in str(fault.value)


def test_a_fault_in_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUNAL_SUBJECT_LIMIT", "many")
    with pytest.raises(ConfigurationError, match="TRIBUNAL_SUBJECT_LIMIT"):
        load_settings()
    monkeypatch.delenv("TRIBUNAL_SUBJECT_LIMIT")
    monkeypatch.setenv("TRIBUNAL_CONTEXT_ROOTS", "/a:/b")
    with pytest.raises(ConfigurationError, match="lists are written as JSON"):
        load_settings()


def test_a_named_file_must_be_there() -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_settings(Path("none.toml"))


def test_without_redis_the_running_up_is_taken_or_asked_for(tmp_path: Path) -> None:
    settings = load_settings(state_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="start `tribunal up`"):
        running_settings(settings)
    own = process_started(1) or 0
    write_running(tmp_path, Running(pid=1, started=own, redis_url="unix:///x", ledger_url="sqlite:///y"))
    taken = running_settings(settings)
    assert (taken.redis_url, taken.ledger_url) == ("unix:///x", "sqlite:///y")
    assert (tmp_path / "up.json").stat().st_mode & 0o777 == 0o600
    # Another process under the same number is not it.
    write_running(tmp_path, Running(pid=1, started=own + 1, redis_url="unix:///x", ledger_url="sqlite:///y"))
    assert read_running(tmp_path) is None
    (tmp_path / "up.json").write_text("{")
    assert read_running(tmp_path) is None


def test_passwords_are_masked() -> None:
    assert masked("redis://user:secret@host:1/0") == "redis://user:***@host:1/0"
    assert masked("redis://host:1/0") == "redis://host:1/0"
    with pytest.raises(ConfigurationError) as fault:
        connect("http://user:secret@host")
    assert "secret" not in str(fault.value)
