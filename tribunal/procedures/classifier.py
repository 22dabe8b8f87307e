"""The risk of a draft, read from its words: how much harm it does if it is wrong and somebody follows it.

A draft is low only if no sign matches and it is shown to be harmless: greetings, plain facts, status. Whatever else
matches nothing is medium. A mention counts as much as a recommendation, and a negation is not read: a judge too many
costs seconds, a judge too few lets harm pass.
"""

import re
import unicodedata
from functools import cache

from tribunal.model import Frozen, Risk
from tribunal.procedures.harmless import harmless
from tribunal.procedures.risk_signs import SIGNS, WORDS
from tribunal.redaction import find_secrets

LENGTH_LIMIT = 100_000
"""Characters that are read. A longer draft is high at least: nobody has read it through."""
UNKNOWN = "not-shown-harmless"
"""The sign of a draft that has none, and is neither a greeting nor a plain statement."""

_ORDER = tuple(Risk)
_IGNORED = re.compile("[\u00ad\u0300-\u036f\u200b-\u200f\u2060\ufeff]")
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n\s+")
_GAP = r"(?!\w)[^.;]{0,60}?(?<!\w)"


class Classified(Frozen):
    """A risk class and the names of the signs that led to it, sorted; none for ``low``."""

    risk: Risk
    matched: tuple[str, ...] = ()


def higher(one: Risk, other: Risk) -> Risk:
    """The higher of two risk classes."""
    return max(one, other, key=_ORDER.index)


def classify(text: str) -> Classified:
    """The highest risk class of which a sign matches, with all that matched in that class.

    Case, accents and invisible characters do not matter. A credential in the text is critical.
    """
    read = text[:LENGTH_LIMIT]
    cased = _plain(read)
    plain = cased.casefold()
    too_long = len(text) > LENGTH_LIMIT or len(plain) > LENGTH_LIMIT
    for risk in reversed(_ORDER):
        matched = {name for name, pattern in _signs()[risk] if pattern.search(plain, 0, LENGTH_LIMIT)}
        if risk is Risk.CRITICAL and find_secrets(read):
            matched.add("credentials")
        if risk is Risk.HIGH and too_long:
            matched.add("too-long")
        if matched:
            return Classified(risk=risk, matched=tuple(sorted(matched)))
    return Classified(risk=Risk.LOW) if harmless(cased) else Classified(risk=Risk.MEDIUM, matched=(UNKNOWN,))


def _plain(text: str) -> str:
    if not text.isascii():
        text = _IGNORED.sub("", unicodedata.normalize("NFKD", text))
    return _EMPTY_LINES.sub("\n", _BLANKS.sub(" ", text))


@cache
def _signs() -> dict[Risk, tuple[tuple[str, re.Pattern[str]], ...]]:
    compiled = [(risk, name, _compile(phrases)) for risk, name, phrases in SIGNS]
    return {risk: tuple((name, pattern) for of, name, pattern in compiled if of is risk) for risk in _ORDER}


def _compile(phrases: str) -> re.Pattern[str]:
    lines = [_expand(line.strip()) for line in phrases.strip().splitlines()]
    return re.compile(rf"(?<!\w)(?:{'|'.join(lines)})(?!\w)", re.MULTILINE)


def _expand(phrase: str) -> str:
    named = re.sub(r"\{([a-z]+)\}", lambda match: f"(?:{_expand(WORDS[match[1]])})", phrase)
    return named.replace(" _ ", _GAP).replace(" ", r"\s")
