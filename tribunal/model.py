"""Case, vote and verdict: the wire format, as frozen pydantic models.

Everything that crosses a process is one of these as JSON. Types are strict: the string ``"false"`` is not a veto, 100
is not a confidence, NaN is nothing. Parse with :func:`pydantic.BaseModel.model_validate_json`; strict mode takes a list
for a tuple only there.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints

SCHEMA_VERSION = 1
"""Version of the wire format; every message and row carries it."""

SUBJECT_LIMIT = 1024 * 1024
"""Default limit of a subject, in bytes of UTF-8."""

CONTEXT_TEXT_LIMIT = 256 * 1024
"""Limit of a text in the context (policy, definition of done), in characters."""

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
NAME_PATTERN = r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
"""Names of panels, judges and seats: lower-case words joined by hyphens (no dot: they are parts of routing keys)."""

CaseId = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=64)]
Answer = Mapping[str, JsonValue]
"""A judge's own words: one JSON object, with the fields of the panel's procedure."""


def _clean(text: str) -> str:
    if "\x00" in text:
        raise ValueError(f"no NUL character, but there is one at offset {text.index(chr(0))}; remove it")
    lone = re.search("[\ud800-\udfff]", text)
    if lone:
        raise ValueError(f"valid Unicode, but there is a lone surrogate at offset {lone.start()}; decode it as UTF-8")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("some text, but it is empty or only white space")
    return text


def _slug(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", text) or ".." in text:
        raise ValueError("letters, digits, '.', '_' or '-', starting with a letter or digit, no '..', at most 128")
    return text


CleanText = Annotated[str, AfterValidator(_clean)]
Line = Annotated[CleanText, StringConstraints(max_length=1024)]
Document = Annotated[CleanText, StringConstraints(max_length=CONTEXT_TEXT_LIMIT)]
Slug = Annotated[str, AfterValidator(_slug)]


class Frozen(BaseModel):
    """A strict, immutable model that forbids what it does not know."""

    # cache_strings: pydantic's cache of short strings would grow by every case's ids and hashes.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, cache_strings="keys")


class Risk(StrEnum):
    """How much harm a wrong recommendation can do; ordered from ``low`` up."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Context(Frozen):
    """What the producer says about the subject. It can choose nothing of the panel's (I9)."""

    ref: Line | None = None
    """The subject's name where it comes from: a path, a pull request's number."""

    risk: Risk | None = None
    """recommendation: the risk class, if the producer knows it; else the classifier decides."""
    workspace: Line | None = None
    """A folder, on the workers' machines, that paths and functions are looked up in."""
    memory: Line | None = None
    """A folder of memory files (``feedback_*.md``, ``user_*.md``)."""
    expertise: Line | None = None
    """The user's ``expertise.md``; without it, the one in ``memory``."""

    type: Literal["spec", "pr", "decision"] | None = None
    """consensus: what the subject is."""
    code_verdict: Line | None = None
    """consensus gate: the code reviewer's verdict so far."""
    touches: Annotated[tuple[Line, ...], Field(max_length=64)] = ()
    """consensus gate: what the change involves (``auth``, ``payments``, ``pii``, ``compliance``)."""
    ambiguous: bool = False
    """consensus gate: whether the spec is marked ambiguous."""
    change_kind: Line | None = None
    """consensus gate: the kind of change (``crud``, ``cosmetic``)."""
    risk_score: Annotated[int, Field(ge=0, le=100)] | None = None
    """consensus gate: 0 to 100; below 26 is the low tier."""
    skip_optional: bool = False
    """consensus gate: do not run the panel where it is optional."""

    routine: Slug | None = None
    """routine-review: the routine that made the diff."""
    target: Line | None = None
    """routine-review: what the diff is for (pull request, branch); without it, ``ref``. Part of the lineage."""
    previous: CaseId | None = None
    """routine-review: the case whose ``needs_revision`` this diff answers."""
    policy: Document | None = None
    """routine-review: what the routine was authorised to do."""
    dod: Document | None = None
    """routine-review: the routine's definition of done."""


def new_case_id() -> str:
    """A fresh case id: 32 hex digits."""
    return uuid.uuid4().hex


class Case(Frozen):
    """What a producer submits: a panel's name, the subject, its context."""

    schema_version: Literal[1] = SCHEMA_VERSION
    case_id: CaseId = Field(default_factory=new_case_id)
    panel: Name
    subject: Annotated[CleanText, AfterValidator(_not_blank)]
    context: Context = Context()

    @property
    def digest(self) -> str:
        """Hex sha256 of all that the producer said: the same id with another digest is a conflict."""
        return sha256(canonical(self.model_dump(mode="json", exclude={"case_id"})))

    @property
    def subject_hash(self) -> str:
        """Hex sha256 of the subject in UTF-8."""
        return sha256(self.subject)


class VoteStatus(StrEnum):
    """What became of a seat."""

    VOTED = "voted"
    ABSTAINED = "abstained"
    TIMEOUT = "timeout"
    ERROR = "error"
    LATE = "late"
    """A vote that came after the freeze: recorded, never counted (I2)."""
    OPEN = "open"
    """Not answered yet: only in the unfrozen copy that a procedure is asked about on a hint."""
    CUT = "cut"
    """Not awaited: the case was decided before this seat answered."""


class Vote(Frozen):
    """A seat's answer, or why there is none."""

    seat: Name
    judge: Name
    status: VoteStatus
    answer: Answer | None = None
    """The judge's own JSON; kept for an abstention and for an error vote too, where there was any."""
    reason: str | None = None
    """Why the seat did not vote."""
    attempt: Annotated[int, Field(ge=0)] = 0
    """Which attempt brought it: 1 or 2; 0 where none began."""
    elapsed_ms: Annotated[int, Field(ge=0)] | None = None
    """From the attempt's begin to its answer, in milliseconds."""

    @property
    def answered(self) -> bool:
        """Whether the seat voted."""
        return self.status is VoteStatus.VOTED


class Stage(Frozen):
    """One stage's frozen votes, in the order of the panel's seats. A procedure's result does not depend on it."""

    stage: Annotated[int, Field(ge=1)]
    votes: tuple[Vote, ...]

    def by_seat(self) -> dict[str, Vote]:
        """The votes by seat name."""
        return {vote.seat: vote for vote in self.votes}


class Grade(StrEnum):
    """What an outcome permits, over all panels."""

    PERMISSIVE = "permissive"
    MIDDLE = "middle"
    REFUSING = "refusing"
    SKIPPED = "skipped"
    """No judgement was needed and none is given (consensus only)."""


class Authority(StrEnum):
    """Who may merge an approved diff."""

    AUTO = "auto"
    HUMAN = "human"


class Decision(Frozen):
    """What a procedure decided: no time, id or path in it, so that it can be replayed byte for byte (I10)."""

    outcome: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]*$")]
    """The panel's own word in lower case, as in the routing key: ``pass``, ``conditional``, ``needs_revision`` …"""
    grade: Grade
    authority: Authority | None = None
    reasons: tuple[str, ...] = ()
    """Why, one sentence each, most decisive first."""
    details: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The procedure's own figures: score, vetoes, dissents, required edits …"""


class Answered(Frozen):
    """What ``judge()`` told its caller before the case was sealed."""

    outcome: str
    reason: Literal["timeout", "unrecorded", "unreachable"]


class Trigger(StrEnum):
    """What led to the seal."""

    COMPLETE = "complete"
    DEADLINE = "deadline"
    EARLY = "early"
    SKIPPED = "skipped"


class Verdict(Frozen):
    """The result of a case. Once sealed it never changes (I2)."""

    schema_version: Literal[1] = SCHEMA_VERSION
    verdict_id: str
    """Stable: derived from the case id."""
    case_id: CaseId
    panel: Name
    panel_version: str
    decision: Decision
    history: tuple[Stage, ...]
    """The frozen votes of every stage that ran."""
    facts: Mapping[str, JsonValue] = Field(default_factory=dict)
    """What the procedure was told beside the votes: the gate's answer, round, protected paths …"""
    trigger: Trigger | None = None
    final: bool = True
    """False only for what ``judge()`` answers when nothing is sealed in time."""
    reason: Literal["timeout", "unrecorded", "unreachable"] | None = None
    """Why it is not final."""
    answered: Answered | None = None
    output: Mapping[str, JsonValue] = Field(default_factory=dict)
    """The same in the format of the panel's own document."""
    audit_path: str | None = None
    """The audit file, relative to the aggregator's ``output_dir``; None where the procedure writes none."""
    subject_sha256: str
    opened_at: int
    """Milliseconds since the epoch, by Redis's clock; so are the next two."""
    deadline_at: int
    sealed_at: int
    seq: int | None = None
    """The verdict's place in the log, gapless from 1; None until sealed."""

    @property
    def routing_key(self) -> str:
        """``<panel>.<outcome>[.<authority>]``, in lower case."""
        parts = [self.panel, self.decision.outcome]
        if self.decision.authority:
            parts.append(self.decision.authority.value)
        return ".".join(parts)

    @property
    def exit_code(self) -> int:
        """What the command line ends with: 0, 10, 11, 12 or 20."""
        if self.decision.grade is Grade.PERMISSIVE and self.decision.authority is Authority.HUMAN:
            return 11
        return {Grade.PERMISSIVE: 0, Grade.MIDDLE: 10, Grade.SKIPPED: 12, Grade.REFUSING: 20}[self.decision.grade]

    @classmethod
    def id_of(cls, case_id: str) -> str:
        """The verdict id of a case."""
        return uuid.uuid5(uuid.NAMESPACE_URL, f"tribunal:{case_id}").hex

    def with_seq(self, seq: int) -> Self:
        """The same verdict with its place in the log."""
        return self.model_copy(update={"seq": seq})


def canonical(value: Any) -> str:
    """JSON with sorted keys, no white space and no NaN: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def sha256(text: str) -> str:
    """Hex sha256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
