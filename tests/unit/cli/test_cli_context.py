"""The context flags of ``judge`` and ``submit``."""

from pathlib import Path

import pytest
import typer
from typer.main import get_command

from tests.unit.cli.conftest import Run
from tribunal.cli.context import with_context
from tribunal.errors import ContractError
from tribunal.model import Context, Risk


def parsed(*flags: str) -> Context:
    """The context that a command gets for these flags."""
    seen: list[Context] = []

    @with_context
    def command(*, context: Context) -> None:
        seen.append(context)

    app = typer.Typer(add_completion=False)
    app.command()(command)
    get_command(app).main(list(flags), standalone_mode=False)
    return seen[0]


def test_without_flags_the_context_is_empty():
    assert parsed() == Context()


def test_each_flag_reaches_its_field(tmp_path: Path):
    (tmp_path / "policy.md").write_text("may edit docs")
    (tmp_path / "dod.md").write_text("tests pass")
    context = parsed(
        *("--ref", "r", "--risk", "high", "--workspace", str(tmp_path), "--memory", str(tmp_path)),
        *("--expertise", str(tmp_path / "e.md"), "--type", "pr", "--code-verdict", "REJECTED"),
        *("--touches", "auth", "--touches", "pii", "--ambiguous", "--change-kind", "crud", "--risk-score", "12"),
        *("--skip-optional", "--routine", "nightly", "--target", "main", "--previous", "c1"),
        *("--policy", str(tmp_path / "policy.md"), "--dod", str(tmp_path / "dod.md")),
    )

    assert context == Context(
        ref="r",
        risk=Risk.HIGH,
        workspace=str(tmp_path),
        memory=str(tmp_path),
        expertise=str(tmp_path / "e.md"),
        type="pr",
        code_verdict="REJECTED",
        touches=("auth", "pii"),
        ambiguous=True,
        change_kind="crud",
        risk_score=12,
        skip_optional=True,
        routine="nightly",
        target="main",
        previous="c1",
        policy="may edit docs",
        dod="tests pass",
    )
    assert set(context.model_dump(exclude_defaults=True)) == set(Context.model_fields), "no field without a flag"


def test_folders_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    context = parsed("--workspace", "src", "--memory", ".")
    assert context.workspace == str(tmp_path / "src")
    assert context.memory == str(tmp_path)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--risk", "hgih"), "risk: .*'low', 'medium', 'high' or 'critical'; 'hgih' came"),
        (("--risk-score", "101"), "risk_score: .*less than or equal to 100"),
        (("--policy", "/nowhere/policy.md"), "/nowhere/policy.md: a file that can be read expected"),
    ],
)
def test_a_wrong_value_names_the_field(flags: tuple[str, str], said: str):
    with pytest.raises(ContractError, match=said):
        parsed(*flags)


def test_judge_looks_at_its_flags_before_it_starts_anything(run: Run):
    ran = run("judge", "recommendation", "--type", "essay", stdin=b"a draft")
    assert ran.code == 2
    assert "type: Input should be 'spec', 'pr' or 'decision'; 'essay' came" in ran.err
    assert not Path(".tribunal").exists()
