"""What the tests of ``recommendation`` share: its panel, clean answers, and a case decided in one call."""

from collections.abc import Mapping

from pydantic import JsonValue

from tribunal.model import Case, Context, Decision, Risk, Stage, Vote
from tribunal.panels import Panel, Seat
from tribunal.procedures.base import Outcome, Rendering, read_vote
from tribunal.procedures.recommendation import Recommendation

PROCEDURE = Recommendation()
SEATS = ("memory-conflict", "rule-violation", "hallucination-fast", "expertise-asymmetry")
FACTS: Mapping[str, JsonValue] = {"risk_class": "high"}
DRAFT = "Run `git push` and tell the team."

CLEAN: dict[str, JsonValue] = {
    "memory-conflict": {"score": 100, "veto": False, "evidence": []},
    "rule-violation": {"score": 100, "veto": False, "rules_hit": []},
    "hallucination-fast": {"score": 100, "veto": False, "fabricated": []},
    "expertise-asymmetry": {"score": 90, "audit_level": "high", "mode": "normal"},
}


def panel_of(*names: str, options: Mapping[str, JsonValue] | None = None) -> Panel:
    """The document's panel, or one of other seats."""
    seats = tuple(
        Seat(name=name, judge=name, timeout=2.4, weight="0" if name == "expertise-asymmetry" else "1")
        for name in names or SEATS
    )
    return Panel(
        name="recommendation", procedure="recommendation", answer_within=3, seats=seats, options=dict(options or {})
    )


def scored(seat: str, score: int | None, **more: JsonValue) -> dict[str, JsonValue]:
    """The seat's clean answer with another score and other fields."""
    clean = CLEAN[seat]
    assert isinstance(clean, dict)
    return {seat: {**clean, "score": score, **more}}


def stage_of(answers: Mapping[str, JsonValue]) -> Stage:
    """The answers as frozen votes, as ``tally`` and the workers read them."""
    return Stage(stage=1, votes=tuple(read_vote(PROCEDURE, seat, seat, raw) for seat, raw in answers.items()))


def outcome(stage: Stage, panel: Panel | None = None) -> Outcome:
    """What the procedure makes of the votes."""
    return PROCEDURE.decide(panel or panel_of(), FACTS, (stage,))


def decided(answers: Mapping[str, JsonValue], panel: Panel | None = None) -> Decision:
    """The decision on answers; the seats that are not named are clean."""
    seats = [seat.name for seat in (panel or panel_of()).seats]
    found = outcome(stage_of({seat: CLEAN.get(seat, {"score": 100}) for seat in seats} | dict(answers)), panel)
    assert isinstance(found, Decision)
    return found


def rendering_of(*votes: Vote, subject: str = DRAFT, path: str | None = None) -> Rendering:
    """What the engine tells ``output``, for a case opened on 2026-03-01 at 23:59:59 UTC."""
    return Rendering(
        subject=subject,
        facts=FACTS,
        history=(Stage(stage=1, votes=votes),) if votes else (),
        case_id="c1",
        ref=None,
        type=None,
        opened_at=1_772_409_599_000,
        elapsed_ms=812,
        path=path,
    )


def case_of(subject: str, risk: Risk | None = None) -> Case:
    """A case as a producer submits it."""
    return Case(panel="recommendation", subject=subject, context=Context(risk=risk))
