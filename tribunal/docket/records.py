"""What the docket hands out: plans, openings, attempts, frozen cases, events."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from tribunal.model import Context, Stage, Trigger, Verdict, Vote
from tribunal.model import Frozen as Model
from tribunal.panels import Panel
from tribunal.procedures.base import Facts

STAGES = TypeAdapter(tuple[Stage, ...])
LAST_EVENTS = ("verdict", "conflict")
"""After one of these a case has no more events."""


@dataclass(frozen=True)
class Plan:
    """A panel as published: its snapshot, and the times in it worked out in milliseconds."""

    panel: Panel
    text: str
    """The JSON that lies in Redis and is copied into each case."""

    @classmethod
    def of(cls, panel: Panel) -> "Plan":
        """The plan of a panel."""
        seats = [
            {
                "name": seat.name,
                "judge": seat.judge,
                "stage": seat.stage,
                "span_ms": round(seat.timeout * 1000),
                "missing": seat.judge in panel.unseated,
            }
            for seat in panel.seats
        ]
        plan: dict[str, Any] = {
            "version": panel.version,
            "procedure": panel.procedure,
            "deadline_ms": round((panel.answer_within - panel.margin) * 1000),
            "seats": seats,
            "panel": panel.model_dump_json(),
        }
        if panel.stage_share is not None:
            plan["share_ms"] = round(panel.stage_share * 1000)
        return cls(panel, json.dumps(plan))

    @classmethod
    def parse(cls, text: str) -> "Plan":
        """The plan of its JSON."""
        return cls(Panel.model_validate_json(json.loads(text)["panel"]), text)


@dataclass(frozen=True)
class Dispatch:
    """The tasks of a stage to send."""

    seats: tuple[tuple[str, str], ...]
    """Seat and judge of each; empty where the case is decided without one."""
    sent: int
    """When, by Redis's clock, in milliseconds since the epoch."""


@dataclass(frozen=True)
class Opened:
    """A case that the docket holds."""

    case_id: str
    opened_at: int
    deadline_at: int
    dispatch: "Dispatch"
    existed: bool = False
    """The same case was opened before: nothing was opened. ``dispatch`` has the seats that nobody began since."""


@dataclass(frozen=True)
class Began:
    """An attempt that may run."""

    attempt: int
    milliseconds: int
    """Until the seat's end."""
    lease_ms: int
    """How long the lease holds; it is renewed at every third of it."""
    panel: str
    procedure: str
    judge: str
    context: Context
    peers: tuple[Vote, ...]
    subject: str


@dataclass(frozen=True)
class Frozen:
    """A case whose votes are frozen: all that a decision and its record need."""

    case_id: str
    panel: Panel
    stage: int
    freeze: int
    history: tuple[Stage, ...]
    """Every stage so far, the frozen one last; empty for a skipped case."""
    facts: Facts
    context: Context
    subject: str
    subject_sha256: str
    subject_bytes: int
    opened_at: int
    deadline_at: int
    trigger: Trigger
    lineage: str | None
    digest: str
    """Of all that the producer said, see :attr:`tribunal.model.Case.digest`."""


class Ballot(Model):
    """What a judge's task returns, as JSON: the vote, and whether it may decide the case alone."""

    vote: Vote
    decisive: bool = False


@dataclass(frozen=True)
class SeatDue:
    """What the keeper has to do about a seat."""

    action: Literal["done", "waiting", "resend", "look", "recorded", "complete"]
    judge: str = ""
    sent: int = 0
    """When the seat is sent again: now, by Redis's clock."""


@dataclass(frozen=True)
class Event:
    """A step of a case: opened, began, resent, voted, stage, deciding, and last verdict, or conflict."""

    kind: str
    at: int
    """Milliseconds since the epoch, by Redis's clock."""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def verdict(self) -> Verdict | None:
        """The sealed verdict, in the last event."""
        text = self.fields.get("verdict")
        return Verdict.model_validate_json(text) if text else None


def parse_event(fields: Mapping[str, str]) -> Event:
    """An entry of a case's stream as an event."""
    rest = {name: value for name, value in fields.items() if name not in ("event", "at")}
    return Event(fields["event"], int(fields["at"]), rest)


def frozen_case(case_id: str, flat: Mapping[str, str], subject: str, stage: Stage) -> Frozen:
    """A case of its hash, with the stage that is frozen, or stands so far, last in its history."""
    context = Context.model_validate_json(flat["context"])
    facts = dict(json.loads(flat["facts"]))
    if "lineage" in flat:
        facts |= {"round": int(flat["round"]), "run": int(flat["run"]), "routine": context.routine}
    trigger = Trigger(flat["trigger"])
    history = STAGES.validate_json(flat["history"])
    return Frozen(
        case_id=case_id,
        panel=Plan.parse(flat["plan"]).panel,
        stage=stage.stage,
        freeze=int(flat["freeze"]),
        history=history if trigger is Trigger.SKIPPED else (*history, stage),
        facts=facts,
        context=context,
        subject=subject,
        subject_sha256=flat["subject_sha256"],
        subject_bytes=int(flat["subject_bytes"]),
        opened_at=int(flat["opened"]),
        deadline_at=int(flat["deadline"]),
        trigger=trigger,
        lineage=flat.get("lineage"),
        digest=flat["digest"],
    )
