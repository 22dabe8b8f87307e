"""A clause in its parts, cut at the prepositions, and whether one clause does the act of another.

"Never commit to main" is the act ``commit`` and the target ``to main``. "Commit it to a branch with a pull request to
main" has both words and does not do it: the words of a part must stand together, and a target must be the act's.
"""

from typing import NamedTuple

from workers.judges.vocabulary import Word, vocabulary, words


class Part(NamedTuple):
    """A preposition and what it governs; the first part of a clause has none."""

    preposition: str
    words: tuple[Word, ...]
    tokens: frozenset[str]


LONG_RULE = 3


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_INTO = _set("to into onto a al hacia")
TARGETS = _INTO | _set("on in at inside within under against en sobre dentro contra")
_SOURCES = _set("from desde")
PURPOSES = _set("for para por until during hasta durante")
_OTHERS = _set("with by using via through about which that who whose where con mediante que donde")
_CUTS = TARGETS | _SOURCES | PURPOSES | _OTHERS
_SPANISH = _set("el la los las de del un una en con por para al que nunca siempre haz hagas usa")
"""What shows that an "a" is the Spanish preposition and not the English article."""
_DEFINITE = _set(
    "the this that these those last latest first previous next each every its your my our their el la los las este esta"
    " ese esa ultimo ultima primer primero anterior siguiente cada su tu mi"
)
_BEFORE_NOUNS = _set("in at on from since en desde")
_VERB_ENDINGS = ("ed", "ing", "ado", "ada", "ando")
_LOOKING = _set("show list status log diff info view check freeze help version outdated ls ps describe")
"""Subcommands that change nothing: "pip show" installs nothing with pip."""


def parts(text: str) -> tuple[Part, ...]:
    """The parts of a folded clause, in order; "of" and "de" cut nothing."""
    said = words(text)
    spanish = any(word.raw in _SPANISH for word in said)
    cut: list[tuple[str, list[Word]]] = [("", [])]
    for word in said:
        if word.raw in _CUTS and (word.raw != "a" or spanish):
            cut.append((word.raw, []))
        else:
            cut[-1][1].append(word)
    return tuple(
        Part(preposition, tuple(held), frozenset(word.token for word in held if word.token))
        for preposition, held in cut
    )


def does(rule: tuple[Part, ...], said: tuple[Part, ...]) -> bool:
    """Whether ``said`` does what ``rule`` names: each part's words together, in the act's own target.

    Of a rule of more words than :data:`LONG_RULE` three quarters are enough, if its act is among them.
    """
    asked = _shared(rule, said)
    if not asked:
        return False
    at: list[int] = []
    for part in asked:
        position = _position(part, said, at[0] if at else 0)
        if position is None:
            return False
        at.append(position)
    for part, position in zip(asked[1:], at[1:], strict=True):
        between = (k for k in range(at[0] + 1, position) if k not in at and said[k].tokens)
        if part.preposition in TARGETS and any(said[k].preposition in TARGETS for k in between):
            return False
    moved = any(said[position].preposition in _INTO for position in at[1:])
    return _acted(asked, said, moved=moved)


def _shared(rule: tuple[Part, ...], said: tuple[Part, ...]) -> list[Part]:
    """The rule's parts as far as ``said`` has their words; none where it has too few, or lacks the act."""
    wanted = [word for part in rule for word in part.words if word.token]
    all_said = frozenset(token for part in said for token in part.tokens)
    shared = frozenset(word.token for word in wanted) & all_said
    distinct = len({word.token for word in wanted})
    if not shared or len(shared) < (distinct if distinct <= LONG_RULE else 0.75 * distinct):
        return []
    if wanted[0].token in vocabulary().acts and wanted[0].token not in shared:
        return []
    return [part._replace(tokens=part.tokens & shared) for part in rule if part.tokens & shared]


def _position(part: Part, said: tuple[Part, ...], start: int) -> int | None:
    """Where the part's words stand together, first from ``start`` on; what comes *from* main does not go to main."""
    for position in (*range(start, len(said)), *range(start)):
        one = said[position]
        if part.tokens <= one.tokens and not (part.preposition in TARGETS and one.preposition in _SOURCES):
            return position
    return None


def _acted(asked: list[Part], said: tuple[Part, ...], *, moved: bool) -> bool:
    """Whether ``said`` does the rule's first word somewhere, and not only speaks of it ("the last commit") or looks."""
    first = next(word.token for word in asked[0].words if word.token in asked[0].tokens)
    own = frozenset(token for part in asked for token in part.tokens)
    flat = [word for part in said for word in (Word(part.preposition, ""), *part.words)]
    found = [number for number, word in enumerate(flat) if word.token == first]
    done = [number for number in found if not _looks(flat, number, own)]
    if first in vocabulary().acts and not moved:
        done = [number for number in done if not _spoken_of(flat, number)]
    return bool(done)


def _looks(flat: list[Word], number: int, own: frozenset[str]) -> bool:
    following = flat[number + 1] if number + 1 < len(flat) else Word("", "")
    return following.raw in _LOOKING and following.token not in own


def _spoken_of(flat: list[Word], number: int) -> bool:
    """Whether the word is a thing that is already there, and another verb governs it."""
    if flat[number].raw.endswith(_VERB_ENDINGS):
        return False
    begin = number
    for back in range(number - 1, max(-1, number - 4), -1):
        raw = flat[back].raw
        if raw in _DEFINITE or (back == number - 1 and raw in _BEFORE_NOUNS):
            begin = back
        if raw in _CUTS:
            break
    return begin < number and any(word.token for word in flat[:begin])
