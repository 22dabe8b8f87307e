"""Settle, on the in-memory docket and a SQLite file: every trigger comes to the same one verdict."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aggregation.outbox import Outbox
from aggregation.settle import Settler
from tribunal.config import builtin_catalogue
from tribunal.docket import Ballot, Docket, Opened
from tribunal.errors import DispatchError, StoreUnavailable
from tribunal.ledger import Ledger
from tribunal.lineage import lineage_of
from tribunal.model import (
    Answered,
    Case,
    Context,
    Decision,
    Grade,
    Risk,
    Stage,
    Trigger,
    Verdict,
    Vote,
    VoteStatus,
    canonical,
)
from tribunal.panels import Panel
from tribunal.procedures import Convene, procedure_named
from tribunal.testing import SentTasks, memory_docket

PANELS = {name: panel.model_copy(update={"unseated": ()}) for name, panel in builtin_catalogue().panels.items()}
FINE = {"score": 100, "veto": False, "confidence": 0.9}
VETO = {"score": 0, "veto": True, "confidence": 0.99, "reason": "never"}


class Published:
    """A topic that keeps what it is told; ``down`` lets it fail."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict] = []
        self.down = False

    def publish(self, verdict: Verdict) -> None:
        if self.down:
            raise DispatchError("the broker is away")
        self.verdicts.append(verdict)


@dataclass
class Room:
    docket: Docket
    ledger: Ledger
    topic: Published
    tasks: SentTasks
    settler: Settler
    output: Path

    def open(self, panel: Panel, subject: str = "force push it", **context: Any) -> str:
        case = Case(panel=panel.name, subject=subject, context=Context(**context))
        procedure = procedure_named(panel.procedure)
        plan = self.docket.plan(panel.name)
        opened = self.docket.open(case, plan, procedure.gate(panel, case), lineage_of(case, procedure.name))
        assert isinstance(opened, Opened)
        return case.case_id

    def vote(self, case_id: str, seat: str, answer: dict[str, Any], stage: int = 1) -> str:
        vote = Vote(seat=seat, judge=seat, status=VoteStatus.VOTED, answer=answer, attempt=1)
        return self.docket.vote(case_id, stage, "", Ballot(vote=vote))

    def all_vote(self, case_id: str) -> None:
        for seat in PANELS["recommendation"].seats:
            self.vote(case_id, seat.name, {**FINE, **({"audit_level": "high"} if "expertise" in seat.name else {})})

    def deadline(self, case_id: str) -> None:
        self.docket._redis.hset(self.docket.names.key("case", case_id), "deadline", 1)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    docket = memory_docket()
    docket.publish_panels(PANELS.values())
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.migrate()
    topic, tasks, output = Published(), SentTasks(), tmp_path / "output"
    outbox: Any = Outbox(ledger, topic, output)  # type: ignore[arg-type]  # a double of the topic
    settler = Settler(docket, ledger, outbox, tasks, lambda errand: errand() or True)  # type: ignore[arg-type]  # a double of the dispatcher
    yield Room(docket, ledger, topic, tasks, settler, output)
    ledger.close()
    docket.close()


def test_nothing_is_decided_while_votes_are_missing(room: Room) -> None:
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.vote(case_id, "rule-violation", FINE)
    assert room.settler.settle(case_id) is None
    assert room.settler.settle("nobody") is None
    assert room.ledger.head() == 0


def test_every_trigger_comes_to_the_same_verdict(room: Room) -> None:
    """I2 and I3."""
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.all_vote(case_id)
    first = room.settler.settle(case_id)
    assert isinstance(first, Verdict)
    assert (first.decision.outcome, first.seq, first.trigger) == ("pass", 1, Trigger.COMPLETE)
    assert room.settler.settle(case_id) is None
    assert room.settler.settle(case_id, hint=1) is None
    assert room.topic.verdicts == [first]
    assert room.ledger.get(case_id) == first
    assert not room.ledger.unmarked("published", 0, 10)
    assert not room.ledger.unmarked("exported", 0, 10)


def test_a_second_aggregator_gets_the_winners_verdict(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """I3: both froze, both decided, one sealed."""
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.all_vote(case_id)
    with monkeypatch.context() as before_close:
        before_close.setattr(room.docket, "close_case", lambda verdict: None)
        first = room.settler.settle(case_id)
    second = room.settler.settle(case_id)
    assert second == first
    assert room.ledger.head() == 1


def test_a_hint_decides_a_veto_and_freezes_nothing_else(room: Room) -> None:
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.vote(case_id, "memory-conflict", FINE)
    assert room.settler.settle(case_id, hint=1) is None
    assert room.vote(case_id, "rule-violation", VETO) == "recorded"
    verdict = room.settler.settle(case_id, hint=1)
    assert isinstance(verdict, Verdict)
    assert (verdict.decision.outcome, verdict.trigger) == ("veto", Trigger.EARLY)
    assert verdict.history[0].by_seat()["hallucination-fast"].status is VoteStatus.CUT


def test_the_deadline_decides_without_the_missing(room: Room) -> None:
    """I8."""
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.vote(case_id, "rule-violation", FINE)
    room.deadline(case_id)
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert (verdict.decision.outcome, verdict.trigger) == ("warn", Trigger.DEADLINE)


def test_what_the_caller_was_told_before_is_on_the_verdict(room: Room) -> None:
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.docket.answer(case_id, Answered(outcome="warn", reason="timeout"))
    room.all_vote(case_id)
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert verdict.answered == Answered(outcome="warn", reason="timeout")


def test_disagreement_convenes_once(room: Room) -> None:
    case_id = room.open(PANELS["routine-review"], "x", routine="r", target="1")
    room.vote(case_id, "mimir", {"verdict": "approve", "confidence": 0.9})
    room.vote(case_id, "forseti", {"verdict": "request_changes", "confidence": 0.9})
    assert isinstance(room.settler.settle(case_id), Convene)
    assert room.settler.settle(case_id) is None
    assert room.tasks.seats == [(case_id, 2, "thor", "thor")]
    room.vote(case_id, "thor", {"verdict": "request_changes", "confidence": 0.1}, stage=2)
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert verdict.decision.outcome == "needs_revision"


def test_without_time_for_thor_the_case_escalates(room: Room) -> None:
    case_id = room.open(PANELS["routine-review"], "x", routine="r", target="1")
    room.vote(case_id, "mimir", {"verdict": "approve", "confidence": 0.9})
    room.deadline(case_id)
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert verdict.decision.outcome == "escalate"
    assert verdict.history[1].votes[0].reason == "no time left for this stage"
    assert room.tasks.seats == []


def test_an_unreachable_ledger_makes_nothing_final(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """I7: neither told, nor closed; the next look seals the same frozen votes."""
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.all_vote(case_id)

    def away(*_: object) -> None:
        raise StoreUnavailable("the ledger is away")

    with monkeypatch.context() as down:
        down.setattr(Ledger, "seal", away)
        with pytest.raises(StoreUnavailable):
            room.settler.settle(case_id)
    assert room.topic.verdicts == []
    assert [event.kind for event in room.docket.events(case_id, timeout=0.01)][-1] == "deciding"
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert verdict.decision.outcome == "pass"


def test_an_id_that_was_sealed_for_other_content_gets_no_verdict(room: Room) -> None:
    """I2 and I9: an approved case's id cannot carry its approval to another subject."""
    first = Case(panel="recommendation", subject="a harmless draft", context=Context(risk=Risk.HIGH))
    for case in (first, first.model_copy(update={"subject": "another draft"}), first):
        plan = room.docket.plan("recommendation")
        room.docket.open(case, plan, procedure_named("recommendation").gate(plan.panel, case), "")
        room.all_vote(case.case_id)
        verdict = room.settler.settle(case.case_id)
        events = [event.kind for event in room.docket.events(case.case_id, timeout=0.01)]
        if case.subject == first.subject:
            assert isinstance(verdict, Verdict)
            assert (verdict.seq, events[-1]) == (1, "verdict")
        else:
            assert verdict is None
            assert events[-1] == "conflict"
        for kind in ("case", "events"):  # as ten minutes later, or after Redis lost its data
            room.docket._redis.delete(room.docket.names.key(kind, case.case_id))
    assert room.ledger.head() == 1


def test_an_audit_folder_that_cannot_be_entered_does_not_stop_the_seal(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, exists = [], Path.exists

    def refused(path: Path) -> bool:
        if path.is_relative_to(room.output):
            reached.append(path)
            raise PermissionError(13, "Permission denied")
        return exists(path)

    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.all_vote(case_id)
    monkeypatch.setattr(Path, "exists", refused)
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert verdict.decision.outcome == "pass"
    assert reached


def test_what_was_not_published_is_swept(room: Room) -> None:
    """I4: at least once, although the broker was away."""
    room.topic.down = True
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.all_vote(case_id)
    verdict = room.settler.settle(case_id)
    assert room.topic.verdicts == []
    later = Ledger(f"sqlite:///{room.output.parent / 'ledger.db'}", lambda: 4_000_000_000_000)
    room.topic.down = False
    outbox: Any = Outbox(later, room.topic, room.output)  # type: ignore[arg-type]  # a double of the topic
    outbox.sweep()
    assert room.topic.verdicts == [verdict]
    outbox.sweep()
    assert room.topic.verdicts == [verdict]
    later.close()


def test_the_same_draft_twice_keeps_both_audit_files(room: Room) -> None:
    cases = [room.open(PANELS["recommendation"], risk=Risk.HIGH) for _ in range(3)]
    paths = []
    for case_id in cases:
        room.all_vote(case_id)
        verdict = room.settler.settle(case_id)
        assert isinstance(verdict, Verdict)
        assert verdict.audit_path is not None
        assert verdict.output["audit_path"] == f"output/{verdict.audit_path}"
        paths.append(room.output / verdict.audit_path)
    assert len(set(paths)) == 3
    assert all(path.is_file() for path in paths)
    assert [path.name.count(".") for path in paths] == [1, 2, 2]


def test_a_verdict_replays_byte_for_byte_from_the_ledger(room: Room) -> None:
    """I10."""
    for answers in itertools.product([FINE, VETO, {"score": 50}], repeat=2):
        case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
        for seat, answer in zip(("memory-conflict", "rule-violation"), answers, strict=True):
            room.vote(case_id, seat, answer)
        room.deadline(case_id)
        room.settler.settle(case_id)
        verdict, record = room.ledger.get(case_id), room.ledger.record(case_id)
        assert verdict is not None
        assert record is not None
        again = procedure_named(record.panel.procedure).decide(record.panel, verdict.facts, verdict.history)
        assert isinstance(again, Decision)
        assert canonical(again.model_dump(mode="json")) == canonical(verdict.decision.model_dump(mode="json"))


def test_a_procedure_that_cannot_decide_falls_to_the_fail_safe(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    from tribunal.procedures import PROCEDURES, Undecided
    from tribunal.procedures.recommendation import Recommendation

    class Mute(Recommendation):
        def decide(self, panel: Panel, facts: Any, history: tuple[Stage, ...]) -> Any:
            return Undecided()

    monkeypatch.setitem(PROCEDURES, "recommendation", Mute())
    case_id = room.open(PANELS["recommendation"], risk=Risk.HIGH)
    room.deadline(case_id)
    verdict = room.settler.settle(case_id)
    assert isinstance(verdict, Verdict)
    assert verdict.decision.grade is Grade.MIDDLE
