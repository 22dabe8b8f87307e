"""A verdict for people: the outcome, why, who said what, the block that a user sees, where it is recorded."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.panel import Panel as Frame
from rich.table import Table
from rich.text import Text

from tribunal.cli.faults import printable
from tribunal.cli.opinions import STATUS_STYLES, because, evidence, opinion
from tribunal.cli.output import milliseconds, words
from tribunal.model import Grade, Verdict, Vote
from tribunal.procedures.votes import details_text, standing

GRADE_STYLES = {Grade.PERMISSIVE: "green", Grade.MIDDLE: "yellow", Grade.REFUSING: "red", Grade.SKIPPED: "cyan"}
_EXIT_WORDS = {
    0: "the permissive outcome",
    10: "the middle outcome",
    11: "approved, a person merges",
    12: "skipped without a verdict",
    20: "the refusing outcome",
}


def verdict_parts(verdict: Verdict, output_dir: Path) -> Iterator[RenderableType]:
    """All of a verdict, from top to bottom."""
    yield _headline(verdict)
    if verdict.history:
        yield votes_table((stage.stage, vote, False) for stage in verdict.history for vote in stage.votes)
    banner = verdict.output.get("banner")
    if isinstance(banner, str) and banner:
        # The procedure has made the Markdown in it harmless.
        yield Frame(Markdown(printable(banner), hyperlinks=False), title="what the user sees", title_align="left")
    edits = details_text(verdict.decision.details, "required_edits")
    if edits:
        yield words("Required edits", "bold")
        yield words("\n".join(f"{number}. {edit}" for number, edit in enumerate(edits, 1)))
    yield _record(verdict, output_dir)


def votes_table(rows: Iterable[tuple[int, Vote, bool]]) -> Table:
    """Votes with their stage, and whether they came too late to count."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("seat", "vote", "why"):
        table.add_column(title, header_style="bold", overflow="fold")
    table.add_column("time", header_style="bold", justify="right", no_wrap=True)
    for stage, vote, late in rows:
        name = vote.seat if stage == 1 else f"{vote.seat} (stage {stage})"
        said = opinion(vote) if vote.answered and not late else standing(vote) + (", late" if late else "")
        second = " (attempt 2)" if vote.attempt > 1 else ""
        style = "dim" if late else STATUS_STYLES[vote.status]
        why = [words(because(vote)), *(words(f"· {line}", "dim") for line in evidence(vote))]
        table.add_row(words(name), words(said + second, style), Group(*why), milliseconds(vote.elapsed_ms))
    return table


def _headline(verdict: Verdict) -> Text:
    decision = verdict.decision
    style = GRADE_STYLES[decision.grade]
    line = Text()
    line.append(f" {decision.outcome.replace('_', ' ').upper()} ", style=f"bold white on {style}")
    line.append(f"  {verdict.panel}", style="bold")
    if decision.authority:
        line.append(f"  merge authority: {decision.authority.value}", style="bold")
    if not verdict.final:
        line.append(f"\nNot final ({verdict.reason}): the case was not sealed in time.", style="bold yellow")
    for reason in decision.reasons:
        line.append(f"\n• {printable(reason)}")
    line.append("\n")
    return line


def _record(verdict: Verdict, output_dir: Path) -> Text:
    number = f", number {verdict.seq}" if verdict.seq is not None else ""
    took = milliseconds(verdict.sealed_at - verdict.opened_at)
    how = f", by {verdict.trigger.value}" if verdict.trigger else ""
    line = Text(no_wrap=True, style="dim").append(f"\ncase {verdict.case_id}{number}{how}, {took}")
    if verdict.answered:
        line.append(f"\nthe caller was answered {verdict.answered.outcome} before ({verdict.answered.reason})")
    if verdict.audit_path:
        line.append(f"\naudit {output_dir / verdict.audit_path}")
    line.append(f"\nexit code {verdict.exit_code}: {_EXIT_WORDS[verdict.exit_code]}")
    return line
