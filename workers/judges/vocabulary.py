"""The words that the judges know, from ``vocabulary.toml`` beside this file, and what a text is about by them."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workers.judges.text import WORD, fold, stem


class Vocabulary(NamedTuple):
    """Folded words and stems."""

    stop: frozenset[str]
    generic_verbs: frozenset[str]
    """Stems."""
    acts: frozenset[str]
    """Stems of words that are a thing done as well as the doing of it: "commit"."""
    vague: frozenset[str]
    """Stems of what opens a sentence and names no place: "in general"."""
    meanings: dict[str, str]
    """By a word, the stem of the English word of the same meaning."""
    stems: dict[str, str]
    """The same by the stems that are long enough to be no other word's."""
    phrases: dict[str, str]
    """Words that are one, by the English one."""
    domains: dict[str, frozenset[str]]
    everyday: frozenset[str]
    """Stems of a domain's words that are said of other things too."""


class Word(NamedTuple):
    """A folded word, and its stem where it says something."""

    raw: str
    token: str


@cache
def vocabulary() -> Vocabulary:
    """The words, read once."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    meanings = {word: stem(meaning) for meaning, said in table["meanings"].items() for word in said.split()}
    return Vocabulary(
        stop=frozenset(table["stop"].split()),
        generic_verbs=frozenset(stem(word) for word in table["generic_verbs"].split()),
        acts=frozenset(stem(word) for word in table["acts"].split()),
        vague=frozenset(stem(word) for word in table["vague"].split()),
        meanings=meanings,
        stems={stem(word): meaning for word, meaning in meanings.items() if len(stem(word)) >= 5},
        phrases=table["phrases"],
        domains={name: frozenset(said.split()) for name, said in table["domains"].items()},
        everyday=frozenset(stem(word) for word in table["everyday"].split()),
    )


_FILE = re.compile(
    r"(?:(?P<folder>[\w@.-]{1,60})/(?:[\w@.-]{1,60}/){0,20})?"
    r"(?P<name>[\w@-]{1,60}(?:\.\w{1,20}){0,2}\.(?:pyi?|md|txt|toml|ya?ml|json|sh|sql|cfg|ini|go|rs|java|kt|rb|php|cs|html?|css"
    r"|xml|lock|csv|log|tsx?|jsx)|(?:main|index|app|server|test|config)\.[cm]?js)(?!\w)"
)
_WORD_OR_FILE = re.compile(rf"{_FILE.pattern}|(?P<word>{WORD.pattern})")


@cache
def _phrases() -> re.Pattern[str]:
    longest = sorted(vocabulary().phrases, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b")


def words(text: str) -> list[Word]:
    """The words of a text, in order; a file's name is one word, and only its first folder another."""
    known = vocabulary()
    found: list[Word] = []
    for match in _WORD_OR_FILE.finditer(_phrases().sub(lambda phrase: known.phrases[phrase[0]], fold(text))):
        if match["word"]:
            found.append(Word(match["word"], _token(match["word"])))
        else:
            found += [Word(part, _token(part)) for part in WORD.findall(match["folder"] or "")]
            found.append(Word(match["name"], match["name"]))
    return found


def _token(word: str) -> str:
    known = vocabulary()
    if word in known.stop or word.isdigit():
        return ""
    token = known.meanings.get(word) or known.stems.get(stem(word)) or stem(word)
    return "" if token in known.generic_verbs else token


def tokens(text: str) -> frozenset[str]:
    """The stems of what a text is about, without the words and verbs that say nothing."""
    return frozenset(word.token for word in words(text) if word.token)
