"""The words that the judges know, from ``vocabulary.toml`` beside this file."""

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
    meanings: dict[str, str]
    """A word's stem by the stem of the English word of the same meaning."""
    domains: dict[str, frozenset[str]]


@cache
def vocabulary() -> Vocabulary:
    """The words, read once."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return Vocabulary(
        stop=frozenset(table["stop"].split()),
        generic_verbs=frozenset(stem(word) for word in table["generic_verbs"].split()),
        meanings={word: stem(meaning) for meaning, words in table["meanings"].items() for word in words.split()},
        domains={name: frozenset(words.split()) for name, words in table["domains"].items()},
    )


def tokens(text: str) -> frozenset[str]:
    """The stems of what a text is about, without the words and verbs that say nothing."""
    known = vocabulary()
    words = [word for word in WORD.findall(fold(text)) if word not in known.stop and not word.isdigit()]
    return frozenset(known.meanings.get(word) or stem(word) for word in words) - known.generic_verbs
