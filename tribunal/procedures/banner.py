"""The Markdown block that a user sees with a doubted draft, or in place of a blocked one.

Whatever comes from the draft or from a judge is data: redacted, and written so that its Markdown and its HTML stay
text. Every line of the block begins with ``>``, and what is quoted cannot end it.
"""

import re
from collections.abc import Iterable, Iterator

from tribunal.procedures.hearing import EXPERTISE, Heard
from tribunal.procedures.opinions import brief
from tribunal.procedures.votes import standing
from tribunal.redaction import redact

DRAFT_LIMIT = 4000
"""Characters of a blocked draft that are quoted."""

CAUSE_LIMIT = 5
"""How many causes of one seat are answered with what to do instead."""

_UNSAFE_LINE = re.compile("[\x00-\x08\x0e-\x1b\x7f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff]")
_SECTIONS = (
    ("Why", "what makes this the right choice, in words you can check."),
    ("Alternatives rejected", "what else was possible, and why it was not taken."),
    ("How to verify", "a step of your own that would show it if the answer were wrong."),
)


def warning(heard: Iterable[Heard], score: int | None, pass_score: int) -> str:
    """The block before a draft that may be read with care: each doubting seat, its reason, one quoted evidence."""
    seats = tuple(heard)
    figure = "no seat gave a score" if score is None else f"consensus score {score} of 100"
    doubts = [line for seat in seats for line in _doubt(seat, pass_score)]
    check = "Check these points" if doubts else "Check it yourself"
    lines = [f"**Warning: the tribunal has doubts about this answer** ({figure}).", "", *doubts]
    lines += [*([""] if doubts else []), f"{check} before you rely on it."]
    return _block([*lines, *_audit(seats)])


def unheard(reasons: Iterable[str]) -> str:
    """The block before a draft that nobody was asked about, with the reasons why."""
    said = [f"- {escape(reason)}" for reason in reasons]
    title = "**Warning: the tribunal did not judge this answer.**"
    return _block([title, "", *said, "", "Check it yourself before you rely on it."])


def blocked(heard: Iterable[Heard], draft: str) -> str:
    """The block in place of a vetoed draft: each vetoing seat with its reason, what to do instead, the draft quoted."""
    seats = tuple(heard)
    vetoing = [seat for seat in seats if seat.causes]
    why = [f"- **{seat.name}** {_line(seat, seat.objections, seat.causes[0].quote)}" for seat in vetoing]
    instead = dict.fromkeys(f"- {escape(cause.instead)}" for seat in vetoing for cause in seat.causes[:CAUSE_LIMIT])
    return _block(
        [
            *("**Blocked: the tribunal vetoed this answer.** Do not act on it.", "", *why),
            *("", "**What to do instead**", "", *instead, *_audit(seats)),
            *("", "**The blocked draft**", "", *fence(redact(draft))),
        ]
    )


def escape(text: str) -> str:
    """The text on one line, redacted, such that neither Markdown nor HTML in it does anything."""
    line = re.sub(r"[\\`*_\[\]~|]", r"\\\g<0>", brief(redact(text)))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return line.replace("://", "\\://").replace("www.", "www\\.")


def code(text: str) -> str:
    """The text on one line, redacted, as a code span that its own backticks cannot end."""
    line = brief(redact(text)) or " "
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fence(text: str) -> list[str]:
    """The text's lines in a code fence that its own backticks cannot end; beyond ``DRAFT_LIMIT`` it is cut."""
    shown = text[:DRAFT_LIMIT]
    ticks = "`" * max(3, _longest_run(shown) + 1)
    lines = [_UNSAFE_LINE.sub("\ufffd", line) for line in shown.splitlines()]
    left = len(text) - len(shown)
    return [f"{ticks}text", *lines, ticks, *([f"({left} more characters are not shown.)"] if left else [])]


def _doubt(heard: Heard, pass_score: int) -> Iterator[str]:
    opinion = heard.opinion
    said = ["finds words in the draft that try to steer its reader"] if heard.injection else []
    if opinion is None:
        said.append(f"did not answer ({standing(heard.vote)})")
    elif opinion.veto:
        said.append(f"objects with confidence {opinion.certainty:g}")
    elif opinion.score is not None and opinion.score < pass_score and heard.weight:
        said.append(f"gives {opinion.score} of 100")
    if said:
        yield f"- **{heard.name}** {_line(heard, said, opinion.quote if opinion else None)}"


def _line(heard: Heard, said: Iterable[str], quote: str | None) -> str:
    reason = f": {escape(heard.reason)}" if heard.reason else ""
    evidence = f" (evidence: {code(quote)})" if quote and quote.strip() else ""
    return f"{escape('; '.join(said))}{reason}{evidence}"


def _audit(seats: tuple[Heard, ...]) -> list[str]:
    """The sections for an area that the user knows little about, if expertise-asymmetry says it is one."""
    for heard in seats:
        opinion = heard.opinion
        if opinion and EXPERTISE in {heard.seat.name, heard.seat.judge} and opinion.audit_level in {"blind", "low"}:
            area = f" ({escape(opinion.domain)})" if opinion.domain else ""
            level = f"Your expertise in this area{area} is noted as {opinion.audit_level}."
            sections = [f"- **{title}**: {text}" for title, text in _SECTIONS]
            return ["", f"**{level}** Before you act on an answer here, ask it for:", "", *sections]
    return []


def _block(lines: Iterable[str]) -> str:
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
