"""``tribunal show``, ``list`` and ``reopen``: what is recorded, and what a person does about it."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from tribunal.cli.options import AsJson, CaseName, ConfigFile, client_settings, ledger_settings, runs_here
from tribunal.cli.output import envelope, milliseconds, print_json, show, words
from tribunal.cli.verdicts import GRADE_STYLES, verdict_parts, votes_table
from tribunal.client import Client
from tribunal.docket import Frozen
from tribunal.errors import Conflict, ContractError, NotFound
from tribunal.ledger import REOPENED, CaseRecord, FollowUp, Ledger, RecordedVote
from tribunal.model import Verdict
from tribunal.settings import Settings

_ESCALATE = "escalate"


def show_command(case: CaseName, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show all that is recorded of a case.

    Of a sealed case: the verdict, all votes with those that came too late, what the producer said, what people did
    since. Of an open one: its votes so far.
    """
    settings = client_settings(config)
    with closing(Ledger(ledger_settings(settings).effective_ledger_url)) as ledger:
        verdict, record = ledger.get(case), ledger.record(case)
        votes, follow_ups = ledger.votes(case), ledger.follow_ups(case)
    if verdict and record:
        if as_json:
            print_json(_record_json(verdict, record, votes, follow_ups))
        else:
            show(*_record_parts(verdict, record, votes, follow_ups, settings))
        return
    seen, deciding = _open_case(settings, case)
    if as_json:
        print_json(_open_json(case, seen, deciding=deciding))
    elif seen:
        show(words(f"case {case} is open, stage {seen.stage}; its deadline is {_time(seen.deadline_at)}\n"))
        show(votes_table((stage.stage, vote, False) for stage in seen.history for vote in stage.votes))
    else:
        show(words(f"case {case} is being decided"))


def list_command(
    panel: Annotated[str | None, typer.Option("--panel", help="Of this panel only.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Of this outcome only, e.g. veto.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="The cases without a verdict instead.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")] = 50,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List the newest verdicts, or the open cases.

    With --json each is a line.
    """
    settings = client_settings(config)
    if open_:
        if outcome is not None:
            raise ContractError("--open lists cases that have no outcome yet; leave --outcome out")
        rows = [row for row in _open_rows(settings, limit) if panel in (None, row["panel"])]
    else:
        with closing(Ledger(ledger_settings(settings).effective_ledger_url)) as ledger:
            # Asked for in the word that is shown, VETO, or in the routing key's, veto.
            wanted = outcome.lower() if outcome else None
            rows = [envelope(verdict) for verdict in ledger.list(panel=panel, outcome=wanted, limit=limit)]
    if as_json:
        for row in rows:
            print_json(row)
    elif rows:
        show(_open_table(rows) if open_ else _verdict_table(rows))
    else:
        show(words("none"))


def reopen_command(
    case: CaseName,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who decides it.")],
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Why.")],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Let an escalated routine start again, as a person's decision.

    The verdict stays as it is; who reopened it and why stands beside it. The next diff of that routine and target
    begins with round 1. Repeating it is safe, and records it once.
    """
    with Client(client_settings(config)) as client:
        lineage = _escalated_lineage(client.ledger, case)
        before = [done for done in client.ledger.follow_ups(case) if done.kind == REOPENED]
        done = before[-1] if before else client.ledger.follow_up(case, REOPENED, by, note)
        client.docket.reopen_lineage(lineage, case)
    if as_json:
        print_json({"case_id": case, "lineage": lineage, "existed": bool(before), **_follow_up_json(done)})
    else:
        show(words(f"case {case} was reopened by {done.by} at {_time(done.at)}: {done.note}"))


def _escalated_lineage(ledger: Ledger, case: str) -> str:
    """The lineage that the case escalated, if it is the last of it."""
    verdict, record = ledger.get(case), ledger.record(case)
    if verdict is None or record is None:
        raise NotFound(f"no case {case} is sealed in the ledger; see tribunal list --outcome {_ESCALATE}")
    if record.lineage is None or verdict.decision.outcome != _ESCALATE:
        raise ContractError(
            f"only an escalated case with a routine can be reopened; case {case} of panel {verdict.panel} is "
            f"{verdict.decision.outcome}"
        )
    last = next((line.case_id for line in ledger.lineages() if line.lineage == record.lineage), case)
    if last != case:
        raise Conflict(f"case {case} is not the last of its routine and target, case {last} is; look at that one")
    return record.lineage


def _open_case(settings: Settings, case: str) -> tuple[Frozen | None, bool]:
    """The votes so far, and whether the case is past them and being decided.

    Raises:
        NotFound: nothing knows the case.
    """
    if runs_here(settings):
        with Client(settings) as client:
            seen = client.docket.peek(case)
            deciding = seen is None and client.docket.known(case)
        if seen or deciding:
            return seen, deciding
    raise NotFound(f"no case {case}: neither the ledger nor what runs here knows it; see tribunal list")


def _open_rows(settings: Settings, limit: int) -> list[dict[str, Any]]:
    with Client(settings) as client:
        now = client.docket.now_ms()
        return [
            {
                "case_id": case_id,
                "panel": panel,
                "opened_at": opened,
                "deadline_at": deadline,
                "left_ms": deadline - now,
            }
            for case_id, panel, opened, deadline in client.docket.open_cases(limit)
        ]


def _record_json(
    verdict: Verdict, record: CaseRecord, votes: list[RecordedVote], follow_ups: list[FollowUp]
) -> dict[str, Any]:
    return {
        "verdict": verdict.model_dump(mode="json"),
        "votes": [{"stage": vote.stage, "late": vote.late, **vote.vote.model_dump(mode="json")} for vote in votes],
        "context": record.context.model_dump(mode="json", exclude_defaults=True),
        "subject_bytes": record.subject_bytes,
        "preview": record.preview,
        "lineage": record.lineage,
        "panel": record.panel.model_dump(mode="json"),
        "follow_ups": [_follow_up_json(done) for done in follow_ups],
    }


def _record_parts(
    verdict: Verdict, record: CaseRecord, votes: list[RecordedVote], follow_ups: list[FollowUp], settings: Settings
) -> Iterator[RenderableType]:
    yield from verdict_parts(verdict, settings.output_dir)
    late = [(vote.stage, vote.vote, True) for vote in votes if vote.late]
    if late:
        yield words("\nVotes that came too late to count", "bold")
        yield votes_table(late)
    yield words(f"\nSubject, {record.subject_bytes:,} bytes", "bold")
    yield words(record.preview)
    context = record.context.model_dump(mode="json", exclude_defaults=True)
    for name, value in context.items():
        yield words(f"{name}: {value}", "dim")
    for done in follow_ups:
        yield words(f"{done.kind} by {done.by} at {_time(done.at)}: {done.note}", "bold")


def _open_json(case: str, seen: Frozen | None, *, deciding: bool) -> dict[str, Any]:
    if seen is None:
        return {"case_id": case, "status": "deciding" if deciding else "open"}
    return {
        "case_id": case,
        "status": "open",
        "panel": seen.panel.name,
        "stage": seen.stage,
        "opened_at": seen.opened_at,
        "deadline_at": seen.deadline_at,
        "votes": [
            {"stage": stage.stage, **vote.model_dump(mode="json")} for stage in seen.history for vote in stage.votes
        ],
    }


def _follow_up_json(done: FollowUp) -> dict[str, Any]:
    return {"kind": done.kind, "by": done.by, "note": done.note, "at": done.at}


def _verdict_table(rows: list[dict[str, Any]]) -> Table:
    table = _table("number", "case", "panel", "outcome", "sealed (UTC)", "took")
    for row in rows:
        outcome = ".".join(part for part in (row["outcome"], row["authority"]) if part)
        style = GRADE_STYLES[row["grade"]]
        took = milliseconds(row["sealed_at"] - row["opened_at"])
        cells = (str(row["seq"]), row["case_id"], row["panel"])
        table.add_row(*map(words, cells), words(outcome, style), words(_time(row["sealed_at"])), words(took))
    return table


def _open_table(rows: list[dict[str, Any]]) -> Table:
    table = _table("case", "panel", "opened (UTC)", "left")
    for row in rows:
        cells = (row["case_id"], row["panel"], _time(row["opened_at"]), f"{row['left_ms'] / 1000:.1f} s")
        table.add_row(*map(words, cells))
    return table


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, header_style="bold", no_wrap=title == "case")
    return table


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
