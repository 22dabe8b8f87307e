"""The command run in this process, in an empty folder, with what it printed."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tribunal.cli import make_group


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """``run("tally", "consensus", stdin=b"…")``: the command's exit code and output. No configuration applies."""
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))
    for name in list(os.environ):
        if name.startswith("TRIBUNAL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "120")

    def ran(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            make_group().main(list(arguments), prog_name="tribunal")
        told = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ran(code, told.out, told.err)

    return ran
