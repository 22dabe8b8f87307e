"""Cases and verdicts to seal, for the tests of this folder and the processes that they start."""

from typing import Any

from tribunal.ledger import CaseRecord, Ledger, Sealed
from tribunal.model import Context, Decision, Grade, Stage, Verdict, Vote, VoteStatus, sha256
from tribunal.panels import Panel, Seat

PANEL = Panel(
    name="recommendation",
    procedure="recommendation",
    answer_within=3,
    seats=(Seat(name="tone", judge="tone", timeout=1.5), Seat(name="safety", judge="safety", timeout=1.5)),
)


POSTGRES = "postgresql://postgres@127.0.0.1:5432/test"


class Clock:
    """Milliseconds since the epoch that pass only when told to."""

    def __init__(self) -> None:
        self.now = 1_750_000_000_000

    def __call__(self) -> int:
        return self.now

    def advance(self, milliseconds: int) -> None:
        self.now += milliseconds


def vote_of(seat: str = "tone", **given: Any) -> Vote:
    values: dict[str, Any] = {"judge": seat, "status": VoteStatus.VOTED, "answer": {"score": 90}, "attempt": 1, **given}
    return Vote(seat=seat, **values)


def verdict_of(case_id: str, panel: str = "recommendation", outcome: str = "pass", **given: Any) -> Verdict:
    values: dict[str, Any] = {
        "history": (Stage(stage=1, votes=(vote_of("tone"), vote_of("safety"))),),
        "decision": Decision(outcome=outcome, grade=Grade.PERMISSIVE),
        **given,
    }
    return Verdict(
        verdict_id=Verdict.id_of(case_id),
        case_id=case_id,
        panel=panel,
        panel_version=PANEL.version,
        subject_sha256=sha256(case_id),
        opened_at=1_000,
        deadline_at=3_600,
        sealed_at=2_000,
        **values,
    )


def record_of(case_id: str, **given: Any) -> CaseRecord:
    values: dict[str, Any] = {
        "digest": sha256(case_id),
        "panel": PANEL,
        "context": Context(),
        "subject_bytes": 5,
        "preview": "hello",
        **given,
    }
    return CaseRecord(case_id, **values)


def seal(ledger: Ledger, case_id: str, lineage: str | None = None, **given: Any) -> Sealed:
    verdict = verdict_of(case_id, **given)
    return ledger.seal(record_of(case_id, lineage=lineage), lambda path: verdict)


def seal_many(url: str, writer: int, cases: int) -> list[int]:
    """A writer of its own: the numbers that its cases got."""
    ledger = Ledger(url)
    try:
        sealed = [seal(ledger, f"w{writer}-{case}").verdict.seq for case in range(cases)]
        return [seq for seq in sealed if seq is not None]
    finally:
        ledger.close()
