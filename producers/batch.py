"""A whole folder of drafts, judged by what runs here; a few at a time, since each has its panel's time only."""

from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import structlog
from rich.table import Table
from rich.text import Text

from producers.drafts import Draft
from tribunal.cli.output import envelope, milliseconds, words
from tribunal.cli.verdicts import GRADE_STYLES
from tribunal.errors import ContractError, DispatchError, StoreUnavailable, TribunalError
from tribunal.lineage import lineage_of
from tribunal.model import Case, Verdict
from tribunal.panels import Panel

logger = structlog.get_logger(__name__)

OPEN_AT_ONCE = 4
"""Cases that are open at once. With more, one worker a judge answers the last of them too late."""
GRACE_S = 10.0
"""Seconds beyond the panel's time that a verdict is waited for: it comes at most 5 s after all is back (I1)."""
STRICTNESS = (0, 12, 11, 10, 20)
"""The exit codes of verdicts, from permissive to refusing."""


class Court(Protocol):
    """What a batch needs of a client."""

    def case(self, panel: str, subject: str, context: Any = None) -> Case:
        """A checked case."""
        ...

    def submit_case(self, case: Case) -> object:
        """Open a case and send it to its judges."""
        ...

    def wait(self, case_id: str, *, timeout: float | None = None) -> Verdict:
        """The sealed verdict of a case."""
        ...


@dataclass(frozen=True)
class Judged:
    """A draft and what became of it: a verdict, or a fault that kept it from one."""

    draft: Draft
    case_id: str
    verdict: Verdict | None = None
    fault: str = ""

    @property
    def outcome(self) -> str:
        """The verdict's word as it is printed; ``no verdict`` without one."""
        return printed(self.verdict.decision.outcome) if self.verdict else "no verdict"

    @property
    def latency_ms(self) -> int | None:
        """From the opening to the seal, by Redis's clock."""
        return self.verdict.sealed_at - self.verdict.opened_at if self.verdict else None

    @property
    def as_expected(self) -> bool | None:
        """Whether the verdict is what the file expects; None where it expects none."""
        if self.draft.expect is None:
            return None
        return self.verdict is not None and self.verdict.decision.outcome == self.draft.expect


def printed(outcome: str) -> str:
    """An outcome's word for people: ``NEEDS REVISION``."""
    return outcome.replace("_", " ").upper()


def make_cases(client: Court, panel: Panel, drafts: Sequence[Draft], folder: Path) -> list[Case]:
    """A case of each draft, all checked before any is sent.

    Raises:
        ContractError: naming every file that is wrong, a line each.
    """
    cases: list[Case] = []
    faults: list[str] = []
    for draft in drafts:
        try:
            case = client.case(panel.name, draft.subject, draft.context)
            lineage_of(case, panel.procedure)
            cases.append(case)
        except ContractError as error:
            faults.append(f"{folder / draft.file}: {error}")
    if faults:
        raise ContractError("\n".join(faults))
    return cases


def judge_all(
    client: Court, panel: Panel, drafts: Iterable[Draft], cases: Iterable[Case], open_at_once: int = OPEN_AT_ONCE
) -> Generator[Judged]:
    """Submit each case and wait for its verdict, ``open_at_once`` at a time; in the order of the drafts, as they come.

    A fault is its draft's own and stops no other.
    """

    def judged(draft: Draft, case: Case) -> Judged:
        try:
            _submit(client, case)
            return Judged(draft, case.case_id, client.wait(case.case_id, timeout=panel.answer_within + GRACE_S))
        except TribunalError as error:
            return Judged(draft, case.case_id, fault=str(error))

    with ThreadPoolExecutor(open_at_once, thread_name_prefix="batch") as pool:
        yield from pool.map(judged, drafts, cases)


def _submit(client: Court, case: Case) -> None:
    try:
        try:
            client.submit_case(case)
        except StoreUnavailable:
            # The same id again opens nothing twice.
            client.submit_case(case)
    except DispatchError as error:
        # The case is open, so its verdict comes by its deadline.
        logger.warning("not all judges were called", case_id=case.case_id, error=str(error))


def exit_code(results: Iterable[Judged]) -> int:
    """1 if a draft has no verdict or another one than its file expects; else the strictest verdict's own.

    A verdict that its file expects counts as 0.
    """
    codes = {0}
    for result in results:
        if result.verdict is None or result.as_expected is False:
            return 1
        if result.as_expected is None:
            codes.add(result.verdict.exit_code)
    return max(codes, key=STRICTNESS.index)


def as_line(result: Judged) -> dict[str, Any]:
    """A result as one JSON object."""
    about: dict[str, Any] = {"file": result.draft.file, "case_id": result.case_id, "latency_ms": result.latency_ms}
    if result.draft.expect is not None:
        about |= {"expect": result.draft.expect, "as_expected": result.as_expected}
    return {**about, **(envelope(result.verdict) if result.verdict else {"error": result.fault})}


def summary(results: Sequence[Judged]) -> dict[str, Any]:
    """How many of each outcome, how many as expected, and the slowest."""
    latencies = [result.latency_ms for result in results if result.latency_ms is not None]
    by_grade = sorted(results, key=lambda one: STRICTNESS.index(one.verdict.exit_code) if one.verdict else -1)
    expecting = [result.as_expected for result in results if result.as_expected is not None]
    return {
        "drafts": len(results),
        "outcomes": dict(Counter(result.outcome for result in by_grade)),
        "expected": {"met": expecting.count(True), "unmet": expecting.count(False)},
        "slowest_ms": max(latencies, default=None),
        "exit_code": exit_code(results),
    }


def summary_line(results: Sequence[Judged]) -> Text:
    """The summary for people."""
    found = summary(results)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in found["outcomes"].items())
    line = Text(f"{found['drafts']} drafts: {counts}", style="bold")
    met, unmet = found["expected"]["met"], found["expected"]["unmet"]
    if met or unmet:
        line.append(f"; {met} as expected", style="not bold")
    if unmet:
        line.append(f", {unmet} not", style="bold red")
    if found["slowest_ms"] is not None:
        line.append(f"; slowest {milliseconds(found['slowest_ms'])}", style="not bold")
    return line


def results_table(results: Iterable[Judged]) -> Table:
    """File, verdict, reasons and latency of each."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("file", "verdict", "reasons"):
        table.add_column(title, header_style="bold", overflow="fold")
    table.add_column("latency", header_style="bold", justify="right", no_wrap=True)
    for result in results:
        table.add_row(
            words(result.draft.file),
            verdict_word(result, "\n"),
            words(_reasons(result)),
            milliseconds(result.latency_ms),
        )
    return table


def verdict_word(result: Judged, separator: str = " ") -> Text:
    """The outcome in its colour; with what was expected instead, where it was."""
    style = GRADE_STYLES[result.verdict.decision.grade] if result.verdict else "red"
    word = Text(result.outcome, style=f"bold {style}")
    if result.as_expected is False:
        word.append(f"{separator}expected {printed(result.draft.expect or '')}", style="red")
    return word


def _reasons(result: Judged) -> str:
    if result.verdict is None:
        return result.fault
    return "\n".join(result.verdict.decision.reasons)
