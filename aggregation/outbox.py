"""The outbox: what a sealed verdict sets going. Tried once at the seal, swept until it is done."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from aggregation.audit import write_audit, write_convene, write_receipts
from tribunal.docket import Frozen
from tribunal.errors import DispatchError, TribunalError
from tribunal.ledger import Ledger, Mark
from tribunal.model import Verdict
from tribunal.procedures import Convene
from tribunal.topic import Topic

logger = structlog.get_logger(__name__)

UNMARKED_MS = 2000
"""A verdict without its mark for so long is published, or exported, again."""
BATCH = 100


@dataclass(frozen=True)
class Outbox:
    """Publishes and exports sealed verdicts: at least once each (I4), and only those (I7)."""

    ledger: Ledger
    topic: Topic
    output_dir: Path
    under_way: set[str] = field(default_factory=set[str])
    """Cases whose verdict waits for its first publication in this process: not for the sweep."""

    def shown(self, path: str | None) -> str | None:
        """An audit path as people are told it: with the output folder's name before it."""
        return None if path is None else f"{self.output_dir.name}/{path}"

    def free_paths(self, paths: tuple[str, str] | None) -> tuple[str, str] | None:
        """The procedure's two choices of an audit path; only the second where a file lies at the first."""
        if paths is None:
            return None
        first, second = paths
        try:
            taken = (self.output_dir / first).exists()
        except OSError as error:
            logger.warning("the audit folder cannot be read; its file is written later", error=str(error))
            return paths
        return (second, second) if taken else paths

    def send(self, verdict: Verdict) -> None:
        """Publish and export a verdict that was sealed just now; what fails is left to the sweep."""
        try:
            done: list[Mark] = []
            if self._publish(verdict):
                done.append("published")
            if self._export(verdict):
                done.append("exported")
            if done:
                self.ledger.mark(verdict.case_id, *done)
        finally:
            self.under_way.discard(verdict.case_id)

    def sweep(self) -> None:
        """Publish and export what was sealed a while ago, is not marked and not under way. Raises StoreUnavailable."""
        while self._swept("published", self._publish) or self._swept("exported", self._export):
            pass

    def _swept(self, kind: Mark, act: Callable[[Verdict], bool]) -> bool:
        """Whether a whole batch was done, so that there may be more."""
        rows = [row for row in self.ledger.unmarked(kind, UNMARKED_MS, BATCH) if row.case_id not in self.under_way]
        for verdict in rows:
            if not act(verdict):
                return False
            self.ledger.mark(verdict.case_id, kind)
        return len(rows) == BATCH

    def _publish(self, verdict: Verdict) -> bool:
        try:
            self.topic.publish(verdict)
        except DispatchError as error:
            logger.warning("not published; the sweep will", case_id=verdict.case_id, error=str(error))
            return False
        return True

    def _export(self, verdict: Verdict) -> bool:
        try:
            write_audit(self.output_dir, verdict)
            write_receipts(self.output_dir, verdict)
        except TribunalError as error:
            logger.warning("not exported; the sweep will", case_id=verdict.case_id, error=str(error))
            return False
        return True

    def receipt_of_convene(self, frozen: Frozen, convene: Convene) -> None:
        """Append the receipt of a stage that convenes another; the export after the seal makes good what fails."""
        try:
            write_convene(self.output_dir, frozen.facts, frozen.case_id, frozen.history[-1])
        except TribunalError as error:
            logger.warning("no receipt yet", case_id=frozen.case_id, stage=convene.stage, error=str(error))
