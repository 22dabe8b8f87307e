"""What a person sees: the live table, a verdict; and what a program gets."""

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.unit.cli.judged_case import PANEL, RULE_VOTE, TONE_VOTE, VERDICT
from tribunal.cli.board import Board
from tribunal.cli.cases import event_json
from tribunal.cli.opinions import because, evidence, opinion
from tribunal.cli.output import PIPE_WIDTH, milliseconds, print_verdict, show, words
from tribunal.cli.verdicts import verdict_parts
from tribunal.docket import Event, Frozen
from tribunal.errors import StoreUnavailable
from tribunal.model import Authority, Context, Decision, Grade, Stage, Trigger, Vote, VoteStatus
from tribunal.panels import Seat
from tribunal.settings import load_settings


def frame(*parts: object) -> str:
    """What is printed for people, as plain text, without colours."""
    console = Console(record=True, width=110, force_terminal=True, file=io.StringIO(), markup=False)
    for part in parts:
        console.print(part, highlight=False)
    return console.export_text()


class Clock:
    """A clock that stands where it is put, in seconds."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def seen(*votes: Vote) -> Frozen:
    return Frozen(
        case_id="case-1",
        panel=PANEL,
        stage=1,
        freeze=0,
        history=(Stage(stage=1, votes=votes),),
        facts={},
        context=Context(),
        subject="",
        subject_sha256="",
        subject_bytes=0,
        opened_at=0,
        deadline_at=0,
        trigger=Trigger.EARLY,
        lineage=None,
        digest="",
    )


def event(kind: str, at: int, **fields: str) -> Event:
    return Event(kind, at, fields)


def test_the_table_follows_the_events_of_a_case():
    clock = Clock()
    open_tone = TONE_VOTE.model_copy(update={"status": VoteStatus.OPEN})
    board = Board(panel=lambda: PANEL, peek=lambda _: seen(RULE_VOTE, open_tone), case_id="case-1", clock=clock)
    assert frame(board).strip() == "submitting, 0.0 s"

    board.apply(event("opened", 5_000, panel="mini", deadline="7600"))
    waiting = frame(board)
    assert waiting.count("waiting") == 2
    assert "of 3 s, judging" in waiting

    board.apply(event("began", 5_100, stage="1", seat="rule-violation", attempt="1"))
    board.apply(event("began", 5_100, stage="1", seat="tone", attempt="1"))
    board.apply(event("resent", 5_300, stage="1", seat="tone", attempt="1"))
    assert "called again" in frame(board)
    board.apply(event("began", 5_400, stage="1", seat="tone", attempt="2"))
    board.apply(event("voted", 5_600, stage="1", seat="rule-violation", status="voted"))
    clock.now += 0.9
    judging = frame(board).splitlines()

    rule = next(line for line in judging if line.startswith("rule-violation"))
    assert "voted" in rule
    assert "veto, score 0, confidence 0.95" in rule
    assert "500 ms" in rule, "from its begin to its vote, by Redis's clock"
    tone = next(line for line in judging if line.startswith("tone"))
    assert "judging (attempt 2)" in tone
    assert "1.10 s" in tone, "from its begin at 5.4 s to now, 0.9 s after the last event at 5.6 s"
    assert "0.9 s of 3 s, judging" in judging[-1]

    board.apply(event("deciding", 6_500, stage="1", trigger="deadline"))
    assert frame(board).splitlines()[-1].endswith("deciding")


def test_the_table_shows_seats_of_a_later_stage():
    panel = PANEL.model_copy(update={"seats": (*PANEL.seats, Seat(name="thor", judge="thor", timeout=2, stage=2))})
    board = Board(panel=lambda: panel, peek=lambda _: None, case_id="case-1", clock=Clock())
    board.apply(event("opened", 0, panel="mini", deadline="2600"))
    board.apply(event("stage", 10, stage="2"))
    board.apply(event("began", 20, stage="2", seat="thor", attempt="1"))
    shown = frame(board)
    assert "judging, stage 2" in shown
    assert any(line.startswith("thor") and "judging" in line for line in shown.splitlines())


def test_a_redis_that_is_away_costs_the_picture_a_vote_and_nothing_else():
    def away(_: str) -> Frozen:
        raise StoreUnavailable("Redis did not answer")

    board = Board(panel=lambda: PANEL, peek=away, case_id="case-1", clock=Clock())
    board.apply(event("opened", 0, panel="mini", deadline="2600"))
    board.apply(event("voted", 10, stage="1", seat="tone", status="abstained"))
    assert any(line.startswith("tone") and "abstained" in line for line in frame(board).splitlines())


def test_a_verdict_tells_people_what_why_who_and_where():
    shown = frame(*verdict_parts(VERDICT, Path("/srv/output")))

    for told in (
        " VETO   mini",
        "• rule-violation vetoes with confidence 0.95",
        "veto, score 0, confidence 0.95",
        "· Rule #1, rules.md; “ghp_…[redacted]”",
        "timeout (attempt 2)",
        "no answer in 2 s",
        "Blocked. Do not act on it.",
        "1. x.py:1 - remove the token",
        "case case-1, number 7, by complete, 1.25 s",
        "/srv/output/recommendation-tribunal/2026-01-01/abc.json",
        "exit code 20: the refusing outcome",
    ):
        assert told in shown
    assert "a \ufffd[31mtoken\ufffd[0m in the [bold]draft[/bold]" in shown, "a judge's words are data (I9)"
    assert "\x1b" not in shown


def test_a_verdict_that_is_not_sealed_says_so():
    loose = VERDICT.model_copy(update={"final": False, "reason": "unreachable", "seq": None, "trigger": None})
    assert "Not final (unreachable)" in frame(*verdict_parts(loose, Path()))


def test_a_program_gets_the_panels_own_json(capsys: pytest.CaptureFixture[str]):
    print_verdict(VERDICT, load_settings(), as_json=False)
    assert json.loads(capsys.readouterr().out) == VERDICT.output

    print_verdict(VERDICT, load_settings(), as_json=True)
    told = json.loads(capsys.readouterr().out)
    ours = told.pop("tribunal")
    assert told == VERDICT.output
    assert (ours["case_id"], ours["seq"], ours["final"], ours["exit_code"]) == ("case-1", 7, True, 20)


def test_the_verdict_of_an_event_is_an_object():
    told = event_json(event("verdict", 5, verdict=VERDICT.model_dump_json()))
    assert told["verdict"]["seq"] == 7
    began = event_json(event("began", 5, stage="1", seat="tone", attempt="2"))
    assert began == {"event": "began", "at": 5, "stage": 1, "seat": "tone", "attempt": 2}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"score": None}, "nothing of its kind"),
        (
            {"verdict": "approve", "confidence": 0.9, "design_decision": True},
            "approve, confidence 0.9, design decision",
        ),
        ({"audit_level": "blind", "mode": "rewrite-blind"}, "expertise blind"),
        ({"score": 70, "injection_detected": True}, "score 70, injection detected"),
        ({"score": True, "confidence": True}, "nothing of its kind"),
        ({}, ""),
    ],
)
def test_a_vote_in_a_few_words(answer: dict[str, object], said: str):
    vote = Vote.model_validate({"seat": "s", "judge": "s", "status": VoteStatus.VOTED, "answer": answer})
    assert opinion(vote) == said


def test_long_evidence_is_cut_and_edits_are_not():
    answer = {
        "fabricated": [f"f{n}()" for n in range(5)],
        "required_edits": [f"edit {n}" for n in range(4)],
        "reasoning": " why ",
    }
    vote = Vote.model_validate({"seat": "s", "judge": "s", "status": VoteStatus.VOTED, "answer": answer})
    assert list(evidence(vote)) == ["f0()", "f1()", "f2()", "and 2 more", *(f"edit: edit {n}" for n in range(4))]
    assert because(vote) == "why"


def test_a_table_in_a_pipe_is_not_cut_to_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert not sys.stdout.isatty()
    show(words("x" * (PIPE_WIDTH - 1)))
    assert capsys.readouterr().out == "x" * (PIPE_WIDTH - 1) + "\n"


def test_times_are_told_in_the_unit_that_fits():
    assert [milliseconds(value) for value in (None, 0, 999, 1000, 2412)] == ["", "0 ms", "999 ms", "1.00 s", "2.41 s"]


def test_the_authority_is_told_on_an_approval():
    decision = Decision(outcome="approved", grade=Grade.PERMISSIVE, authority=Authority.HUMAN)
    approved = VERDICT.model_copy(update={"decision": decision, "output": {}})
    shown = frame(*verdict_parts(approved, Path()))
    assert "APPROVED" in shown
    assert "merge authority: human" in shown
    assert "exit code 11: approved, a person merges" in shown
