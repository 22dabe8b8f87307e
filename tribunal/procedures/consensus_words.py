"""consensus: the words that its judges use, as scores, and the checklist that says whether a panel is needed."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tribunal.model import Context

SHORT_NAMES: Mapping[str, str] = {
    "reflection": "reflection-validator",
    "code": "code-reviewer",
    "business": "business-analyst",
    "performance": "performance-auditor",
}

# By seat, the words for 1, 1/2 and 0: the seed's own first, then their accent-free twins in the other language.
_TABLES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "reflection-validator": (
        ("VALIDATED", "VALIDADO"),
        ("CORRECTED", "CORREGIDO"),
        ("REQUIRES_RETHINKING", "REQUIERE_REPLANTEO", "REQUIERE_REPLANTEAMIENTO"),
    ),
    "code-reviewer": (
        ("APROBADO", "APPROVED"),
        ("CAMBIOS_MENORES", "MINOR_CHANGES"),
        ("RECHAZADO", "REJECTED"),
    ),
    "business-analyst": (
        ("VALIDO", "VALID"),
        ("INCOMPLETO", "INCOMPLETE"),
        ("INVALIDO", "INVALID"),
    ),
    "performance-auditor": (
        ("OPTIMAL", "OPTIMO"),
        ("DEGRADED", "DEGRADADO"),
        ("REGRESSION", "REGRESION"),
    ),
}
_SCORES = (Fraction(1), Fraction(1, 2), Fraction(0))

_MANDATORY = {
    "auth": "auth oauth authn authz authentication authorization authorisation autenticacion autorizacion",
    "payments": "payment payments billing pago pagos",
    "PII": "pii personal personales gdpr rgpd",
    "compliance": "compliance cumplimiento",
}
_TOUCHES = {word: topic for topic, words in _MANDATORY.items() for word in words.split()}
_SIMPLE_KINDS = frozenset({"crud", "simple_crud", "crud_simple", "cosmetic", "cosmetic_ui", "ui_cosmetic", "cosmetico"})
_LOW_TIER = 26


@dataclass(frozen=True)
class Scored:
    """A verdict word that is known: whose table it stands in, and its score."""

    table: str
    score: Fraction


def fold(text: str) -> str:
    """Lower case without accents."""
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)).casefold()


def _word(text: str) -> str:
    return re.sub(r"[\s_-]+", "_", fold(text)).strip("_")


_BY_WORD = {
    table: {_word(word): Scored(table, score) for words, score in zip(rows, _SCORES, strict=True) for word in words}
    for table, rows in _TABLES.items()
}
_ANY_WORD = {word: found for words in _BY_WORD.values() for word, found in words.items()}


def scored(seat: str, verdict: str) -> Scored | None:
    """The score of a seat's verdict word, without regard to case, accents, hyphens; None if the seat has no such word.

    The seed's seats have a table each; any other seat may use the words of all four.
    """
    return _BY_WORD.get(seat, _ANY_WORD).get(_word(verdict))


def words_of(seat: str) -> tuple[str, ...]:
    """The verdict words that a seat may use."""
    return tuple(word.upper() for word in _BY_WORD.get(seat, _ANY_WORD))


def consensus_gate(context: Context) -> tuple[str, str]:
    """``mandatory``, ``optional`` or ``unnecessary``, and why: the seed's checklist, asked in its order."""
    verdict = scored("code-reviewer", context.code_verdict or "")
    if verdict and not verdict.score:
        return "mandatory", f"the code reviewer said {context.code_verdict}"
    topics = {
        _TOUCHES[word] for touch in context.touches for word in re.split(r"[\W_]+", fold(touch)) if word in _TOUCHES
    }
    if topics:
        return "mandatory", f"the change involves {', '.join(sorted(topics))}"
    if context.ambiguous:
        return "mandatory", "the spec is marked ambiguous"
    if context.change_kind is not None and _word(context.change_kind) in _SIMPLE_KINDS:
        return "unnecessary", f"a {context.change_kind} change needs only the standard review"
    if context.risk_score is not None and context.risk_score < _LOW_TIER:
        return "unnecessary", f"risk score {context.risk_score} is in the low tier, below {_LOW_TIER}"
    return "optional", "nothing on the checklist asks for it or rules it out"
