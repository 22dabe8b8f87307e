"""Which protected paths a diff touches. Total: a text that is no diff is read as far as it goes.

A path must not escape by a malformed diff, so every header line counts, and of several readings of a name each does.
"""

import posixpath
import re
from collections.abc import Iterable
from functools import lru_cache

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

UNREADABLE = "(no file name could be read)"
"""Stands for a path where a diff names none: what cannot be read is not known to be harmless."""

_NAME_LIMIT = 8192
_SPACE_LIMIT = 64
_ENOUGH = 512
_WHOLE = ("rename from ", "rename to ", "copy from ", "copy to ", "Index: ")
_SEVERAL = ("diff --git ", "diff --cc ", "diff --combined ", "diff -", "Binary file ", "Binary files ", "Submodule ")
_FILES = ("--- ", "+++ ")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def protected_paths(diff: str, globs: Iterable[str]) -> list[str]:
    """The paths of a diff that match a glob, sorted. ``**`` stands for any folders, ``*`` stays within one.

    Case does not matter. :data:`UNREADABLE` alone where the text has no header that names a file.
    """
    patterns = tuple(globs)
    lines = diff.split("\n")
    named = False
    touched: set[str] = set()
    doubtful: dict[int, set[str]] = {}
    for number, line in enumerate(lines, 1):
        kind, names = _names(line)
        if not kind:
            continue
        named = True
        hits = {hit for name in names if (hit := _hit(name, patterns))}
        if hits and kind in _FILES:
            doubtful[number] = hits
        else:
            touched |= hits
    if doubtful:
        content = _content(lines)
        touched |= {hit for number, hits in doubtful.items() if number not in content for hit in hits}
    return sorted(touched) if named else [UNREADABLE]


def _content(lines: list[str]) -> frozenset[int]:
    """The numbers of the lines that are a hunk's, where they may begin with ``--- `` and be no header.

    None of a text that does not parse as a whole: then each such line is taken for a header.
    """
    # Only the beginnings matter here, and unidiff takes quadratic time on some very long lines.
    short = [line[:_ENOUGH] + "\n" for line in lines]
    try:
        patch = PatchSet(short if lines[-1] else short[:-1])
    except UnidiffParseError:
        return frozenset()
    return frozenset(line.diff_line_no for file in patch for hunk in file for line in hunk if line.diff_line_no)


def _names(line: str) -> tuple[str, set[str]]:
    """How the line begins, if it is a header, and every name that it can be read as."""
    line = line.rstrip("\r")
    for start in (*_FILES, *_WHOLE, *_SEVERAL):
        if line.startswith(start):
            rest = line[len(start) :].strip()
            break
    else:
        return "", set()
    if len(rest) > _NAME_LIMIT:
        return start, {UNREADABLE}
    names = {rest, rest.partition("\t")[0], *rest.split()[:1]} if start in _FILES else {rest}
    if start in _SEVERAL:
        names |= _both(rest) or _splits(rest)
    names |= {_unquoted(quoted) for quoted in re.findall(r'"(?:[^"\\]|\\.)*"?', rest)}
    return start, names - {"", "/dev/null"}


def _both(text: str) -> set[str]:
    """The two names of ``a/name b/name``, even if there are spaces in them; empty where they differ."""
    left, space, right = text[: len(text) // 2], text[len(text) // 2 : len(text) // 2 + 1], text[len(text) // 2 + 1 :]
    prefixed = left[1:2] == right[1:2] == "/" and left[2:] == right[2:]
    return {left, right} if space == " " and (left == right or prefixed) else set()


def _splits(text: str) -> set[str]:
    """Every beginning and every end of a text at a space: names with spaces stand side by side, unquoted."""
    spaces = [match.start() for match in re.finditer(" ", text)]
    if len(spaces) > _SPACE_LIMIT:
        return {UNREADABLE}
    return {text[:space] for space in spaces} | {text[space + 1 :] for space in spaces}


def _unquoted(text: str) -> str:
    """A name as git quotes it: C escapes, and the bytes of UTF-8 in octal."""
    raw = bytearray()
    for octal, escape, char in re.findall(r"\\([0-3][0-7]{2})|\\(.)|([^\\])", text.strip('"')):
        if octal:
            raw.append(int(octal, 8))
        elif escape in _ESCAPES:
            raw.append(_ESCAPES[escape])
        else:
            raw += (escape or char).encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")


def _hit(name: str, patterns: tuple[str, ...]) -> str | None:
    """The path that matches: the name without git's prefix (``a/``), or else, for a diff made without, all of it."""
    if name == UNREADABLE:
        return name
    path = posixpath.normpath(name.replace("\\", "/").strip()).lstrip("/")
    shorter = path.partition("/")[2]
    return next((one for one in (shorter, path) if one and any(_glob(p).fullmatch(one) for p in patterns)), None)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    kinds = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(kinds.get(part) or re.escape(part) for part in parts), re.IGNORECASE | re.DOTALL)
