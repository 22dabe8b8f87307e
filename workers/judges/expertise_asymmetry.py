"""expertise-asymmetry: can this reader check what the draft says?

``expertise.md`` says how well the user knows each domain. Where that is little, a draft that only asserts cannot be
checked by its reader: it should say why, which alternatives were rejected and how to verify it. The score is printed,
not counted; this judge never vetoes.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from tribunal.judging import Abstain, Packet, judge
from tribunal.model import Answer
from workers.judges.files import UnreadableError, read_file, real_folder, split_front_matter
from workers.judges.text import WORD, excerpt, fold, language, readable, stem
from workers.judges.vocabulary import vocabulary

FILE = "expertise.md"
DOMAINS_LIMIT = 200

Level = Literal["blind", "low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("blind", "low", "medium", "high")
_WORDS_FOR: dict[str, Level] = {
    **dict.fromkeys(
        ("blind", "none", "zero", "ciego", "ciega", "nulo", "nula", "ninguno", "ninguna", "desconocido"), "blind"
    ),
    **dict.fromkeys(("low", "basic", "beginner", "novice", "bajo", "baja", "basico", "basica", "principiante"), "low"),
    **dict.fromkeys(("medium", "intermediate", "medio", "media", "intermedio", "intermedia"), "medium"),
    **dict.fromkeys(("high", "expert", "advanced", "senior", "alto", "alta", "experto", "experta", "avanzado"), "high"),
}


class Domain(NamedTuple):
    """A domain, how well the user knows it, and what it is talked about with."""

    name: str
    level: Level
    keywords: frozenset[str]
    """Stems."""


class Sections(NamedTuple):
    """What a reader who cannot check a claim needs, in one language."""

    titles: tuple[str, str, str]
    prompts: tuple[str, str, str]


_SECTIONS = {
    "en": Sections(
        ("Why", "Alternatives rejected", "How to verify"),
        (
            "The reason, in words that need no knowledge of {domain}, and what happens if it is wrong.",
            "At least two other ways, and why each was not taken.",
            "A check that needs no knowledge of {domain}: what to run or look at, and what you should see.",
        ),
    ),
    "es": Sections(
        ("Por qué", "Alternativas descartadas", "Cómo comprobarlo"),
        (
            "La razón, en palabras que no pidan saber de {domain}, y qué pasa si es errónea.",
            "Al menos otros dos caminos, y por qué no se tomó cada uno.",
            "Una comprobación que puedas hacer sin saber de {domain}: qué ejecutar o mirar, y qué deberías ver.",
        ),
    ),
}
# What shows that a draft has each of the three sections already.
_PRESENT = (
    re.compile(r"\b(?:because|the reason|since|so that|why|porque|la razon|ya que|puesto que|por que|para que)\b"),
    re.compile(
        r"\b(?:alternatives?|instead of|rather than|other options?|considered|rejected|compared (?:to|with)"
        r"|trade-?offs?|alternativas?|en lugar de|en vez de|otras? opcion(?:es)?|descart\w+|frente a"
        r"|comparad[oa] con)\b"
    ),
    re.compile(
        r"\b(?:verify|verif(?:y|ied|ication)|to check|you should see|confirm (?:that|it|with|by)|expected output"
        r"|test it|compruebal?\w*|verific\w+|para comprobar\w*|deberias ver|salida esperada|confirma (?:que|con))\b"
    ),
)
_BASE: dict[Level, int] = {"blind": 25, "low": 55}
"""The score of a draft with none of the three sections; each present one takes an equal step to 100."""


@judge
def expertise_asymmetry(packet: Packet) -> Answer | Abstain:
    """Says how closely the reader can check the draft, and asks for a rewrite where that is not at all."""
    try:
        text = _read(packet.context.expertise, packet.context.memory)
        domains = read_domains(text) if text is not None else []
    except UnreadableError as error:
        return Abstain(reason=f"the expertise file could not be read: {error}")
    if text is None:
        return _answer(None, "no expertise.md was given: every domain is taken as medium")
    if not domains:
        return Abstain(reason="the expertise file names no domain with a level (blind, low, medium or high)")
    domain = domain_of(packet.subject, domains)
    if domain is None:
        return _answer(None, f"none of the {len(domains)} domains of expertise.md is the draft's: taken as medium")
    return _judged(packet.subject, domain)


def _read(expertise: str | None, memory: str | None) -> str | None:
    """The expertise file: the one that is named, else the one in memory if there is one."""
    if expertise is not None:
        return read_file(Path(expertise).expanduser())
    if memory is None:
        return None
    folder = real_folder(memory)
    return read_file(folder / FILE, folder) if os.path.lexists(folder / FILE) else None


def _judged(draft: str, domain: Domain) -> Answer:
    if domain.level not in _BASE:
        return _answer(domain, f"the reader's level in {domain.name} is {domain.level}", score=100)
    folded = fold(readable(draft))
    sections = _SECTIONS[language(folded) or "en"]
    missing = [number for number, pattern in enumerate(_PRESENT) if not pattern.search(folded)]
    base = _BASE[domain.level]
    score = 100 - (100 - base) * len(missing) // len(_PRESENT)
    named = ", ".join(sections.titles[number].lower() for number in missing)
    reason = f"the reader's level in {domain.name} is {domain.level}"
    reason += f"; the draft lacks: {named}" if missing else "; the draft says why, what else there was and how to check"
    return {
        **_answer(domain, reason, score=score),
        "rewrite_template": _template(sections, domain.name),
        "missing_sections": [_SECTIONS["en"].titles[number] for number in missing],
    }


def _answer(domain: Domain | None, reason: str, *, score: int | None = None) -> dict[str, Any]:
    level = domain.level if domain else "medium"
    return {
        "score": score,
        "veto": False,
        "confidence": 0.8 if domain else 0.5,
        "audit_level": level,
        "mode": "rewrite-blind" if level == "blind" else "normal",
        "domain": domain.name if domain else None,
        "reason": reason,
    }


def _template(sections: Sections, domain: str) -> str:
    parts = zip(sections.titles, sections.prompts, strict=True)
    return "\n\n".join(f"## {title}\n\n{prompt.format(domain=domain)}" for title, prompt in parts)


_NAMED = re.compile(r"(?<=[^.!?:\s] )[A-Z]\w*|(?<=`)[\w-]+(?= [\w.-]+[^`\n]{0,200}`)|(?<=```)[\w+-]+")
"""Where a word is a name and not the everyday word: a capital within a sentence, a command's first word, a fence's
language."""


def domain_of(draft: str, domains: list[Domain]) -> Domain | None:
    """The domain that the draft is about; of several that it is about alike, the one that the user knows least.

    A domain counts by the occurrences of its keywords, if one of them is unmistakable, or two of them everyday words;
    one with half of the most is still in question.
    """
    text = readable(draft)
    words = Counter(stem(word) for word in WORD.findall(fold(text)))
    named = {stem(word) for word in WORD.findall(fold(" ".join(_NAMED.findall(text))))}
    hits = {domain.name: _hits(domain, words, named) for domain in domains}
    most = max(hits.values(), default=0)
    if most == 0:
        return None
    near = [domain for domain in domains if 2 * hits[domain.name] >= most]
    return min(near, key=lambda domain: (LEVELS.index(domain.level), -hits[domain.name], domain.name))


def _hits(domain: Domain, words: Counter[str], named: set[str]) -> int:
    used = domain.keywords & words.keys()
    everyday = vocabulary().everyday - named
    return sum(words[word] for word in used) if used - everyday or len(used) >= 2 else 0


_ITEM = re.compile(r"\s{0,8}(?:[-*+]|\d{1,3}[.)])\s+(?P<name>[^:=|\n]{1,80}?)\s*(?::|=|\s[—–-])\s*(?P<rest>.{1,400})")
_PAIR = re.compile(r"(?P<name>[\w .+#/-]{1,80}?)\s*[:=]\s*(?P<rest>\S.{0,400})")
_HEADING = re.compile(r"#{1,6}\s+(?P<name>.{1,80}?)\s*(?::\s*(?P<rest>.{1,200}))?$")


def read_domains(text: str) -> list[Domain]:
    """The domains of an expertise file: from its front matter, its list, its table, or headings that name a level.

    Raises:
        UnreadableError: its front matter is no YAML mapping.
    """
    document = split_front_matter(readable(text))
    found: dict[str, Domain] = {}
    header = document.header.get("domains", document.header.get("expertise", document.header))
    if isinstance(header, dict):
        for name, said in cast("Mapping[Any, Any]", header).items():
            _add(found, str(name), _of_yaml(said))
    for line in document.body.split("\n")[:5000]:
        heading = _HEADING.match(line)
        if line.lstrip().startswith("|"):
            cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
            _add(found, cells[0], " ".join(cells[1:]))
        elif heading:
            level = _level(heading["name"])
            if heading["rest"] or level is None:
                _add(found, heading["name"], heading["rest"] or "")
        elif match := _ITEM.match(line) or _PAIR.fullmatch(line.strip()):
            _add(found, match["name"].strip(" *`_"), match["rest"])
    return list(found.values())[:DOMAINS_LIMIT]


def _of_yaml(said: object) -> str:
    if isinstance(said, dict):
        return " ".join(_of_yaml(value) for value in cast("Mapping[Any, Any]", said).values())
    if isinstance(said, list):
        return " ".join(_of_yaml(value) for value in cast("list[Any]", said))
    return said if isinstance(said, str) else ""


def _level(text: str) -> Level | None:
    return next((_WORDS_FOR[word] for word in WORD.findall(fold(text)) if word in _WORDS_FOR), None)


def _add(found: dict[str, Domain], name: str, said: str) -> None:
    """Add a domain if a level is said of it; the other words are its keywords."""
    level = _level(said)
    if level is None or not WORD.search(name):
        return
    words = set(WORD.findall(fold(f"{name} {said}"))) - set(_WORDS_FOR) - vocabulary().stop
    named = set(WORD.findall(fold(name)))
    for domain, known in vocabulary().domains.items():
        if domain in fold(name) or named & known or set(domain.split("-")) <= named:
            words |= known
    keywords = frozenset(stem(word) for word in words if len(word) > 1)
    found[name] = Domain(excerpt(name, 60), level, keywords)
