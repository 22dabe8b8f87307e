"""Which protected paths a diff touches. Total: a text that is no diff is read as far as it goes.

A path must not escape by a malformed diff, so every header line counts, and of several readings of a name each does.
Nor by where its folders begin: a diff may come with any prefix (``a/``, ``old/repo/``, ``/home/u/repo/``), so a glob is
matched against every end of a path.
"""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

UNREADABLE = "(no file name could be read)"
"""Stands for a path where a diff names none: what cannot be read is not known to be harmless."""

_NAME_LIMIT = 8192
_SPACE_LIMIT = 64
_ENOUGH = 512
_FOLDER_LIMIT = 64
_WHOLE = ("rename from ", "rename to ", "copy from ", "copy to ", "Index:")
_SEVERAL = ("diff --git ", "diff --cc ", "diff --combined ", "diff -", "Binary file ", "Binary files ", "Submodule ")
_FILES = ("--- ", "+++ ", "---\t", "+++\t")
_CONTEXT_FILES = ("*** ", "***\t")
# What GNU patch takes off before it looks for a header: a shift of the whole diff, and dashes of RFC 934.
_SHIFT = re.compile(r"[ \tX]*(?:- )*")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


def protected_paths(diff: str, globs: Iterable[str]) -> list[str]:
    """The paths of a diff that match a glob, sorted. ``**`` stands for any folders, ``*`` stays within one.

    A glob holds below any folder, and case does not matter. A path is named without the prefix, as far as that is
    known. :data:`UNREADABLE` alone where the text has no header that names a file, or only shifted ones.
    """
    patterns = _compiled(tuple(globs))
    lines = diff.split("\n")
    named = False
    touched: set[str] = set()
    doubtful: dict[int, set[str]] = {}
    for number, line in enumerate(lines, 1):
        shift = _SHIFT.match(line)
        start = shift.end() if shift else 0
        kind, names = _names(line[start:])
        if not kind:
            continue
        named = named or (not start and kind not in _CONTEXT_FILES)
        hits = _plainest({hit for name in names if (hit := _hit(name, patterns))})
        if hits and (start or kind in _FILES or kind in _CONTEXT_FILES):
            doubtful[number] = hits
        else:
            touched |= hits
    if doubtful:
        content = _content(lines)
        touched |= {hit for number, hits in doubtful.items() if number not in content for hit in hits}
    return sorted(touched) if named else [UNREADABLE]


def _content(lines: list[str]) -> frozenset[int]:
    """The numbers of the lines that are a hunk's, where one may look like a header and be none.

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
    for start in (*_FILES, *_CONTEXT_FILES, *_WHOLE, *_SEVERAL):
        if line.startswith(start):
            rest = line[len(start) :].strip()
            break
    else:
        return "", set()
    if len(rest) > _NAME_LIMIT:
        return start, {UNREADABLE}
    names = {rest}
    if start in _SEVERAL:
        names = _both(rest) or {rest, *_splits(rest)}
    elif start not in _WHOLE:
        names = {rest, rest.partition("\t")[0], *rest.split()[:1]}
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


@dataclass(frozen=True)
class _Globs:
    whole: re.Pattern[str]
    end: re.Pattern[str]
    """Any folders, and then the longest end that matches, as the group ``hit``."""


def _hit(name: str, globs: _Globs) -> str | None:
    """The path that matches: the name without git's prefix (``a/``), or all of it, or else the end of it that does."""
    if name == UNREADABLE:
        return name
    path = posixpath.normpath(name.replace("\\", "/").strip()).lstrip("/")
    if path.count("/") > _FOLDER_LIMIT:
        return UNREADABLE
    for one in (path.partition("/")[2], path):
        if one and globs.whole.fullmatch(one):
            return one
    end = globs.end.fullmatch(path)
    return end["hit"] if end else None


def _plainest(hits: set[str]) -> set[str]:
    """Of several readings of one line, those that do not hold the shortest one in them."""
    shortest = min(hits, key=lambda hit: (len(hit), hit), default="")
    return {hit for hit in hits if hit == shortest or shortest not in hit}


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> _Globs:
    flags = re.IGNORECASE | re.DOTALL
    whole = "|".join(map(_glob, patterns)) or "(?!)"
    # Leading folders are skipped already; a second way to skip them would take quadratic time.
    end = "|".join(_glob(re.sub(r"^(?:\*\*/)+", "", pattern)) for pattern in patterns) or "(?!)"
    return _Globs(re.compile(whole, flags), re.compile(f"(?:[^/]*/)*?(?P<hit>{end})", flags))


def _glob(pattern: str) -> str:
    """As a regular expression; ``folder/**`` is the folder's own name too, which may be a link or a submodule."""
    inside = pattern.endswith("/**")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removesuffix("/**") if inside else pattern)
    kinds = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(kinds.get(part) or re.escape(part) for part in parts)
    return f"(?:{body}{'(?:/.*)?' if inside else ''})"
