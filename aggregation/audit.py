"""Audit files and receipts: exports of sealed verdicts, never overwritten."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import structlog
from pydantic import JsonValue

from tribunal import receipts
from tribunal.errors import StoreUnavailable
from tribunal.model import Context, Stage, Verdict

logger = structlog.get_logger(__name__)


def write_audit(output_dir: Path, verdict: Verdict) -> None:
    """Write a verdict's audit file, whole or not at all, mode 0600. A file that is there is left as it is.

    Raises:
        StoreUnavailable: it could not be written; call again.
    """
    if verdict.audit_path is None:
        return
    path = output_dir / verdict.audit_path
    part = path.with_name(f".{path.name}.{verdict.case_id}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.parent.resolve().is_relative_to(output_dir.resolve()):
            raise StoreUnavailable(f"{path}: a link leads out of {output_dir}; remove it")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(dict(verdict.output), file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link, since a rename would overwrite.
            os.link(part, path, follow_symlinks=False)
        except FileExistsError:
            logger.info("audit file is there already", path=str(path), case_id=verdict.case_id)
        part.unlink()
    except OSError as error:
        raise StoreUnavailable(f"{path}: the audit file could not be written ({error})") from error


def write_receipts(output_dir: Path, verdict: Verdict, context: Context) -> None:
    """Append a routine-review verdict to its run's log and snapshot the round; again changes nothing.

    Raises:
        StoreUnavailable: not acknowledged; call again.
    """
    run, round_ = verdict.facts.get("run"), verdict.facts.get("round")
    if context.routine is None or not isinstance(run, int) or not isinstance(round_, int):
        return
    name = receipts.run_name(run)
    for stage in verdict.history[:-1]:
        write_convene(output_dir, context.routine, verdict.facts, verdict.case_id, stage)
    line: dict[str, JsonValue] = {
        "event": "tally",
        "case_id": verdict.case_id,
        "at": verdict.sealed_at,
        **verdict.output,
    }
    receipts.append(output_dir, context.routine, name, line, key=f"{verdict.case_id}:sealed")
    receipts.write_round(output_dir, context.routine, name, round_, line)


def write_convene(output_dir: Path, routine: str, facts: Mapping[str, JsonValue], case_id: str, stage: Stage) -> None:
    """Append the receipt of a stage that led to another one; again changes nothing. Raises StoreUnavailable."""
    run = facts.get("run")
    if not isinstance(run, int):
        return
    votes: list[JsonValue] = [vote.model_dump(mode="json") for vote in stage.votes]
    line: dict[str, JsonValue] = {
        "event": "convene",
        "case_id": case_id,
        "round": facts.get("round"),
        "stage": stage.stage,
        "votes": votes,
    }
    receipts.append(output_dir, routine, receipts.run_name(run), line, key=f"{case_id}:convene:{stage.stage}")
