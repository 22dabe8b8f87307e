"""How the judges read a draft: passages, negations, quotations, questions, and words without their endings.

English and Spanish. A draft is untrusted and may be a mebibyte long: passages are short, so a pattern that is tried on
one at a time stays cheap whatever it is.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

PASSAGE_LIMIT = 600
"""Longest passage, in characters; a longer sentence is cut at a blank."""

Kind = Literal["prose", "code", "quote"]

_INVISIBLE = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF])
_PLAIN = {
    **_INVISIBLE,
    **dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " "),
    **dict.fromkeys(map(ord, "‘’ʼ´"), "'"),
    **dict.fromkeys(map(ord, "“”„«»"), '"'),
    **dict.fromkeys(map(ord, "‐‑"), "-"),
    **dict.fromkeys(map(ord, "\v\f\u0085\u2028\u2029"), "\n"),
}
_FOLDED = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZÁÉÍÓÚÜÑÀÈÌÒÙÂÊÎÔÛÇáéíóúüñàèìòùâêîôûç",
    "abcdefghijklmnopqrstuvwxyzaeiouunaeiouaeioucaeiouunaeiouaeiouc",
)


class Passage(NamedTuple):
    """One sentence, one line of code or one quoted line."""

    text: str
    folded: str
    """``text`` in lower case without accents: same length, same offsets."""
    kind: Kind
    lead: str = ""
    """Folded: the sentence that announces this line ("Never run this:"), where one does."""
    info: str = ""
    """A fence's language; code only."""
    fence: int = 0
    """Which fence this line is in, from 1; 0 outside."""


def readable(text: str) -> str:
    """``text`` without invisible characters, with plain blanks, quotes, hyphens and line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_PLAIN)


def fold(text: str) -> str:
    """``text`` in lower case without accents, each character in its place."""
    return text.translate(_FOLDED)


_FENCE = re.compile(r"[ \t]{0,12}(?:[-*+][ \t]{1,3}|\d{1,3}[.)][ \t]{1,3})?(`{3,}|~{3,})[ \t]*([^`\n]{0,120})$")
_ITEM = re.compile(r"[ \t]{0,16}(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+|[ \t]{0,3}\|")
_QUOTE = re.compile(r"[ \t]{0,3}>[ \t]?")
_SENTENCE_END = re.compile(r"(?<=[.!?…:])[ \t]+(?=[\"'`*_(\[¿¡A-ZÁÉÍÓÚÑ0-9-])|(?<=[;])[ \t]+")
_SPACE = re.compile(r"\s+")


def passages(text: str) -> list[Passage]:
    """The draft's passages, in order; ``text`` as :func:`readable` gives it. Blank ones are left out."""
    return list(_passages(text))


def _passages(text: str) -> Iterator[Passage]:
    paragraph: list[str] = []
    item_lead, lead, fence, number, info = "", "", "", 0, ""

    def flush(announced: str) -> Iterator[Passage]:
        for sentence in _sentences(" ".join(paragraph)):
            yield Passage(sentence, fold(sentence), "prose", announced)
        paragraph.clear()

    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence, lead = "", ""
            else:
                for piece in _cut(line.strip()):
                    yield Passage(piece, fold(piece), "code", lead, info, number)
            continue
        if mark:
            ended = list(flush(item_lead))
            yield from ended
            lead = _announcing(ended) or lead
            fence, number, info = mark[1], number + 1, mark[2].strip().lower()
            continue
        if not line.strip():
            ended = list(flush(item_lead))
            yield from ended
            lead = _announcing(ended) or ("" if ended else lead)
            continue
        quote, item, heading = _QUOTE.match(line), _ITEM.match(line), _HEADING.match(line)
        if quote or item or heading:
            ended = list(flush(item_lead))
            yield from ended
            lead = _announcing(ended) or (lead if item or quote else "")
            item_lead = lead if item else ""
        if quote:
            for sentence in _sentences(line[quote.end() :]):
                yield Passage(sentence, fold(sentence), "quote", lead)
        elif heading:
            for sentence in _sentences(line[heading.end() :]):
                yield Passage(sentence, fold(sentence), "prose")
        else:
            if not item and not paragraph:
                item_lead = ""
            paragraph.append(line[item.end() :] if item else line)
    yield from flush(item_lead)


def _announcing(ended: list[Passage]) -> str:
    return ended[-1].folded if ended and ended[-1].text.endswith(":") else ""


def _sentences(paragraph: str) -> Iterator[str]:
    joined = _SPACE.sub(" ", paragraph).strip()
    for sentence in _SENTENCE_END.split(joined):
        yield from _cut(sentence.strip())


def _cut(text: str) -> Iterator[str]:
    at = 0
    while len(text) - at > PASSAGE_LIMIT:
        blank = text.rfind(" ", at + PASSAGE_LIMIT // 2, at + PASSAGE_LIMIT)
        end = blank if blank > 0 else at + PASSAGE_LIMIT
        yield text[at:end].strip() or text[at:end]
        at = end
    if text[at:].strip():
        yield text[at:].strip()


# Words that look like a negation and urge instead: "don't hesitate to …", "sin miedo".
_URGING = re.compile(
    r"(?:don't|do not|no) (?:hesitate|worry|forget|mind|wait|be afraid|bother|even)\b|never mind\b"
    r"|no (?:problem|worries|need|doubt)\b|not (?:only|just|to mention)\b|why not\b|without (?:hesitat\w+|fear|delay"
    r"|wait\w*|further|ask\w*|question\w*|worry\w*)|no (?:dudes|olvides|te preocupes|esperes|hace falta|es necesario"
    r"|pasa nada|solo|solamente|te cortes|tengas miedo)\b|sin (?:miedo|problemas?|dud\w+|esper\w+|pregunt\w+|mas"
    r"|pensar\w*)|por que no\b(?! se (?:debe|puede|hace|permite))"
)
_NEGATION = re.compile(
    r"(?<![\w-])(?:never|don't|dont|do not|does not|doesn't|did not|didn't|must not|mustn't|should not|shouldn't"
    r"|cannot|can't|can not|will not|won't|would not|wouldn't|isn't|not|nor|neither|avoid\w*|without|refus\w+"
    r"|forb[ia]d\w*|prohibit\w*|blocks|prevents|rejects|stop(?= \w+ing)|nobody|no one|nothing|rather than"
    r"|instead of|nunca|jamas|no|sin|ni|evit\w+|prohib\w+|bloquea|impide|rechaza|tampoco|nadie|nada|en lugar de"
    r"|en vez de|deja de)(?![\w-])"
)
_NARROW = (
    *("without", "sin", "instead of", "rather than", "en lugar de", "en vez de"),
    *("blocks", "prevents", "rejects", "bloquea", "impide", "rechaza"),
)
"""Negations that deny only the words up to the next "and" or comma."""
_PARENTHESIS = re.compile(r"\b(never|nunca|jamas|not|no),([^,]{1,60}),")
_BREAK = re.compile(
    r"[;!?]|\.(?= )|[—–]| - |\b(?:but|pero|sino|then|so|asi que|entonces|because|porque|just|simply|unless"
    r"|instead(?! of)|en su lugar|mejor)\b"
)
_LIST_END = re.compile(r"[^.;!?]{0,100}, (?:or|nor|ni|o) ")
_CONDEMNED = re.compile(
    r"[^.;!?]{0,60}?\b(?:forbidden|prohibited|banned|disallowed|(?:not|never|n't) (?:be )?(?:allowed|permitted"
    r"|acceptable|ok|okay|an option|done|happen|recommended|advised)|off[- ]limits|dangerous|unsafe|risky|a bad idea"
    r"|unacceptable|must be avoided|should be avoided|must never|should never|is wrong"
    r"|(?:that|this|which) is (?:bad|a mistake)|(?:eso|esto) (?:esta mal|es un error)|prohibid[oa]s?|peligros[oa]s?"
    r"|arriesgad[oa]s?|mala idea|inaceptables?|no (?:esta |estan )?permitid[oa]s?|no se (?:debe|puede|permite|hace)"
    r"|no es una opcion|desaconsejad[oa]s?)"
    # Directly behind, so that the words are what it is said of.
    r"|\W{0,3}(?:is what |has |ha )?(?:caused|broke|led to|provoco|causo|provocado|causado)\b"
    r"|\W{0,3}(?:is|are|gets?|es|queda) (?:rejected|refused|blocked|prevented|rechazad[oa]|bloquead[oa])\b"
)
_PERMISSIVE = re.compile(
    r"\b(?:without|sin|(?:nobody|no one|no human|no reviewer) (?=(?:has|needs|must|will|should)\b)"
    r"|nadie (?=(?:tiene|necesita|debe)\b)|no (?=(?:\w+ ){1,3}(?:is |will be )?(?:needed|required|necessary)\b)"
    r"|no (?=hace falta\b))"
)
"""Negations that allow something: "without review", "nobody has to approve", "no spec is required"."""


def negated(passage: Passage, start: int, end: int) -> bool:
    """Whether the words from ``start`` to ``end`` are denied: "never …", "evita …", "… is forbidden".

    A "without review" or "nobody has to approve" inside those words is theirs and denies nothing; a "cannot" inside
    does.
    """
    before = f"{passage.lead} {passage.folded[:start]}" if passage.lead else passage.folded[:start]
    if _denies(before, passage.folded[end:]):
        return True
    inside = _PERMISSIVE.sub(lambda word: "_" * len(word[0]), passage.folded[start:end])
    if _NEGATION.search(_URGING.sub("_", inside)):
        return True
    return _CONDEMNED.match(passage.folded, end) is not None


def _denies(before: str, after: str) -> bool:
    """Whether the last negation in ``before`` still holds at its end."""
    plain = _URGING.sub("_", _PARENTHESIS.sub(r"\1 \2 ", before[-240:]))
    negations = list(_NEGATION.finditer(plain))
    if not negations:
        return False
    between = plain[negations[-1].end() :]
    if _BREAK.search(between):
        return False
    if negations[-1][0] in _NARROW:
        return re.search(r",|\b(?:and|y|e)\b", between) is None
    # A comma ends the clause, except in a list that an "or" closes: "do not a, b, or c".
    return "," not in between or re.search(r", (?:or|nor|ni|o) ", between) is not None or bool(_LIST_END.match(after))


_REPORTING = re.compile(
    r"\b(?:says?|said|states?|reads|wrote|asked|claims?|promis\w+|rules?|polic(?:y|ies)|warns?|suggested|quot\w+"
    r"|example of|dice|dijo|decia|indica|promete|prometio|reglas?|politicas?|normas?|advierte|escribio|propuso|sugirio"
    r"|cita|ejemplo de)\b"
)
_QUOTED = re.compile(r'"[^"]{1,400}"')


def quoted(passage: Passage, start: int, end: int) -> bool:
    """Whether the words are somebody else's: a quoted line, or in quotation marks after a word of reporting."""
    if passage.kind == "quote":
        return True
    for quotation in _QUOTED.finditer(passage.text):
        if quotation.start() <= start and end <= quotation.end():
            return _REPORTING.search(passage.folded, 0, quotation.start()) is not None
    return False


_CLAUSE_END = re.compile(
    r"[;:!?,]|\.(?= )|[—–]| - |\b(?:but|so|then|because|unless|pero|sino|asi que|entonces|porque)\b"
)
_URGED = re.compile(
    r"\b(?:you|we) (?:can|could|may|might|should|must|need|have to|want|will|would)\b|\b(?:should|must|needs? to|has to"
    r"|have to|ought to|please|just|i'll|we'll|you'll|i will|let's|let us|make sure|ensure|be sure|recommend\w*|suggest"
    r"|advise|propose|go ahead|puedes|podrias|podemos|debe(?:s|n|mos)?|deberia\w*|hay que|conviene|recomiendo|sugiero"
    r"|aconsejo|propongo|tien(?:es|e|en) que|vamos a|asegurate|procura)\b"
    r"|^\W{0,4}(?:and |now |first |y |ahora )?(?:run|use|try|add|put|set|write|give|keep|usa|ejecuta|pon|haz"
    r"|prueba|anade)\b"
)
_THIRD = r"(?<!\bi )(?<!\bwe )(?<!\byou )"
_INTRUDER = r"(?:attacker|intruder|adversary|hacker|insider|thief|admin|administrator|contributor|employee)s?"
_TELLING = re.compile(
    # Who did it, or what came of it.
    rf"{_THIRD}\b(?:ran|used|did|executed|typed|entered|issued|corrio|ejecuto|lanzo|uso|hizo)"
    r"\W+(?:[\w-]+ ){0,3}\W{0,2}$"
    r"|\b(?:comes? from|came from|caused by|because of|due to|led to|(?:cause|reason|culprit|mistake|problem|bug)"
    r" (?:is|was)|se deb(?:e|io) a|causad[oa] por|por culpa de|(?:causa|error|problema|fallo) (?:es|fue|era))"
    r"(?: (?:to|an?|the|this|that|un|una|el|la))?\W{1,3}$"
    # What somebody says.
    rf"|\w {_THIRD}(?:says?|said|claims?|claimed|states?|stated|promises?|promised|writes?|wrote|thinks?|thought"
    r"|believes?|believed|argues?|argued|dicen?|dijo|decia|afirman?|afirmo|prometen?|prometio|creen?|sostienen?)"
    r" (?:that|que)\b"
    # What things do.
    r"|\b(?:they|which|these|those|who|that) (?:(?:are|were) (?:\w+ ){1,3}and )?$"
    # What is in it.
    r"|\b(?:contain(?:s|ed)|includ(?:es|ed)|found|has|had|detects|detected|shows|showed|saw|noticed|discovered"
    r"|encontr\w+|detecta\w*|contiene|contenia|tiene|tenia|incluye|incluia|habia)\W+(?:[\w-]+ ){0,3}\W{0,2}$"
    # What somebody could do.
    rf"|\b(?:an?|any|some|every) (?:[\w-]+ )?{_INTRUDER} (?:can|could|may|might|would|will) (?:\w+ )?$"
    rf"|\b(?:{_INTRUDER}|anyone|anybody|somebody|someone) (?:could|might|would) (?:\w+ )?$"
    r"|\b(?:lets|allows|permits|enables) (?:an?|the|any\w*|every\w*|admins|users|people) (?:[\w-]+ ){0,4}$"
    r"|\b(?:un|una|cualquier|algun) (?:[\w-]+ )?(?:atacante|intruso|usuario|admin\w*|emplead[oa]) (?:puede|podria)"
    r" (?:\w+ )?$|\b(?:cualquiera|alguien) podria (?:\w+ )?$"
    r"|\bpermiten? (?:que |a )?(?:(?:un|una|los|las|el|la|al) (?:[\w-]+ ){1,3})?$"
)
_SPANISH_SUBJECT = re.compile(
    r"^\W{0,3}(?:el|la|los|las|ese|esa|aquel|aquella|su|sus|un|una) (?!\w*(?:agent|bot|rutina|asistente))"
    r"(?:(?!(?:vez|noche"
    r"|tarde|manana|dia|semana|mes|lunes|martes|miercoles|jueves|viernes|sabado|domingo) )[\w-]+ ){1,4}$"
)
_SPANISH_VERB = re.compile(r"[a-z]{3,}(?:a|an|e|en)\b")
_BLAMED = re.compile(
    r"\b(?:caused|broke|came from|culprit|to blame|by mistake|outage|incident|provoco|causo|rompio|por error|caida)\b"
)


def narrated(passage: Passage, start: int, end: int) -> bool:
    """Whether the words tell what happened, what somebody could do, or what a thing does, and urge nobody.

    "A colleague ran …", "an attacker could …", "the script …" in Spanish, whose third person looks like an imperative.
    An agent's doings are its owner's: they are never only told.
    """
    before = passage.folded[:start]
    clause = before[max((mark.end() for mark in _CLAUSE_END.finditer(before)), default=0) :].lstrip()
    if _URGED.search(clause):
        return False
    if passage.kind == "code" and passage.lead and _BLAMED.search(passage.lead):
        return not _URGED.search(passage.lead)
    if _TELLING.search(clause):
        return True
    return bool(_SPANISH_SUBJECT.match(clause) and _SPANISH_VERB.match(passage.folded, start, end))


_ATTRIBUTED = re.compile(
    rf"\w {_THIRD}(?<!\bthis )(?<!\bit )"
    r"(?:says?|said|claims?|claimed|states?|promises?|promised|advertises?|insists?|swears?|guarantees?|dicen?"
    r"|dijo|afirman?|afirmo|prometen?|prometio|aseguran?|aseguro|garantizan?|anuncian?|insisten?|juran?)\b"
)


def attributed(passage: Passage, start: int) -> bool:
    """Whether what is claimed is somebody else's claim: "the vendor promises …", without quotation marks too."""
    return _ATTRIBUTED.search(passage.folded, 0, start) is not None


def question(passage: Passage) -> bool:
    """Whether the passage asks."""
    return passage.kind != "code" and passage.text.rstrip("\"'*_`) ").endswith("?")


WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_ENDINGS = tuple(
    sorted(
        [
            *("ing", "ings", "ed", "es", "s", "ies", "ly", "ment", "ments", "ation", "ations", "er", "ers"),
            *(
                "ando",
                "iendo",
                "ar",
                "er",
                "ir",
                "arlo",
                "arla",
                "arlos",
                "arlas",
                "erlo",
                "erla",
                "ado",
                "ada",
                "ados",
            ),
            *("adas", "ido", "ida", "idos", "idas", "acion", "aciones", "amiento", "mente", "os", "as", "a", "e", "o"),
            *("en", "an", "amos", "emos", "es", "y"),
        ],
        key=len,
        reverse=True,
    )
)


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A folded word without its ending, English or Spanish: ``commits``, ``committing`` and ``commit`` are one.

    It serves comparison only; the stem itself means nothing.
    """
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 3 and word.endswith(ending):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


_ENGLISH = re.compile(
    r"\b(?:the|of|and|to|is|in|that|it|for|with|you|this|be|are|on|not|have|as|can|will|would|should|from|or|but"
    r"|we)\b"
)
_SPANISH = re.compile(
    r"\b(?:el|la|los|las|de|que|y|en|un|una|es|se|por|con|para|lo|del|al|su|como|mas|pero|si|este|esta|hay|debe|te)\b"
)


def language(text: str) -> Literal["en", "es"] | None:
    """The language of the prose, by its commonest words; None where there is too little or neither prevails."""
    folded = fold(text[:20_000])
    english, spanish = len(_ENGLISH.findall(folded)), len(_SPANISH.findall(folded))
    if max(english, spanish) < 6 or max(english, spanish) < 3 * min(english, spanish):
        return None
    return "en" if english > spanish else "es"


def excerpt(text: str, limit: int = 200) -> str:
    """One line of ``text``, at most ``limit`` characters."""
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
