"""``tribunal tally``: a drop-in for the seed's script."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run

APPROVE = {
    "verdict": "approve",
    "confidence": 0.9,
    "required_edits": [],
    "reasoning": "read line by line",
    "injection_detected": False,
    "design_decision": False,
    "status": "voted",
}


def votes(**seats: object) -> bytes:
    return json.dumps(seats).encode()


def test_two_approvals_on_standard_input_are_approved(run: Run):
    ran = run("tally", "routine-review", stdin=votes(mimir=APPROVE, forseti=APPROVE, thor=None))

    assert ran.code == 0
    assert ran.err == ""
    told = json.loads(ran.out)
    assert (told["outcome"], told["verdict"], told["merge_authority"]) == ("resolved", "approved", "auto")


def test_a_disagreement_asks_for_the_tie_break_and_shows_the_peers(run: Run, tmp_path: Path):
    file = tmp_path / "votes.json"
    file.write_bytes(votes(mimir=APPROVE, forseti={**APPROVE, "verdict": "request_changes"}))

    told = json.loads(run("tally", "routine-review", "--file", str(file)).out)

    assert told["outcome"] == "needs_tiebreak"
    assert set(told["peers"]) == {"mimir", "forseti"}


def test_the_flags_reach_the_procedure(run: Run):
    changes = {**APPROVE, "verdict": "request_changes", "required_edits": ["x:1 - fix"]}
    both = votes(mimir=changes, forseti=changes)

    assert json.loads(run("tally", "routine-review", stdin=both).out)["verdict"] == "needs_revision"
    assert json.loads(run("tally", "routine-review", "--round", "2", stdin=both).out)["verdict"] == "escalate"
    flags = ("--round", "2", "--max-rounds", "3")
    assert json.loads(run("tally", "routine-review", *flags, stdin=both).out)["verdict"] == "needs_revision"
    told = json.loads(run("tally", "routine-review", "--threshold", "0.95", stdin=both).out)
    assert told["outcome"] == "needs_tiebreak"
    code = votes(
        reflection={"verdict": "REQUIRES_RETHINKING"},
        code={"verdict": "APROBADO"},
        business={"verdict": "VÁLIDO"},
        performance={"verdict": "OPTIMAL"},
    )
    assert json.loads(run("tally", "consensus", stdin=code).out)["summary"]["weighted_score"] == 0.7
    told = json.loads(run("tally", "consensus", "--profile", "security", stdin=code).out)
    assert told["summary"]["weighted_score"] == 0.8


@pytest.mark.parametrize("bad", [b"", b"[]", b"{", b'{"mimir": NaN}', b'{"nobody": null}', b"\xff{}"])
def test_bad_input_prints_the_fail_safe_and_ends_with_2(bad: bytes, run: Run):
    ran = run("tally", "routine-review", stdin=bad)

    assert ran.code == 2
    told = json.loads(ran.out)
    assert told["verdict"] == "escalate"
    assert told["error"]
    assert ran.err.startswith("error: ")


@pytest.mark.parametrize("extra", [(), ("--json",), ("--lines",)])
@pytest.mark.parametrize(("file", "said"), [("/nowhere/votes.json", "No such file"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_prints_the_fail_safe_too(extra: tuple[str, ...], file: str, said: str, run: Run):
    ran = run("tally", "routine-review", "--file", file, *extra)

    told = json.loads(ran.out)
    assert (ran.code, told["verdict"], told["outcome"]) == (2, "escalate", "resolved")
    assert said in told["error"]
    assert ran.err == f"error: {'line 1: ' if '--lines' in extra else ''}{told['error']}\n"


@pytest.mark.parametrize("extra", [(), ("--lines",), ("--file", "-")])
def test_a_closed_standard_input_prints_the_fail_safe(extra: tuple[str, ...]):
    """``<&-`` of a shell: the interpreter then has no standard input at all."""
    shell = [
        "sh",
        "-c",
        'exec "$@" <&-',
        "sh",
        sys.executable,
        "-P",
        "-m",
        "tribunal.cli",
        "tally",
        "consensus",
        *extra,
    ]
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 2, done.stderr
    told = json.loads(done.stdout)
    assert told["summary"]["final_verdict"] == "CONDITIONAL"
    assert "is closed" in told["error"]
    assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_read_leaves_a_receipt_and_no_round(run: Run, tmp_path: Path):
    arguments = ("--file", "/nowhere", "--routine", "nightly", "--root", str(tmp_path))
    told = json.loads(run("tally", "routine-review", *arguments).out)
    assert [path.name for path in Path(told["run_dir"]).iterdir()] == ["run-log.jsonl"]


def test_a_batch_answers_line_by_line_in_order(run: Run):
    lines = [votes(mimir=APPROVE, forseti=APPROVE), b"\xff", votes(mimir=None, forseti=None)]

    ran = run("tally", "routine-review", "--lines", stdin=b"\n".join(lines))

    told = [json.loads(line)["verdict"] for line in ran.out.splitlines()]
    assert told == ["approved", "escalate", "escalate"]
    assert ran.code == 2, "one line was bad"
    assert ran.err.startswith("error: line 2: ")
    assert len(ran.err.splitlines()) == 1


def test_receipts_are_kept_where_the_routine_says(run: Run, tmp_path: Path):
    both = votes(mimir=APPROVE, forseti=APPROVE)

    told = json.loads(run("tally", "routine-review", "--routine", "nightly", "--root", str(tmp_path), stdin=both).out)

    folder = Path(told["run_dir"])
    assert folder.parent == tmp_path / "runs" / "routine-review" / "nightly"
    assert sorted(path.name for path in folder.iterdir()) == ["round-1.json", "run-log.jsonl"]
    again = ("--routine", "nightly", "--root", str(tmp_path), "--run-dir", str(folder))
    assert json.loads(run("tally", "routine-review", *again, stdin=both).out)["run_dir"] == str(folder)
    assert len((folder / "run-log.jsonl").read_text().splitlines()) == 2


def test_without_a_root_receipts_go_below_the_output_folder(run: Run):
    told = json.loads(run("tally", "routine-review", "--routine", "n", stdin=votes(mimir=APPROVE, forseti=APPROVE)).out)
    assert Path(told["run_dir"]).is_relative_to(Path.cwd() / "output")


def test_the_self_test_says_each_check(run: Run):
    ran = run("tally", "--self-test")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "12 of 12 passed"
    assert len([line for line in ran.out.splitlines() if line.startswith("ok")]) == 12
    assert json.loads(run("tally", "--self-test", "--json").out)["passed"] == 12


def test_the_self_test_fails_on_a_panel_that_does_not_keep_the_rules(run: Run):
    Path("tribunal.toml").write_text("[panels.routine-review]\noptions = {threshold = 0.99}\n")

    ran = run("tally", "routine-review", "--self-test")

    assert ran.code == 1
    assert "FAILED unanimous approve" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "PANEL expected"),
        (("routine-reviw",), 'did you mean "routine-review"?'),
        (("routine-review", "--root", "x"), "--routine"),
        (("routine-review", "--lines", "--routine", "n"), "--lines keeps no receipts"),
        (("consensus", "--self-test"), "the self-test is of routine-review"),
    ],
)
def test_what_cannot_be_done_is_said_on_standard_error(arguments: tuple[str, ...], said: str, run: Run):
    ran = run("tally", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
