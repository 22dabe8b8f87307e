"""Panels, seats and judges as configured: what a case is judged by.

A panel's snapshot travels with each case, so a changed configuration never touches a case that is open.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, JsonValue

from tribunal.model import Frozen, Name, canonical, sha256

MARGIN_SHORT = 0.4
MARGIN_LONG = 2.0
LONG_PANEL = 30.0


class Seat(Frozen):
    """One judge's place on a panel."""

    name: Name
    judge: Name
    """The judge that sits here; it consumes the queue ``judge.<judge>``."""
    weight: Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")] = "1"
    """A decimal number as text, so that arithmetic stays exact; "0" is printed but not counted."""
    timeout: Annotated[float, Field(gt=0)]
    """Seconds, from the stage's start."""
    stage: Annotated[int, Field(ge=1, le=2)] = 1


class Panel(Frozen):
    """A named configuration: procedure, seats, time, thresholds."""

    name: Name
    procedure: Name
    answer_within: Annotated[float, Field(ge=1, le=86_400)]
    """Seconds from submit to the answer."""
    seats: Annotated[tuple[Seat, ...], Field(min_length=1, max_length=64)]
    stage_share: Annotated[float, Field(gt=0)] | None = None
    """Seconds that stage 1 may take at most, where there is a second one."""
    options: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The procedure's own thresholds, checked by its ``Options`` model when the panel is loaded."""
    keep_subject: bool = False
    """Whether the ledger keeps the whole subject (redacted, compressed) instead of a preview."""
    unseated: tuple[Name, ...] = ()
    """Judges named here that no configuration provides: their seats abstain."""

    @property
    def margin(self) -> float:
        """Seconds kept between the docket's deadline and ``answer_within``."""
        return MARGIN_LONG if self.answer_within > LONG_PANEL else MARGIN_SHORT

    @property
    def version(self) -> str:
        """Hex sha256 of the panel's canonical JSON, shortened to 16 digits."""
        return sha256(canonical(self.model_dump(mode="json")))[:16]

    def seats_of(self, stage: int) -> tuple[Seat, ...]:
        """The seats of one stage, in order."""
        return tuple(seat for seat in self.seats if seat.stage == stage)


class JudgeConfig(Frozen):
    """Where a judge's code is and what it is told."""

    name: Name
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    """``module:attribute`` of the decorated function."""
    options: Mapping[str, JsonValue] = Field(default_factory=dict)


class Catalogue(Frozen):
    """All panels and judges of a configuration, checked as a whole."""

    panels: Mapping[str, Panel]
    judges: Mapping[str, JudgeConfig]

    def judge_names(self) -> tuple[str, ...]:
        """The judges that sit on some panel and have code, sorted: one queue and one worker each."""
        seated = {seat.judge for panel in self.panels.values() for seat in panel.seats}
        return tuple(sorted(seated & set(self.judges)))
