"""Who imports whom: the contracts hold, the map in the documents is theirs, and the wheel holds ``tribunal`` alone."""

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from pages import ROOT, blocks

SIBLINGS = ("workers", "producers", "aggregation")


def test_the_contracts_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_the_map_in_the_documents_is_the_contract() -> None:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [contract] = [one for one in configuration["contracts"] if one["type"] == "layers"]
    [drawn] = blocks("docs/architecture.md", "text", "layers")
    assert drawn.text.splitlines() == contract["layers"]
    # Exhaustive: a module that is in no layer breaks the contract.
    assert contract["exhaustive"] is True
    assert contract["containers"] == ["tribunal"]
    modules = {path.stem for path in (ROOT / "tribunal").iterdir() if path.suffix == ".py" or _is_package(path)}
    assert {name.strip() for layer in contract["layers"] for name in layer.split("|")} == modules - {"__init__"}


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").exists()


def test_the_siblings_are_kept_apart_by_name() -> None:
    """A new folder with code beside ``tribunal/`` must come under the contracts."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    packages = {path.name for path in ROOT.iterdir() if _is_package(path)} - {"tests", "bench"}
    assert packages == {"tribunal", *SIBLINGS} == set(configuration["root_packages"])


def test_a_procedure_swallows_nothing() -> None:
    """It is total by what it does, not by a net below it."""
    for path in sorted((ROOT / "tribunal" / "procedures").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = "" if node.type is None else ast.unparse(node.type)
                assert caught not in ("", "Exception", "BaseException"), f"{path.name}:{node.lineno}: {caught}"


def test_the_wheel_holds_tribunal_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")} == {"tribunal"}
    assert len({name.split("/")[0] for name in names}) == 2
    # All that the package is made of, and nothing else: scripts, migrations, the mark of types.
    held = {name for name in names if name.startswith("tribunal/")}
    there = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tribunal").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == there
    for needed in ("py.typed", "docket/scripts/open.lua", "ledger/migrations/versions/0001_first_tables.py"):
        assert f"tribunal/{needed}" in held
