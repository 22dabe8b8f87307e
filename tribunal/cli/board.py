"""The live table of a case: its seats as they begin and vote, and how much of the time is left."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tribunal.cli.opinions import STATUS_STYLES, because, opinion
from tribunal.cli.output import milliseconds, words
from tribunal.docket import Event, Frozen
from tribunal.errors import StoreUnavailable
from tribunal.model import Vote, VoteStatus
from tribunal.panels import Panel
from tribunal.procedures.votes import standing

BAR_WIDTH = 40
LATE_SHARE = 0.8
"""From this share of the time on, the bar is red."""


@dataclass
class SeatRow:
    """A seat as far as the events tell."""

    stage: int
    state: str = "waiting"
    style: str = "dim"
    attempt: int = 0
    began_at: int | None = None
    """Milliseconds since the epoch, by Redis's clock; so is the next."""
    voted_at: int | None = None
    vote: Vote | None = None


@dataclass
class Board:
    """What is shown of a case while it is judged; :meth:`apply` takes its events, any thread may render it.

    ``panel`` is asked for the panel once the case is open. ``peek`` reads the votes, which the events leave out; it is
    called while rendering, in the table's own thread, so that a slow Redis delays a picture and no answer.
    """

    panel: Callable[[], Panel]
    peek: Callable[[str], Frozen | None]
    case_id: str
    clock: Callable[[], float] = time.monotonic
    answer_within: float | None = None
    """Seconds; None until the case is open."""
    rows: dict[str, SeatRow] = field(default_factory=dict[str, SeatRow])
    phase: str = "submitting"
    started: float = 0.0
    skew: float = 0.0
    """Seconds that Redis's clock, in the events, is ahead of ``clock``."""
    unread: bool = False
    """Whether votes came that were not read yet."""

    def __post_init__(self) -> None:
        self.started = self.clock()

    def apply(self, event: Event) -> None:
        """Take the next event."""
        self.skew = event.at / 1000 - self.clock()
        stage = int(event.fields.get("stage", "1"))
        match event.kind:
            case "opened":
                panel = self.panel()
                self.answer_within = panel.answer_within
                self.rows = {seat.name: SeatRow(seat.stage) for seat in panel.seats} | self.rows
                self.phase = "judging"
            case "stage":
                self.phase = f"judging, stage {stage}"
            case "deciding":
                self.phase = "deciding"
            case "began":
                row = self.rows.setdefault(event.fields["seat"], SeatRow(stage))
                row.attempt = int(event.fields["attempt"])
                row.state, row.style, row.began_at = "judging", "cyan", event.at
            case "resent":
                row = self.rows.setdefault(event.fields["seat"], SeatRow(stage))
                row.state, row.style = "called again", "yellow"
            case "voted":
                row = self.rows.setdefault(event.fields["seat"], SeatRow(stage))
                status = VoteStatus(event.fields["status"])
                row.state, row.style, row.voted_at = status.value, STATUS_STYLES[status], event.at
                self.unread = True
            case _:
                self.phase = "decided"

    def __rich__(self) -> RenderableType:
        self._read()
        if not self.rows:
            return self._bar()
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for title in ("seat", "state", "vote"):
            table.add_column(title, header_style="bold", overflow="ellipsis", no_wrap=True)
        table.add_column("time", header_style="bold", justify="right", no_wrap=True)
        for name, row in list(self.rows.items()):
            state = f"{row.state} (attempt {row.attempt})" if row.attempt > 1 else row.state
            table.add_row(words(name), Text(state, style=row.style), words(_said(row)), milliseconds(self._spent(row)))
        return Group(table, self._bar())

    def _read(self) -> None:
        if not self.unread:
            return
        self.unread = False
        # The verdict brings every vote again; a picture may lack one.
        with suppress(StoreUnavailable):
            seen = self.peek(self.case_id)
            for stage in seen.history if seen else ():
                for vote in stage.votes:
                    if vote.status is not VoteStatus.OPEN and vote.seat in self.rows:
                        self.rows[vote.seat].vote = vote

    def _spent(self, row: SeatRow) -> float | None:
        """Milliseconds of the last attempt so far."""
        if row.began_at is None:
            return None
        until = row.voted_at if row.voted_at is not None else (self.clock() + self.skew) * 1000
        return max(0.0, until - row.began_at)

    def _bar(self) -> RenderableType:
        spent = self.clock() - self.started
        if self.answer_within is None:
            return Text(f"{self.phase}, {spent:.1f} s", style="dim")
        late = spent > LATE_SHARE * self.answer_within
        bar = ProgressBar(
            total=self.answer_within,
            completed=min(spent, self.answer_within),
            width=BAR_WIDTH,
            complete_style="red" if late else "green",
        )
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(bar, Text(f"{spent:.1f} s of {self.answer_within:g} s, {self.phase}", style="dim"))
        return line


def _said(row: SeatRow) -> str:
    if row.vote is None:
        return ""
    return opinion(row.vote) or because(row.vote) or standing(row.vote)
