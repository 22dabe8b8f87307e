"""consensus: the words that its judges use, as scores, and the checklist that says whether a panel is needed."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

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

# By topic: what is found anywhere in a word, and what must be a word or a part of one (``AuthService`` has two).
_MANDATORY = {
    "auth": (
        r"auth(?!or(?!i[sz]))|autentic|autoriz|log[io]n|logout|sign(?:in|up|on|out)|passw|passkey|passphrase|contrasen"
        r"|credencial|credential|permis|privileg|impersonat|oidc|saml|jwt|kerberos|ldap|identit|identidad",
        "sso mfa 2fa totp otp iam rbac abac acl acls pwd session sessions sesion sesiones token tokens",
    ),
    "payments": (
        r"payment|payout|payroll|payable|prepaid|paypal|stripe|billing|invoic|factur|checkout|refund|reembols|credit"
        r"|debit|tarjeta|chargeback|subscri|suscrip|purchas|pricing|banking|bancari|nomina|tesoreri",
        "pay pays paid pago pagos pagar cobro cobros cobrar cobranza bank banks banco bancos iban bic sepa swift pci"
        " vat iva tax taxes impuesto impuestos price prices precio precios wallet compra compras",
    ),
    "PII": (
        r"personal|privac|passport|pasaporte|biometr|patient|paciente|birthd|nacimiento|anonymi|anonimi|pseudonym|phone|telefono",
        "pii gdpr rgpd lopd lopdgdd ccpa ssn dni nif nie phi health salud medical medico",
    ),
    "compliance": (
        r"complian|cumplimient|regulat|regulaci|normativ|hipaa|auditor|legal",
        "gdpr rgpd pci dss sox soc soc2 iso27001 dora nis2 aml kyc audit audits consent consentimiento",
    ),
    "security": (r"secur|segurid|vulnerab|secret|encrypt|decrypt|cifra|crypto|cripto", "cve cves csrf xss tls"),
}
_TOPICS = tuple((topic, re.compile(stems), frozenset(words.split())) for topic, (stems, words) in _MANDATORY.items())
_HARMLESS_WORDS = (
    "ui ux css style styles styling layout color colors colour colours icon icons font fonts docs doc documentation"
    " readme changelog comment comments typo typos wording formatting lint test tests estilo estilos documentacion"
    " comentario comentarios errata erratas prueba pruebas"
)
_HARMLESS = frozenset(_HARMLESS_WORDS.split())
_APPROVALS = frozenset({"approve", "approves", "aprobada", "aprueba", "lgtm", "ok", "pass", "passed"})
_REJECTION = re.compile(r"reject|rechaz|denied|denegad|declin|veto|block|bloque|fail|fallid|refus|nack")
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
    """``mandatory``, ``optional`` or ``unnecessary``, and why: the seed's checklist, asked in its order.

    Words that are not known do not open the way: what the code reviewer said counts as a rejection unless it is known
    to be none, and a change that involves something unknown is never ``unnecessary``.
    """
    said = (context.code_verdict or "").strip()
    if said and not _passes(said):
        known = scored("code-reviewer", said) or _REJECTION.search(fold(said))
        return "mandatory", f"the code reviewer said {said}{'' if known else ', which is not known to be an approval'}"
    touches = [touch.strip() for touch in context.touches if touch.strip()]
    topics = {topic for touch in touches for topic in _topics(touch)}
    if topics:
        return "mandatory", f"the change involves {', '.join(sorted(topics))}"
    if context.ambiguous:
        return "mandatory", "the spec is marked ambiguous"
    unknown = [touch for touch in touches if not _harmless(touch)]
    if unknown:
        return "optional", f"the change involves {', '.join(unknown)[:200]}: not known to be harmless"
    if context.change_kind is not None and _word(context.change_kind) in _SIMPLE_KINDS:
        return "unnecessary", f"a {context.change_kind} change needs only the standard review"
    if context.risk_score is not None and context.risk_score < _LOW_TIER:
        return "unnecessary", f"risk score {context.risk_score} is in the low tier, below {_LOW_TIER}"
    return "optional", "nothing on the checklist asks for it or rules it out"


def _passes(code_verdict: str) -> bool:
    found = scored("code-reviewer", code_verdict)
    return bool(found.score) if found else _word(code_verdict) in _APPROVALS


def _topics(touch: str) -> set[str]:
    words, parts = _parts(touch)
    # "sign in" and "credit card" are one word elsewhere.
    joined = [one + other for one, other in pairwise(parts)]
    said = {*words, *parts, *joined}
    return {topic for topic, stems, exact in _TOPICS if said & exact or any(map(stems.search, said))}


def _harmless(touch: str) -> bool:
    words, _ = _parts(touch)
    return bool(words) and _HARMLESS.issuperset(words)


def _parts(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, folded, and the parts that capitals and digits make of them: ``OAuth2Login`` has four."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    words = re.findall(r"[^\W_]+", plain)
    parts = [part for word in words for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\WA-Za-z\d_]+", word)]
    return [word.casefold() for word in words], [part.casefold() for part in parts]
