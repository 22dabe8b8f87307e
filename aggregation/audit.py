"""Audit files and receipts: exports of sealed verdicts, never overwritten."""

import json
from collections.abc import Mapping
from pathlib import Path

import structlog
from pydantic import JsonValue

from tribunal import receipts
from tribunal.confined import write_once
from tribunal.model import Stage, Verdict

logger = structlog.get_logger(__name__)


def write_audit(output_dir: Path, verdict: Verdict) -> None:
    """Write a verdict's audit file, whole or not at all, mode 0600. A file that is there is left as it is.

    Raises:
        StoreUnavailable: it could not be written; call again.
        ConfigurationError: a link or a file is in the way.
    """
    if verdict.audit_path is None:
        return
    *folders, name = verdict.audit_path.split("/")
    text = json.dumps(dict(verdict.output), indent=2, ensure_ascii=False)
    if not write_once(output_dir, tuple(folders), name, text.encode() + b"\n"):
        logger.info("audit file is there already", path=verdict.audit_path, case_id=verdict.case_id)


def write_receipts(output_dir: Path, verdict: Verdict) -> None:
    """Append a routine-review verdict to its run's log and snapshot the round; again changes nothing.

    Raises:
        StoreUnavailable: not acknowledged; call again.
        ConfigurationError: a link or a file is in the way.
    """
    run = _run_of(verdict.facts)
    round_ = verdict.facts.get("round")
    if run is None or not isinstance(round_, int):
        return
    for stage in verdict.history[:-1]:
        write_convene(output_dir, verdict.facts, verdict.case_id, stage)
    line: dict[str, JsonValue] = {
        "event": "tally",
        "case_id": verdict.case_id,
        "at": verdict.sealed_at,
        **verdict.output,
    }
    receipts.append(output_dir, *run, line, key=f"{verdict.case_id}:sealed")
    receipts.write_round(output_dir, *run, round_, line)


def write_convene(output_dir: Path, facts: Mapping[str, JsonValue], case_id: str, stage: Stage) -> None:
    """Append the receipt of a stage that led to another one; again changes nothing. Raises like write_receipts."""
    run = _run_of(facts)
    if run is None:
        return
    votes: list[JsonValue] = [vote.model_dump(mode="json") for vote in stage.votes]
    line: dict[str, JsonValue] = {
        "event": "convene",
        "case_id": case_id,
        "round": facts.get("round"),
        "stage": stage.stage,
        "votes": votes,
    }
    receipts.append(output_dir, *run, line, key=f"{case_id}:convene:{stage.stage}")


def _run_of(facts: Mapping[str, JsonValue]) -> tuple[str, str] | None:
    """The routine's slug and the run's folder, where the case is of a lineage."""
    routine, run = facts.get("routine"), facts.get("run")
    return (routine, receipts.run_name(run)) if isinstance(routine, str) and isinstance(run, int) else None
