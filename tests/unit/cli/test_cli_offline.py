"""``classify`` and ``panels``, and how faults are told."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tribunal.cli import faults
from tribunal.cli.reading import read_subject
from tribunal.errors import ContractError, StoreUnavailable


def test_a_draft_is_classified_from_a_file_and_from_a_pipe(run: Run):
    Path("draft.md").write_text("Run git push --force origin main.")

    assert run("classify", "draft.md").out == "high: force-push\n"
    assert run("classify", "-", stdin=b"Hello!").out == "low\n"
    assert json.loads(run("classify", "draft.md", "--json").out) == {"risk": "high", "matched": ["force-push"]}


def test_the_panels_are_listed_with_what_is_not_configured(run: Run):
    told = run("panels").out
    assert all(name in told for name in ("recommendation", "consensus", "routine-review", "mimir", "pass_score: 80"))
    assert json.loads(run("panels", "--json").out.splitlines()[2])["seats"][0]["configured"] is False


def test_routine_reviews_panels_are_the_seeds(run: Run):
    Path("tribunal.toml").write_text(
        '[judges.mimir]\nfunction = "mine:mimir"\noptions = {model = "opus", brief = "briefs/mimir.md"}\n'
    )
    told = json.loads(run("panels", "routine-review", "--json").out)

    assert told["panels"]["mimir"] == {"agent": "mimir", "model": "opus"}
    assert told["tiebreak"] == {"seat": "thor", "agent": "thor", "model": None}
    assert told["briefs"]["mimir"] == "briefs/mimir.md"
    seats = {seat["name"]: seat["configured"] for seat in told["tribunal"]["seats"]}
    assert seats == {"mimir": True, "forseti": False, "thor": False}


def test_an_unknown_panel_is_told_the_nearest(run: Run):
    ran = run("panels", "concensus")
    assert ran.code == 2
    assert 'unknown panel "concensus"; did you mean "consensus"?' in ran.err


def test_with_json_a_fault_is_an_object_on_standard_output_too(run: Run):
    ran = run("panels", "concensus", "--json")
    told = json.loads(ran.out)
    assert (told["kind"], told["retryable"], told["exit_code"]) == ("ContractError", False, 2)
    assert ran.err == f"error: {told['error']}\n"


def test_a_wrong_configuration_names_its_fault(run: Run):
    Path("mine.toml").write_text("[panels.consensus]\nanswer_in = 3\n")
    ran = run("panels", "--config", "mine.toml")
    assert ran.code == 2
    assert 'unknown key "answer_in"; did you mean "answer_within"?' in ran.err


@pytest.mark.parametrize(
    ("name", "said"),
    [("missing.md", "No such file"), ("folder", "Is a directory"), ("latin.md", "byte 0xf1 came at offset 3")],
)
def test_a_file_that_cannot_be_judged_is_named(name: str, said: str, run: Run):
    Path("folder").mkdir()
    Path("latin.md").write_bytes(b"ma " + "ñ".encode("latin-1"))

    ran = run("classify", name)

    assert ran.code == 2
    assert name in ran.err
    assert said in ran.err


def test_a_subject_over_the_limit_is_refused_and_one_at_it_is_read(run: Run):
    Path("tribunal.toml").write_text("[settings]\nsubject_limit = 10\n")
    assert run("classify", stdin=b"x" * 10).code == 0
    ran = run("classify", stdin=b"x" * 11)
    assert ran.code == 2
    assert "at most 10 bytes" in ran.err


def test_a_terminal_without_a_file_is_asked_for_one(monkeypatch: pytest.MonkeyPatch, run: Run):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(ContractError, match="name a file, or pipe the text in"):
        read_subject(None, 10)


@pytest.mark.parametrize("command", ["submit", "wait", "follow", "list --open"])
def test_a_command_that_needs_services_says_how_to_start_them(command: str, run: Run):
    extra = {"submit": ("consensus",), "wait": ("c1",), "follow": ("c1",)}.get(command, ())
    ran = run(*command.split(), *extra, stdin=b"a subject")
    assert ran.code == 2
    assert "start `tribunal up` in this folder, or set TRIBUNAL_REDIS_URL" in ran.err


def test_a_retryable_fault_ends_with_1(capsys: pytest.CaptureFixture[str]):
    import typer

    def failing(**_: object) -> None:
        raise StoreUnavailable("Redis did not answer; call again")

    with pytest.raises(typer.Exit) as ended:
        faults.told(failing)(as_json=True)
    told = capsys.readouterr()
    assert ended.value.exit_code == 1
    assert json.loads(told.out)["retryable"] is True
    assert told.err == "error: Redis did not answer; call again\n"


def test_nothing_that_a_terminal_would_obey_is_printed():
    assert faults.printable("a\x1b[31mb\x07\u202ec\r\nd\te") == "a\ufffd[31mb\ufffd\ufffdc\nd\te"


@pytest.mark.parametrize("pair", ["rule-violation", "=2", "rule-violation=", "rule-violation=two", "a=-1"])
def test_how_many_workers_is_said_as_judge_and_number(pair: str, run: Run):
    ran = run("up", "--workers", pair)
    assert ran.code == 2
    assert "JUDGE=N expected" in ran.err


def test_a_service_starts_only_where_its_folder_is(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = run("worker", "rule-violation")
    assert ran.code == 2
    assert "the wheel holds the package tribunal alone; run this from the checkout or the image" in ran.err
