"""A vote in a few words, whatever panel it is of."""

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import JsonValue

from tribunal.model import Answer, Vote, VoteStatus

EVIDENCE_SHOWN = 3
"""Pieces of evidence of a seat that are shown; the JSON has all."""
STATUS_STYLES = {
    VoteStatus.VOTED: "green",
    VoteStatus.OPEN: "cyan",
    VoteStatus.CUT: "dim",
    VoteStatus.LATE: "dim",
    VoteStatus.ABSTAINED: "yellow",
    VoteStatus.TIMEOUT: "red",
    VoteStatus.ERROR: "red",
}
_FLAGS = ("injection_detected", "design_decision", "security_veto")
_EVIDENCE = ("evidence", "rules_hit", "fabricated")


def opinion(vote: Vote) -> str:
    """What the seat said: its verdict, veto, score or level, with the confidence; '' if it did not vote."""
    answer = vote.answer
    if answer is None or not vote.answered:
        return ""
    words: list[str] = []
    if isinstance(answer.get("verdict"), str):
        words.append(str(answer["verdict"]))
    if answer.get("veto") is True:
        words.append("veto")
    score, confidence = _number(answer.get("score")), _number(answer.get("confidence"))
    if score is not None:
        words.append(f"score {score:g}")
    if isinstance(answer.get("audit_level"), str):
        words.append(f"expertise {answer['audit_level']}")
    if not words and "score" in answer:
        words.append("nothing of its kind")
    if confidence is not None:
        words.append(f"confidence {confidence:g}")
    words += [flag.replace("_", " ") for flag in _FLAGS if answer.get(flag) is True]
    return ", ".join(words)


def because(vote: Vote) -> str:
    """The seat's reason, or why it did not vote; '' without one."""
    answer: Answer = vote.answer or {}
    for said in (answer.get("reason"), answer.get("reasoning"), vote.reason):
        if isinstance(said, str) and said.strip():
            return said.strip()
    return ""


def evidence(vote: Vote) -> Iterator[str]:
    """What the seat found, a line each: what it is, and the subject's own words."""
    answer: Answer = vote.answer or {}
    found = [item for key in _EVIDENCE for item in _items(answer.get(key))]
    for item in found[:EVIDENCE_SHOWN]:
        yield _line(item)
    if len(found) > EVIDENCE_SHOWN:
        yield f"and {len(found) - EVIDENCE_SHOWN} more"
    for edit in _items(answer.get("required_edits")):
        yield f"edit: {edit}"


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _line(item: JsonValue) -> str:
    if not isinstance(item, dict):
        return str(item)
    table = cast("Mapping[str, JsonValue]", item)
    names = [table.get(key) for key in ("rule_id", "rule_file", "memory_file", "entity", "class")]
    named = ", ".join(name for name in names if isinstance(name, str) and name)
    quoted = table.get("draft_match")
    rest = [
        f"{words} {told}"
        for words, key in (("says", "memory_excerpt"), ("result:", "result"), ("closest:", "closest_match"))
        if isinstance(told := table.get(key), str) and told
    ]
    quote = [f"“{quoted}”"] if isinstance(quoted, str) and quoted and quoted not in named else []
    return "; ".join([named, *quote, *rest]) if named else "; ".join([*quote, *rest])
