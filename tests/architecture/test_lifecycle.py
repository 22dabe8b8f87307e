"""docs/case-lifecycle.md is true: its diagrams against the scripts, and against a docket driven through each step."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tribunal.docket import Ballot, Docket, Opened
from tribunal.errors import Conflict
from tribunal.lineage import lineage_of
from tribunal.model import Case, Context, Decision, Grade, Verdict, Vote, VoteStatus
from tribunal.panels import Panel, Seat
from tribunal.testing import memory_docket

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "tribunal" / "docket" / "scripts"
LUA = {path.stem: path.read_text(encoding="utf-8") for path in SCRIPTS.glob("*.lua")}
DOCUMENT = (ROOT / "docs" / "case-lifecycle.md").read_text(encoding="utf-8")

Edge = tuple[str, str, str]
"""From, to, and what makes the transition; ``[*]`` is neither yet nor any more."""
NOWHERE = "[*]"
NOT_SCRIPTS = {"time", "retention"}
"""Labels of what no script does by itself: a lease that runs out, an expiry."""

PANEL = Panel(
    name="review",
    procedure="routine-review",
    answer_within=60.0,
    stage_share=20.0,
    seats=(
        Seat(name="mimir", judge="m", timeout=20.0),
        Seat(name="forseti", judge="f", timeout=20.0),
        Seat(name="thor", judge="t", timeout=30.0, stage=2),
    ),
)
SEAT = "mimir"


def diagram(name: str) -> set[Edge]:
    """The edges of the diagram of that name, one for each of a label's scripts."""
    blocks: list[str] = re.findall(r"```mermaid\nstateDiagram-v2\n(.*?)```", DOCUMENT, re.DOTALL)
    [lines] = [block.strip().splitlines() for block in blocks if block.strip().startswith(f"%% {name}\n")]
    edges: set[Edge] = set()
    for line in lines[1:]:
        match = re.fullmatch(r"\s*(\S+) --> (\S+) : ([a-z_, ]+)", line)
        assert match, f"not an edge: {line}"
        edges |= {(match[1], match[2], label) for label in match[3].split(", ")}
    return edges


CASE, SEATS, LINEAGE = diagram("case"), diagram("seat"), diagram("lineage")


class Story:
    """One case on a docket of its own, and every transition of case and seat that was seen."""

    def __init__(self, panel: Panel = PANEL) -> None:
        self.docket: Docket = memory_docket()
        self.docket.publish_panels([panel])
        self.case_id = "story"
        self.case_edges: set[Edge] = set()
        self.seat_edges: set[Edge] = set()
        self.tokens = 0
        self.was_heard: bool | None = None
        self.did("open", lambda: self.opened("story"))

    def opened(self, case_id: str, target: str | None = None, previous: str | None = None) -> Opened:
        context = Context(routine="r", target=target, previous=previous)
        case = Case(case_id=case_id, panel=PANEL.name, subject="a diff", context=context)
        answer = self.docket.open(case, self.docket.plan(PANEL.name), {}, lineage_of(case, PANEL.procedure))
        assert isinstance(answer, Opened)
        return answer

    def did(self, script: str, act: Callable[[], object]) -> None:
        """Act, and note what became of the case and of the seat by it."""
        before = self.status, self.seat
        act()
        case, seat = (before[0], self.status, script), (before[1], self.seat, script)
        if case[0] != case[1]:
            self.case_edges.add(case)
        if seat[0] != seat[1] or script in ("renew", "seat_due"):
            self.seat_edges.add(seat)

    @property
    def flat(self) -> dict[str, str]:
        return self.docket._redis.hgetall(self.docket.names.key("case", self.case_id))

    @property
    def status(self) -> str:
        return self.flat.get("status", NOWHERE)

    @property
    def seat(self) -> str:
        """The seat's state, read from the case's fields alone."""
        flat = self.flat
        if not any(name.startswith(f"1:{SEAT}:") for name in flat):
            return NOWHERE
        voted = f"1:{SEAT}:vote" in flat
        if self.heard(flat) is False:
            return "late" if voted else "unheard"
        if voted:
            return "answered"
        attempts, resent = int(flat[f"1:{SEAT}:attempts"]), int(flat.get(f"1:{SEAT}:resent", -1))
        if flat.get(f"1:{SEAT}:token") and int(flat[f"1:{SEAT}:lease"]) > self.docket.now_ms():
            return "leased"
        return "lost" if attempts > max(resent, 0) else "sent"

    def heard(self, flat: Mapping[str, str]) -> bool | None:
        """Whether the seat's vote is in the frozen copy of its stage; None before the freeze."""
        stages = [*json.loads(flat.get("history", "[]")), *([json.loads(flat["frozen"])] if "frozen" in flat else [])]
        for vote in (vote for stage in stages for vote in stage["votes"] if vote["seat"] == SEAT):
            # A close deletes the copy: the ledger has it.
            self.was_heard = vote.get("reason") not in ("no answer by the deadline", "not awaited")
        return self.was_heard

    def set(self, name: str, value: int) -> None:
        self.docket._redis.hset(self.docket.names.key("case", self.case_id), name, value)

    @property
    def token(self) -> str:
        return f"w|{self.tokens}"

    def begin(self) -> None:
        self.tokens += 1
        self.did("begin", lambda: self.docket.begin(self.case_id, 1, SEAT, self.token, sent=0))

    def renew(self) -> None:
        if self.seat in ("leased", "lost"):
            self.did("renew", lambda: self.docket.renew(self.case_id, 1, SEAT, self.token))

    def vote(self) -> None:
        self.vote_of(SEAT)

    def vote_of(self, seat: str, stage: int = 1) -> None:
        vote = Vote(seat=seat, judge="j", status=VoteStatus.VOTED, answer={"verdict": "approve"}, attempt=1)
        self.did("vote", lambda: self.docket.vote(self.case_id, stage, self.token, Ballot(vote=vote)))

    def fail(self) -> None:
        self.did("fail", lambda: self.docket.fail(self.case_id, 1, SEAT, self.token, "boom"))

    def lease_runs_out(self) -> None:
        if self.seat == "leased":
            self.did("time", lambda: self.set(f"1:{SEAT}:lease", 1))

    def seat_ends(self) -> None:
        if f"1:{SEAT}:end" in self.flat:
            self.set(f"1:{SEAT}:end", 1)
            self.set(f"1:{SEAT}:lease", 1) if self.seat == "lost" else None

    def message_is_lost(self) -> None:
        if self.seat == "sent":
            self.set(f"1:{SEAT}:sent", 1)

    def seat_due(self) -> None:
        if self.seat in ("sent", "leased", "lost"):
            self.did("seat_due", lambda: self.docket.seat_due(self.case_id, 1, SEAT, queue_empty=True))

    def deadline_passes(self) -> None:
        if self.status != NOWHERE:
            self.set("deadline", 1)

    def freeze(self) -> None:
        self.did("freeze", lambda: self.docket.freeze(self.case_id))

    def decide_early(self) -> None:
        self.did("freeze", lambda: self.docket.freeze(self.case_id, hint=1))

    def convene(self) -> None:
        frozen = self.docket.freeze(self.case_id) if self.status == "deciding" else None
        if frozen is not None:
            before = self.status
            self.docket.convene(frozen, 2)
            if self.status != before:
                self.case_edges.add((before, self.status, "convene"))

    def close(self) -> None:
        """As ``settle`` does: after a freeze."""
        if self.status == "deciding":
            self.closed_by_the_ledger()

    def closed_by_the_ledger(self) -> None:
        before = self.status
        self.docket.close_case(verdict(self.case_id, "approved"))
        if self.status != before:
            self.case_edges.add((before, self.status, "close"))

    def retention(self) -> None:
        """Let the time go by that a closed case is kept."""
        key = self.docket.names.key("case", self.case_id)
        assert 0 < self.docket._redis.ttl(key) <= 600, "a closed case has an expiry, an open one has none"
        before = self.status
        self.docket._redis.delete(key)
        self.case_edges.add((before, self.status, "retention"))


def verdict(case_id: str, outcome: str) -> Verdict:
    return Verdict(
        verdict_id=Verdict.id_of(case_id),
        case_id=case_id,
        panel=PANEL.name,
        panel_version="v",
        decision=Decision(outcome=outcome, grade=Grade.MIDDLE),
        history=(),
        subject_sha256="0" * 64,
        opened_at=1,
        deadline_at=2,
        sealed_at=3,
    )


STEPS = (
    *("begin", "renew", "vote", "fail", "lease_runs_out", "seat_ends", "message_is_lost", "seat_due"),
    *("deadline_passes", "freeze", "decide_early", "convene", "close"),
)

SEAT_STORIES = (
    ("begin", "renew", "vote"),
    ("begin", "fail", "begin", "fail"),
    ("begin", "fail", "seat_due", "begin", "lease_runs_out", "seat_due"),
    ("begin", "lease_runs_out", "renew", "lease_runs_out", "fail", "vote"),
    ("begin", "lease_runs_out", "begin", "lease_runs_out", "fail"),
    ("begin", "lease_runs_out", "seat_due", "vote"),
    ("begin", "seat_ends", "seat_due"),
    ("message_is_lost", "seat_due", "seat_ends", "seat_due"),
    ("deadline_passes", "freeze", "vote"),
    ("begin", "decide_early", "vote"),
    ("begin", "fail", "deadline_passes", "freeze"),
)


def told(steps: Iterable[str], panel: Panel = PANEL) -> Story:
    story = Story(panel)
    for step in steps:
        getattr(story, step)()
    return story


def test_every_drawn_transition_of_a_case_is_taken() -> None:
    story = told(("vote",))
    story.vote_of("forseti")
    story.freeze()
    story.convene()
    story.vote_of("thor", stage=2)
    story.freeze()
    story.close()
    story.retention()
    # A Redis that crashed lost the freeze; the aggregator that sealed the case closes it.
    forgetful = told(("closed_by_the_ledger",))
    assert story.case_edges | forgetful.case_edges == CASE


def test_every_drawn_transition_of_a_seat_is_taken() -> None:
    edges: set[Edge] = set()
    for steps in SEAT_STORIES:
        edges |= told(steps).seat_edges
    unseated = PANEL.model_copy(update={"unseated": ("m",)})
    edges |= told((), unseated).seat_edges
    drawn = {edge for edge in SEATS if edge[2] not in ("retention", "convene")}
    missing = drawn - edges
    assert not missing
    assert {edge for edge in edges if edge[0] != edge[1]} <= drawn


def test_a_convened_seat_begins_as_a_seat_of_stage_1_does() -> None:
    """The labels ``convene`` of the seats' diagram: sent, or answered where its judge is not configured."""
    for unseated, expected in (((), "sent"), (("t",), "answered")):
        story = told(("vote",), PANEL.model_copy(update={"unseated": unseated}))
        story.vote_of("forseti")
        story.freeze()
        assert "2:thor:attempts" not in story.flat
        story.convene()
        flat = story.flat
        assert ("answered" if "2:thor:vote" in flat else "sent") == expected
        assert ("2:thor:end" in flat) == (expected == "sent")
        assert (NOWHERE, expected, "convene") in SEATS


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(STEPS), max_size=10))
def test_no_other_transition_is_ever_taken(steps: list[str]) -> None:
    """In whatever order the scripts come, a case and its seats go only where the diagrams say."""
    story = told(steps)
    assert story.case_edges <= CASE
    assert {edge for edge in story.seat_edges if edge[0] != edge[1]} <= SEATS


def test_every_drawn_transition_of_a_lineage_is_taken() -> None:
    """I9: rounds are the server's."""
    edges: set[Edge] = set()
    docket_story = Story()
    docket = docket_story.docket
    lineage = lineage_of(
        Case(panel=PANEL.name, subject="x", context=Context(routine="r", target="t")), "routine-review"
    )

    def state() -> str:
        return docket._redis.hget(docket.names.key("lineage", lineage), "state") or NOWHERE

    def did(label: str, act: Callable[[], object]) -> None:
        before = state()
        act()
        edges.add((before, state(), label))

    did("open", lambda: docket_story.opened("one", target="t"))
    with pytest.raises(Conflict):
        docket_story.opened("two", target="t")
    did("close", lambda: docket.close_case(verdict("one", "needs_revision")))
    did("open", lambda: docket_story.opened("two", target="t", previous="one"))
    did("close", lambda: docket.close_case(verdict("two", "escalate")))
    with pytest.raises(Conflict):
        docket_story.opened("three", target="t", previous="two")
    did("reopen", lambda: docket.reopen_lineage(lineage, "two"))
    did("open", lambda: docket_story.opened("three", target="t"))
    did("close", lambda: docket.close_case(verdict("three", "approved")))
    for outcome in ("needs_revision", "escalate"):
        did("restore", lambda outcome=outcome: docket.restore_lineage(lineage, "four", outcome, 1, 1, "review/r"))
        docket._redis.delete(docket.names.key("lineage", lineage))
    assert edges == LINEAGE


def test_each_status_is_written_by_the_scripts_that_the_diagram_names() -> None:
    written: set[tuple[str, str]] = set()
    helper = LUA["common"].partition("local function seat_stage")[2]
    for name, text in LUA.items():
        if name != "common":
            source = text + (helper if "seat_stage(" in text else "")
            written |= {(name, status) for status in re.findall(r"'status', '(\w+)'", source)}
    # An event tells a vote's status under the same name.
    statuses = {state for edge in CASE for state in edge[:2]} - {NOWHERE}
    assert {(name, status) for name, status in written if status in statuses} == {
        (label, to) for _, to, label in CASE if to != NOWHERE
    }
    assert {status for _, status in written} - statuses <= {status.value for status in VoteStatus}


def test_the_scripts_ask_only_for_statuses_that_are_drawn() -> None:
    statuses = {state for edge in CASE for state in edge[:2]}
    asked = {
        found
        for text in LUA.values()
        for found in re.findall(r"(?:\bstatus|\bstate|get\(id, 'status'\)) [=~]= '(\w+)'", text)
    }
    lineage = {state for edge in LINEAGE for state in edge[:2]}
    assert asked - {status.value for status in VoteStatus if status is not VoteStatus.OPEN} <= statuses | lineage
    assert {"open", "deciding", "closed", "needs_revision", "escalate"} <= asked


def test_every_label_is_a_script_and_every_script_that_moves_a_seat_is_drawn() -> None:
    labels = {label for edge in CASE | SEATS | LINEAGE for label in edge[2:]} - NOT_SCRIPTS
    # take_due only pushes entries ahead; answer only leaves a note.
    assert labels == set(LUA) - {"common", "take_due", "answer"}


def test_every_script_and_test_that_the_document_names_exists() -> None:
    kills = (ROOT / "tests" / "integration" / "test_kills.py").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT))
    assert named
    assert not {name for name in named if f"def {name}(" not in kills}
