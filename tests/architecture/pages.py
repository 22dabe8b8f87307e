"""The repository's pages, taken apart: fenced blocks, inline code, links, tables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")),
)

_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\|(.+)\|$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    line: int
    language: str
    mark: str | None
    """The second word behind the fence: ``run``, the name of the file that it is, or another word."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def page(name: str) -> str:
    """A page's text."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str | None = None, mark: str | None = None) -> list[Block]:
    """The fenced blocks of a page, of one language, with one mark."""
    text = page(name)
    found = [
        Block(name, text.count("\n", 0, fence.start()) + 1, fence[1], fence[2], fence[3])
        for fence in _FENCE.finditer(text)
    ]
    return [one for one in found if language in (None, one.language) and mark in (None, one.mark)]


def files_of(name: str) -> Mapping[str, str]:
    """The files that a page's blocks are, by name."""
    return {one.mark: one.text for one in blocks(name) if one.mark and "." in one.mark}


def prose(name: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page(name))


def inline_code(name: str) -> list[str]:
    """What stands between single backticks."""
    return re.findall(r"`([^`\n]+)`", prose(name))


def links(name: str) -> list[str]:
    """The targets of a page's links."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(name))


def first_cells(name: str) -> Iterator[str]:
    """Each inline code in the first cell of a page's table rows."""
    for row in _ROW.findall(prose(name)):
        yield from re.findall(r"`([^`]+)`", row.split("|")[0])


def section(name: str, heading: str) -> str:
    """A page's text from a heading to the next one."""
    _, found, rest = page(name).partition(f"\n## {heading}\n")
    assert found, f"{name} has no heading {heading}"
    return rest.partition("\n## ")[0]
