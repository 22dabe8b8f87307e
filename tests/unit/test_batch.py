"""A folder of drafts as a batch: what is read and refused, how many are open at once, what it ends with."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from producers import __main__ as producers
from producers.batch import Judged, exit_code, judge_all, make_cases
from producers.drafts import Draft, read_draft, read_drafts
from tribunal.config import builtin_catalogue
from tribunal.errors import ContractError, DispatchError, StillOpen, StoreUnavailable
from tribunal.model import Authority, Case, Context, Decision, Grade, Risk, Verdict
from tribunal.panels import Panel

PANEL = builtin_catalogue().panels["recommendation"]
LIMIT = 10_000
GRADES = {
    "pass": Grade.PERMISSIVE,
    "approved": Grade.PERMISSIVE,
    "warn": Grade.MIDDLE,
    "veto": Grade.REFUSING,
    "skipped": Grade.SKIPPED,
}


def verdict_of(case_id: str, outcome: str, authority: Authority | None = None) -> Verdict:
    return Verdict(
        verdict_id=Verdict.id_of(case_id),
        case_id=case_id,
        panel="recommendation",
        panel_version="1",
        decision=Decision(
            outcome=outcome, grade=GRADES[outcome], authority=authority, reasons=(f"because [b]{outcome}[/b]",)
        ),
        history=(),
        subject_sha256="0" * 64,
        opened_at=1_000,
        deadline_at=4_000,
        sealed_at=1_250,
        seq=1,
    )


class Desk:
    """A client whose court answers by the subject's first word: an outcome, or the fault that comes instead."""

    def __init__(self, *, refusals: int = 0, undispatched: bool = False, together: int = 1) -> None:
        self.submitted: list[Case] = []
        self._cases: dict[str, Case] = {}
        self._refusals = refusals
        self._undispatched = undispatched
        self._lock = threading.Lock()
        self._open = 0
        self.most_open = 0
        self._gathered = threading.Barrier(together, timeout=10)

    def __enter__(self) -> "Desk":
        return self

    def __exit__(self, *_: object) -> None: ...

    def panel(self, name: str) -> Panel:
        return builtin_catalogue().panels[name]

    def case(self, panel: str, subject: str, context: Any = None) -> Case:
        if not subject.strip():
            raise ContractError("subject: some text, but it is empty")
        return Case(panel=panel, subject=subject, context=context)

    def submit_case(self, case: Case) -> None:
        with self._lock:
            self.submitted.append(case)
            self._cases[case.case_id] = case
            self._open += 1
            self.most_open = max(self.most_open, self._open)
            if self._refusals:
                self._refusals -= 1
                self._open -= 1
                raise StoreUnavailable("not acknowledged")
        if self._undispatched:
            raise DispatchError("the broker is away")

    def wait(self, case_id: str, *, timeout: float | None = None) -> Verdict:
        self._gathered.wait()
        with self._lock:
            self._open -= 1
        word = self._cases[case_id].subject.split()[0]
        if word == "lost":
            raise StillOpen(f"case {case_id} has no verdict after {timeout} s; wait again")
        return verdict_of(case_id, word)


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """``folder(one="text", two="text")``: a folder with those Markdown files."""

    def made(**files: str) -> Path:
        drafts = tmp_path / "drafts"
        drafts.mkdir(exist_ok=True)
        for name, text in files.items():
            (drafts / f"{name}.md").write_text(text, encoding="utf-8")
        return drafts

    return made


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """``run(desk, …)``: the command with that desk as its client; exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def ran(desk: Desk, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(producers, "Client", lambda _: desk)
        with pytest.raises(SystemExit) as ended:
            producers.app(["batch", *arguments])
        told = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, told.out, told.err

    return ran


def judged_by(desk: Desk, drafts: list[Draft], at_once: int = 4) -> list[Judged]:
    cases = make_cases(desk, PANEL, drafts, Path())
    return list(judge_all(desk, PANEL, drafts, cases, at_once))


def drafts_of(*subjects: str) -> list[Draft]:
    return [Draft(f"{number:02}.md", subject, Context()) for number, subject in enumerate(subjects)]


def test_front_matter_is_the_context_and_its_paths_are_relative_to_the_file(folder: Callable[..., Path]) -> None:
    drafts = folder(
        one="---\nrisk: high\nworkspace: ../work\nmemory: /srv/memory\ntouches: [auth, pii]\nexpect: Needs_Revision\n"
        "---\n\nUse the index.\n\n---\n\nIt is faster.\n"
    )

    (draft,) = read_drafts(drafts, LIMIT)

    assert draft.context == Context(
        ref="one.md",
        risk=Risk.HIGH,
        workspace=str(drafts.parent / "work"),
        memory="/srv/memory",
        touches=("auth", "pii"),
    )
    assert draft.expect == "needs_revision"
    assert draft.subject == "Use the index.\n\n---\n\nIt is faster.\n"


def test_a_file_without_front_matter_is_all_draft(folder: Callable[..., Path]) -> None:
    drafts = folder(one="Use the index.\n---\nIt is faster.")

    (draft,) = read_drafts(drafts, LIMIT)

    assert draft == Draft("one.md", "Use the index.\n---\nIt is faster.", Context(ref="one.md"))


def test_only_the_folder_s_own_markdown_files_are_drafts_in_the_order_of_their_names(
    folder: Callable[..., Path],
) -> None:
    drafts = folder(b="pass", a="pass")
    (drafts / ".hidden.md").write_text("pass")
    (drafts / "notes.txt").write_text("pass")
    (drafts / "below").mkdir()
    (drafts / "below" / "c.md").write_text("pass")

    assert [draft.file for draft in read_drafts(drafts, LIMIT)] == ["a.md", "b.md"]


LINE = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"), min_size=1, max_size=40)


@given(
    values=st.fixed_dictionaries(
        {},
        optional={
            "ref": LINE,
            "policy": LINE,
            "touches": st.lists(LINE, max_size=3),
            "risk": st.sampled_from([risk.value for risk in Risk]),
            "risk_score": st.integers(0, 100),
            "ambiguous": st.booleans(),
        },
    ),
    subject=st.text(st.characters(exclude_categories=["Cs"]), max_size=200).map(lambda text: f"A{text}"),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_yaml_writes_is_read_back_and_the_draft_is_untouched(
    values: Mapping[str, Any], subject: str, line_end: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("batch") / "draft.md"
    header = yaml.safe_dump(dict(values), allow_unicode=True) if values else ""
    front = f"---\n{header}---\n".replace("\n", line_end)
    path.write_bytes(f"{front}{subject}".encode())

    draft = read_draft(path, LIMIT)

    assert draft.subject == subject
    assert draft.context.model_dump(mode="json", exclude_unset=True) == {"ref": "draft.md", **values}


BAD = {
    "unknown": ("riks: high", 'unknown key "riks"; did you mean "risk"?'),
    "value": ("risk: hihg", "risk: Input should be 'low', 'medium', 'high' or 'critical'; 'hihg' came"),
    "kind": ('ambiguous: "true"', "ambiguous: Input should be a valid boolean; 'true' came"),
    "nested": ("memory: {folder: x}", "memory: a text, a whole number, true, false or a list of texts"),
    "date": ("ref: 2026-11-30", "ref: a text, a whole number, true, false or a list of texts expected; date came"),
    "number": ("risk_score: .nan", "risk_score: a text, a whole number"),
    "twice": ("risk: high\nrisk: low", 'key "risk" once expected; it stands there 2 times'),
    "list": ("- risk", "front matter of lines key: value expected; list came"),
    "broken": ("ref: one\nrisk: [high", "line 4: the front matter is no YAML"),
    "expect": ("expect: no", "expect: an outcome such as PASS or needs_revision expected; False came"),
}


@pytest.mark.parametrize(("header", "message"), BAD.values(), ids=BAD)
def test_bad_front_matter_is_told_with_file_and_key(folder: Callable[..., Path], header: str, message: str) -> None:
    drafts = folder(one=f"---\n{header}\n---\nUse the index.")

    with pytest.raises(ContractError) as told:
        read_drafts(drafts, LIMIT)

    assert str(drafts / "one.md") in str(told.value)
    assert message in str(told.value)


def test_front_matter_without_an_end_is_not_taken_for_a_draft(folder: Callable[..., Path]) -> None:
    with pytest.raises(ContractError, match="a line --- at the end of the front matter expected"):
        read_drafts(folder(one="---\nrisk: high\nUse the index."), LIMIT)


def test_all_files_are_checked_and_nothing_is_sent_if_one_is_wrong(
    folder: Callable[..., Path], run: Callable[..., Any]
) -> None:
    desk = Desk()
    drafts = folder(a="pass", b="---\nriks: low\n---\npass", c="---\nrisk: hihg\n---\npass", d="pass")

    code, out, err = run(desk, "recommendation", str(drafts))

    assert (code, out) == (2, "")
    assert "b.md" in err
    assert "c.md" in err
    assert "a.md" not in err
    assert desk.submitted == []


@pytest.mark.parametrize(
    ("panel", "text", "message"),
    [
        ("recommendation", "---\nrisk: high\n---\n\n", "subject: some text"),
        ("routine-review", "a diff", "needs the routine that made the diff"),
    ],
)
def test_what_the_client_or_the_panel_refuses_is_found_before_the_first_is_sent(
    folder: Callable[..., Path], run: Callable[..., Any], panel: str, text: str, message: str
) -> None:
    desk = Desk()
    drafts = folder(a="---\nroutine: nightly\n---\napproved", b=text)

    code, _, err = run(desk, panel, str(drafts))

    assert code == 2
    assert f"{drafts / 'b.md'}: " in err
    assert message in err
    assert desk.submitted == []


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_folder_without_drafts_is_bad_input(tmp_path: Path, run: Callable[..., Any], name: str) -> None:
    (tmp_path / "empty").mkdir()

    code, _, err = run(Desk(), "recommendation", str(tmp_path / name))

    assert code == 2
    assert name in err


def test_so_many_cases_are_open_at_once_and_no_more_and_the_order_is_kept() -> None:
    """Given nine drafts and three at a time, each wait ends only when three are open."""
    desk = Desk(together=3)
    drafts = drafts_of(*["pass", "warn", "veto"] * 3)

    results = judged_by(desk, drafts, at_once=3)

    assert desk.most_open == 3
    assert [result.draft for result in results] == drafts
    assert [result.outcome for result in results] == ["PASS", "WARN", "VETO"] * 3


def test_a_case_that_was_not_acknowledged_is_submitted_again_under_the_same_id() -> None:
    desk = Desk(refusals=1)

    (result,) = judged_by(desk, drafts_of("pass"))

    assert [case.case_id for case in desk.submitted] == [result.case_id] * 2
    assert result.outcome == "PASS"


def test_a_case_whose_judges_were_not_called_is_waited_for() -> None:
    assert [one.outcome for one in judged_by(Desk(undispatched=True), drafts_of("warn", "veto"))] == ["WARN", "VETO"]


def test_a_draft_without_a_verdict_stops_no_other_and_makes_the_batch_fail() -> None:
    results = judged_by(Desk(), drafts_of("pass", "lost", "veto"))

    assert [result.outcome for result in results] == ["PASS", "no verdict", "VETO"]
    assert "has no verdict after" in results[1].fault
    assert exit_code(results) == 1


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([("pass", None), ("pass", None)], 0),
        ([("pass", None), ("skipped", None)], 12),
        ([("skipped", None), ("warn", None)], 10),
        ([("veto", None), ("warn", None)], 20),
        ([("veto", "veto"), ("warn", "warn")], 0),
        ([("veto", "veto"), ("warn", None)], 10),
        ([("veto", None), ("pass", "warn")], 1),
        ([], 0),
    ],
)
def test_the_exit_code_is_the_strictest_verdict_s_where_none_is_expected(
    outcomes: list[tuple[str, str | None]], code: int
) -> None:
    results = [
        Judged(Draft("a.md", "x", Context(), expect), "a1", verdict_of("a1", outcome)) for outcome, expect in outcomes
    ]

    assert exit_code(results) == code


def test_approval_that_a_person_merges_is_stricter_than_a_skip_and_milder_than_the_middle() -> None:
    human = Judged(Draft("a.md", "x", Context()), "a1", verdict_of("a1", "approved", Authority.HUMAN))
    skipped = Judged(Draft("b.md", "x", Context()), "b1", verdict_of("b1", "skipped"))
    middle = Judged(Draft("c.md", "x", Context()), "c1", verdict_of("c1", "warn"))

    assert exit_code([human, skipped]) == 11
    assert exit_code([human, middle]) == 10


def test_the_table_shows_file_verdict_reasons_latency_and_the_summary(
    folder: Callable[..., Path], run: Callable[..., Any]
) -> None:
    drafts = folder(a="pass this", b="---\nexpect: WARN\n---\nveto this", c="lost")

    code, out, _ = run(Desk(), "recommendation", str(drafts))

    assert code == 1
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "PASS" in rows["a.md"]
    assert "because [b]pass[/b]" in rows["a.md"]  # data, not markup
    assert "250 ms" in rows["a.md"]
    assert "VETO" in rows["b.md"]
    assert "expected WARN" in out
    assert "no verdict" in rows["c.md"]
    assert "1 PASS, 1 VETO" in out
    assert "0 as expected, 1 not" in out


def test_json_is_a_line_a_draft_and_the_summary_last(folder: Callable[..., Path], run: Callable[..., Any]) -> None:
    drafts = folder(a="pass this", b="---\nexpect: veto\n---\nveto this", c="lost")

    code, out, _ = run(Desk(), "recommendation", str(drafts), "--json")

    first, second, third, last = (json.loads(line) for line in out.splitlines())
    assert code == last["summary"]["exit_code"] == 1
    assert (first["file"], first["outcome"], first["latency_ms"], first["seq"]) == ("a.md", "pass", 250, 1)
    assert (second["file"], second["expect"], second["as_expected"], second["grade"]) == (
        "b.md",
        "veto",
        True,
        "refusing",
    )
    assert third["file"] == "c.md"
    assert "has no verdict after" in third["error"]
    assert last["summary"]["outcomes"] == {"no verdict": 1, "PASS": 1, "VETO": 1}
    assert last["summary"]["expected"] == {"met": 1, "unmet": 0}
