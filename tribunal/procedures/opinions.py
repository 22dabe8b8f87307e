"""What the judges of ``recommendation`` say: the shapes of their answers, read strictly.

Keys that are not named here are recorded with the vote and ignored.
"""

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator

from tribunal.model import Answer, canonical
from tribunal.procedures.votes import AnswerModel, first_fault

Confidence = Annotated[float, Field(ge=0, le=1)]

# Control characters, zero-width and bidirectional marks, lone surrogates: nothing a reader sees, much that misleads.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def brief(text: str, limit: int = 200) -> str:
    """The text on one line of at most ``limit`` characters, without what cannot be seen."""
    line = _INVISIBLE.sub("", " ".join(text[: 4 * limit].split()))
    cut = len(text) > 4 * limit or len(line) > limit
    return line[: limit - 1] + "…" if cut else line


class Finding(AnswerModel):
    """One thing that a judge found; a plain string is taken as its name."""

    name_key: ClassVar[str]
    draft_match: str | None = None
    """The draft's own words."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {cls.name_key: value} if isinstance(value, str) else value


class Evidence(Finding):
    """A memory file that the draft contradicts."""

    name_key = "memory_file"
    memory_file: str
    memory_excerpt: str | None = None


class RuleHit(Finding):
    """A rule that the draft breaks, by its id or its file."""

    name_key = "rule_id"
    rule_id: str | None = None
    rule_file: str | None = None
    rule_excerpt: str | None = None

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        if not self.names:
            raise ValueError("rule_id or rule_file expected, neither came")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the file, as far as they are given."""
        return tuple(name for name in (self.rule_id, self.rule_file) if name)


class Fabricated(Finding):
    """Something that the draft names and that does not exist."""

    name_key = "entity"
    entity: str
    closest_match: str | None = None
    confidence: Confidence | None = None
    """Without it, the vote's own."""


class Opinion(AnswerModel):
    """A seat's answer."""

    score: Annotated[int, Field(ge=0, le=100)] | None = None
    """0 to 100; None: nothing of the judge's kind is in the draft."""
    veto: bool = False
    confidence: Confidence | None = None
    reason: str | None = None
    injection_detected: bool = False
    evidence: list[Evidence] = Field(default_factory=list[Evidence])
    rules_hit: list[RuleHit] = Field(default_factory=list[RuleHit])
    fabricated: list[Fabricated] = Field(default_factory=list[Fabricated])
    audit_level: Literal["blind", "low", "medium", "high"] | None = None
    mode: Literal["normal", "rewrite-blind"] | None = None
    domain: str | None = None

    @property
    def certainty(self) -> float:
        """The confidence; absent, it counts as 1."""
        return 1.0 if self.confidence is None else self.confidence

    @property
    def quote(self) -> str | None:
        """One piece of evidence, in the draft's words where a finding has them."""
        findings = [*self.evidence, *self.rules_hit, *self.fabricated]
        return next((found.draft_match for found in findings if found.draft_match), None)


_JUDGEMENT = {"score", "veto", "evidence", "rules_hit", "fabricated", "audit_level", "mode"}


def read_opinion(answer: Answer) -> Opinion | str:
    """The answer as an opinion, or the sentence that says why it is none.

    An answer that judges nothing (no score, veto, finding, audit level or mode) is none: it must not pass for a seat
    that found nothing.
    """
    try:
        canonical(dict(answer)).encode()
        opinion = Opinion.model_validate(dict(answer))
    except UnicodeEncodeError:
        return "valid Unicode expected, a lone surrogate came; decode the text as UTF-8"
    except ValidationError as error:
        return brief(first_fault(error), 300)
    if not opinion.model_fields_set & _JUDGEMENT:
        return f"one of {', '.join(sorted(_JUDGEMENT))} expected, none came; a judge that could not look abstains"
    return opinion
