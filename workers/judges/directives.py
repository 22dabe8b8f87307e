"""What a sentence tells somebody to do or to leave: directives, from memory files and from drafts, English and Spanish.

"Never use npm, use pnpm" is two: against npm, for pnpm. Both sides of a conflict are read by the same code.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from workers.judges.phrases import Part, parts
from workers.judges.text import WORD, fold
from workers.judges.vocabulary import tokens, vocabulary, words

Polarity = Literal["do", "avoid"]


class Directive(NamedTuple):
    """Something to do, or to leave."""

    polarity: Polarity
    tokens: frozenset[str]
    """What it is about: stems without the words that say nothing."""
    context: frozenset[str]
    """When it holds ("before a commit"), as stems."""
    excepted: frozenset[str]
    """Where it does not hold ("except in tests"), as stems."""
    words: str
    """The clause it was read from."""
    strength: Literal["stated", "described"] = "stated"
    """A draft's mere description ("npm is a package manager") proposes nothing."""
    parts: tuple[Part, ...] = ()
    """What it is about, as it is put together; of a draft with the place that opens its sentence ("In tests, …")."""


_SWAP = re.compile(
    r"\b(?:(?:replace|sustituye|sustituir|reemplaza\w*)\b(?P<old>[^.;,]{1,80}?)\b(?:with|by"
    r"|por)\b(?P<new>[^.;,]{1,80})|(?:switch|migrate|move|migra|pasa|cambia) (?:from"
    r"|de)\b(?P<left>[^.;,]{1,80}?)\b(?:to|a)\b(?P<taken>[^.;,]{1,80}))"
)
_NORMATIVE = re.compile(
    r"\b(?:always|must|should|needs? to|use|uses|using|prefers?|wants?|requires?|only|insists?|expects?|has to"
    r"|have to|rule|siempre|debe\w*|usa\w*|prefier\w+|quier\w+|exig\w+|solo|hay que|obligatori\w+|tiene que|espera"
    r"|regla)\b"
)
_CLAUSE = re.compile(
    r"[;:()\n]|,(?! (?:or|nor|o|ni)\b)|[.!?](?:\s|$)|[—–]| - |\b(?:but|then|because|pero|sino|porque|luego|entonces"
    r"|aunque|although)\b|\b(?:and|y)\b(?= (?:never|always|do|don't|not|use|run|then|no|nunca|siempre|usa|haz"
    r"|ejecuta|[a-z]+ (?:the|a|an|it|to|el|la|un|una|lo)\b))"
)
_INSTEAD = re.compile(r"\b(?:instead of|rather than|en lugar de|en vez de|and not|y no)\b (?=\w)")
_OVER = re.compile(r"\b(?:prefer|prefier)\w*\b(?P<liked>[^.;]{1,80}?)\b(?:over|antes que)\b(?P<other>[^.;]{1,80})")
_AVOID = re.compile(
    r"(?<![\w-])(?:never|do not|don't|dont|does not (?:want|like)|doesn't (?:want|like)|must not|mustn't|should not"
    r"|shouldn't|can't|cannot|can not|avoid\w*|stop|no more|not|no|without|skip\w*|omit\w*|ignor\w+|refus\w+"
    r"|forbid\w*|hates?|dislikes?|drop|bypass\w*|disabl\w+|nunca|jamas|evit\w+|sin|nada de|prohibid[oa]s?|prohib\w+"
    r"|odia|deja de|salta\w*|saltate|omit[ea]\w*|tampoco|desactiv\w+|olvida\w*)(?![\w-])"
)
_CONDEMNED = re.compile(
    r"\b(?:is|are|was|es|son|esta|estan|queda|quedan)? ?(?:strictly )?(?:forbidden|prohibited|banned|off[- ]limits"
    r"|unacceptable|prohibid[oa]s?|not (?:allowed|acceptable|used|wanted|welcome)|no (?:esta|estan) permitid[oa]s?"
    r"|no se usan?)\b"
)
_TOLD = re.compile(r"\b(?:\w{3,}ed|is|are|was|were|has|have|broke|exist\w*|fall\w+|hay|fue|fueron|ha|han)\b")
"""In a draft, "no tests failed" tells what happened; "no emojis" asks for something."""
_CONTEXT = re.compile(
    r"\b(?:before|after|when|whenever|while|unless it|if|for every|in every|antes de|despues de|cuando|al|mientras"
    r"|en cada|tras)\b"
)
_EXCEPT = re.compile(r"\b(?:except|unless|other than|apart from|excepto|salvo|a menos que|menos en)\b")
_WITHOUT = re.compile(r"\b(?:without|sin)\b")
_LINKED = re.compile(r"\b(\w{1,40}),? (?:or|and|nor|o|u|y|ni) (\w{1,40})\b")
_DOING = re.compile(
    r"^(?:\W*(?:please|just|simply|then|now|first|next|finally|also|you (?:can|should|could|must|may|need to"
    r"|have to)|we (?:can|should|could|must|need to)|that|you|we|i (?:would|'d)? ?(?:recommend|suggest|advise"
    r"|propose|use|go with)\w*|i'd|i'll|i will|let's|let us|lets|it is best to|the best \w+ is to"
    r"|my recommendation is to|feel free to|primero|luego|ahora|despues|puedes|debes|deberias|podemos|debemos"
    r"|podrias|te recomiendo|recomiendo|sugiero|conviene|hay que|vamos a|voy a|lo mejor es|es mejor|mejor"
    r"|simplemente|por favor|tienes que|basta con)\b)+"
)
_DESCRIBING = re.compile(
    r"\b(?:is|are|was|were|es|son|era|fue|eran) (?:an?|the|one|often|usually|called|known|un|una|el|la|conocid\w+)\b"
)
_REPORTING = re.compile(
    r"\b(?:you|user) (?:said|asked|told|prefer\w*|want\w*|mentioned)|\b(?:as|since|because) you\b"
    r"|\b(?:dijiste|pediste|prefieres|quieres|comentaste|segun (?:tu|lo)|como (?:pediste|prefieres))\b|\?\s*$"
)
_FACT = re.compile(
    r"\b(?:has|have|had|ha|han|habia) (?:\w+ )?(?:never|not|nunca)\b|\bnunca (?:ha|han|habia)\b"
    r"|\b(?:does not|doesn't|do not|don't|no) (?:know|understand|speak|have|own|sabe|conoce|entiende|tiene|habla)\b"
    r"|\b(?:is|are|was|were) not\b|\bno (?:es|son|esta|estan|era|fue)\b"
    r"|(?<!are )(?<!is )(?<!be )\b(?:never|nunca) (?:used|ran|worked|touched|tried|saw|seen|learn(?:ed|t)"
    r"|deployed|wrote|uso|trabajo|toco|probo|aprendio|vio|escribio)\b"
    r"|\b(?:no|little|without|sin|poca) (?:\w+ )?(?:experien\w+|knowledge|background|conocimientos?)\b"
    r"|\bknows? (?:no|nothing|little)\b|\bsabe (?:nada|poco)\b"
)
"""What is so, without anybody wanting it: "she has never run Kubernetes"."""
_ROLE = re.compile(
    r"\b(?:developer|engineer|scientist|analyst|designer|manager|student|founder|architect|administrator|desarrollador\w*"
    r"|ingenier[oa]|analista|cientific[oa]|disenador\w*|estudiante|arquitect[oa]|administrador\w*)s?\b"
)
_THIRD_PERSON = re.compile(
    r"\W*(?:(?:[a-z]{2,}[^s\W]s)\b(?! (?:que|hacer))|(?:sabe|conoce|trabaja|vive|habla|lleva|estudia|desarrolla)\b)"
)
_LEAVING = r"(?:skip|omit|ignor|bypass|disabl|forget|drop|neglect|olvid|salt|desactiv)\w*"
_LEFT = re.compile(_LEAVING)
_NOT_LEFT = re.compile(
    rf"\W*(?:(?:ever|to|te|se|me|lo|la|los|las) )?(?:{_LEAVING}|(?:avoid|stop|evit)\w*|dej(?:ar|e|es) de\b)"
)
"""After a negation: "do not skip" is to do, and so is "avoid skipping"."""
_FRONTED = re.compile(
    r"\W*(?P<place>(?:for|in|on|at|during|within|under|inside|para|en|durante|dentro de)\b [^,;:.!?]{1,60}),\s+(?=\w)"
)
_PAST = re.compile(r"\b(?:ran|used|did|had|already|was|were|has been|have been|yesterday|usaba\w*|se uso|ayer|ya)\b")


def directives(sentence: str, *, code: bool = False, stated: bool = False) -> list[Directive]:
    """What ``sentence`` tells to do or to leave, clause by clause.

    A line of ``code`` tells to run it. ``stated`` is for memory, where what obliges is meant. In a draft a clause that
    describes, reports or asks is only "described".
    """
    if code:
        return _ran(sentence)
    folded = fold(sentence)
    place = ""
    fronted = _FRONTED.match(folded)
    if fronted and tokens(fronted["place"]) - vocabulary().vague:
        place, folded = fronted["place"], folded[fronted.end() :]
    found: list[Directive] = []
    asked = not stated and _REPORTING.search(folded) is not None
    for clause in _clauses(folded):
        for directive in _of_clause(clause, asked=asked, stated=stated):
            if directive.tokens:
                inherited = _place_before(found, clause) if stated else frozenset[str]()
                found.append(_placed(directive, place, inherited, stated=stated))
    return found


def _ran(line: str) -> list[Directive]:
    about = tokens(line)
    whole = (Part("", tuple(words(line)), about),)
    return [Directive("do", about, frozenset(), frozenset(), line, parts=whole)] if about else []


def _placed(directive: Directive, place: str, inherited: frozenset[str], *, stated: bool) -> Directive:
    """The directive with the place that opens its sentence: a circumstance, and of a draft a part of what it does."""
    held = directive.parts if stated or not place else directive.parts + parts(place)
    return directive._replace(context=directive.context | tokens(place) | inherited, parts=held)


_CONTRAST = re.compile(r"(?:never|not|no|nunca|jamas) (\w+)")


def _place_before(found: list[Directive], clause: str) -> frozenset[str]:
    """The place of the rule before, for one without a verb of its own: "Use UTC in the database; never local time"."""
    contrast = _CONTRAST.match(clause)
    if not found or not contrast or not tokens(contrast[1]) or found[-1].polarity == "avoid":
        return frozenset()
    if tokens(contrast[1]) & vocabulary().acts:
        return frozenset()
    return frozenset(token for part in found[-1].parts if part.preposition in ("in", "en") for token in part.tokens)


def _clauses(folded: str) -> Iterator[str]:
    preferred = _OVER.search(folded)
    if preferred:
        yield f"use {preferred['liked'].strip()}"
        yield f"avoid {preferred['other'].strip()}"
        folded = folded[: preferred.start()] + ";" + folded[preferred.end() :]
    swapped = _SWAP.search(folded)
    if swapped and not _AVOID.search(folded, 0, swapped.start()):
        yield f"use {(swapped['new'] or swapped['taken']).strip()}"
        yield f"avoid {(swapped['old'] or swapped['left']).strip()}"
        folded = folded[: swapped.start()] + ";" + folded[swapped.end() :]
    for clause in _CLAUSE.split(folded):
        if clause.strip():
            yield clause.strip()


def _of_clause(clause: str, *, asked: bool, stated: bool) -> Iterator[Directive]:
    main, excepted = _part(_EXCEPT, clause)
    instead = _INSTEAD.search(main)
    before = main[: instead.start()] if instead else ""
    if instead and tokens(before) and not _AVOID.search(before):
        # "use Z instead of Y", "use Z, not Y"
        yield from _of_clause(before, asked=asked, stated=stated)
        if not asked:
            yield _directive("avoid", main[instead.end() :], "", excepted, clause)
        return
    avoid = _AVOID.search(main)
    condemned = _CONDEMNED.search(main)
    if condemned:
        yield _directive("avoid", main[: condemned.start()], "", excepted, clause)
        return
    if avoid is None:
        action, context = _part(_CONTEXT, main)
        meant = _obliges(clause) if stated else _proposes(clause, asked=asked)
        yield from _spread("do", action, context, excepted, clause, meant=meant)
        return
    tail = main[avoid.end() :]
    if avoid[0] in ("without", "sin"):
        yield _directive("avoid", tail, "", excepted, clause)
        done = main[: avoid.start()]
        if tokens(done):
            yield _directive("do", done, tail, excepted, clause, meant=stated or _proposes(clause, asked=asked))
        return
    undone = _WITHOUT.search(tail)
    if undone and stated:
        # "never push without asking": to push asks for asking.
        yield _directive("do", tail[undone.end() :], tail[: undone.start()], excepted, clause)
        return
    leaving = None if _LEFT.match(avoid[0]) else _NOT_LEFT.match(tail)
    action, context = _part(_CONTEXT, tail[leaving.end() :] if leaving else tail)
    told = _FACT.search(clause) is not None or (avoid[0] in ("no", "not") and _TOLD.search(tail) is not None)
    polarity: Polarity = "do" if leaving else "avoid"
    yield from _spread(polarity, action, context, excepted, clause, meant=not (asked or told))


def _part(pattern: re.Pattern[str], clause: str) -> tuple[str, str]:
    match = pattern.search(clause)
    return (clause[: match.start()], clause[match.end() :]) if match and match.start() > 0 else (clause, "")


def _obliges(clause: str) -> bool:
    """Whether a clause of memory lays something down; much of it only tells."""
    return (
        _NORMATIVE.search(clause) is not None
        or _DOING.match(clause) is not None
        or (_imperative(clause) and _DESCRIBING.search(clause) is None and _PAST.search(clause) is None)
    )


def _proposes(clause: str, *, asked: bool) -> bool:
    if asked or _PAST.search(clause) or _DESCRIBING.search(clause):
        return False
    return _DOING.match(clause) is not None or _imperative(clause)


_SUBJECTS = frozenset(
    (
        *("it", "this", "that", "he", "she", "they", "there", "we", "you", "i", "the", "a", "an", "whatever", "what"),
        *("ella", "esto", "eso", "ellos", "se", "lo", "el", "la", "los", "las", "un", "una"),
    )
)


def _imperative(clause: str) -> bool:
    """Whether a clause begins with what can be a verb: a subject or an article cannot."""
    words = WORD.findall(clause)
    return bool(words) and words[0] not in _SUBJECTS


def _spread(
    polarity: Polarity, action: str, context: str, excepted: str, clause: str, *, meant: bool
) -> Iterator[Directive]:
    """One directive, or two where the action names alternatives: "commit or push to main", "npm or yarn"."""
    linked = _LINKED.search(action)
    if linked and len(tokens(linked[1])) == 1 and len(tokens(linked[2])) == 1:
        for one in (linked[1], linked[2]):
            joined = f"{action[: linked.start()]}{one}{action[linked.end() :]}"
            yield _directive(polarity, joined, context, excepted, clause, meant=meant)
    else:
        yield _directive(polarity, action, context, excepted, clause, meant=meant)


def _directive(
    polarity: Polarity, action: str, context: str, excepted: str, clause: str, *, meant: bool = True
) -> Directive:
    strength = "stated" if meant else "described"
    held = parts(action)
    about = frozenset(token for part in held for token in part.tokens)
    return Directive(polarity, about, tokens(context), tokens(excepted), clause, strength, held)


def describes_person(clause: str, names: frozenset[str]) -> bool:
    """Whether a clause on a user says what they are or do, and asks for nothing: "Ana writes the backend"."""
    if _FACT.search(clause):
        return True
    if _NORMATIVE.search(clause) or _DOING.match(clause) or _AVOID.search(clause) or _CONDEMNED.search(clause):
        return False
    first = next(iter(WORD.findall(clause)), "")
    return first in names or _ROLE.search(clause) is not None or _THIRD_PERSON.match(clause) is not None
