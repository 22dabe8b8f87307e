"""Which branch a `git push` without one is about: the branch that the draft's earlier words have checked out."""

import re

from workers.judges.text import Passage

_PROTECTED = re.compile(r"main|master|develop|production|release/[\w.-]+")
_STEP = re.compile(
    r"\bgit (?:checkout|switch)(?P<created> -[bc]{1,2})?(?: --?[a-z][\w-]*)* (?P<branch>[\w./-]{1,80})(?! -- )"
    r"|(?<!if )(?<!when )(?<!unless )(?<!whether )\b(?:you(?: are|'re)|we(?: are|'re)) (?:now |still |currently )?on "
    r"(?:the )?`?(?P<here>[\w./-]{1,80})"
    r"|(?<!si )\b(?:estas|estamos) (?:ya |ahora )?en (?:la rama )?`?(?P<aqui>[\w./-]{1,80})"
    r"|\bgit push(?P<push>(?: (?!git )(?:--?[\w-]+(?:=\S{1,80})?|\+?[\w./:@-]*[\w@])){0,8})"
)
_CURRENT = ("head", "@")
_OTHER_TARGET = re.compile(r" (?:--tags|--all|--mirror|--delete|-d)(?![\w-])")


def with_branches(parts: list[Passage]) -> list[Passage]:
    """The passages, with "[on main]" behind each push that takes the checked-out branch, where that is a protected one.

    "You are on main", wherever it stands, tells where the commands begin.
    """
    if not any("git push" in part.folded for part in parts):
        return parts
    steps = [list(_STEP.finditer(part.folded)) for part in parts]
    told = (match["here"] or match["aqui"] for found in steps for match in found)
    current = next((branch for branch in map(_protected, told) if branch), None)
    read: list[Passage] = []
    for part, found in zip(parts, steps, strict=True):
        marks: list[tuple[int, str]] = []
        for match in found:
            named = match["branch"] or match["here"] or match["aqui"]
            if named:
                current = None if match["created"] else _protected(named)
            elif current and match["push"] is not None and _takes_the_current(match["push"]):
                marks.append((match.end(), f" [on {current}]"))
        read.append(_marked(part, marks))
    return read


def _protected(branch: str | None) -> str | None:
    plain = (branch or "").rstrip(".")
    return plain if _PROTECTED.fullmatch(plain) else None


def _takes_the_current(arguments: str) -> bool:
    named = [word for word in arguments.split() if not word.startswith("-")]
    if _OTHER_TARGET.search(arguments):
        return False
    return len(named) < 2 or (len(named) == 2 and named[1].lstrip("+") in _CURRENT)  # remote and ref


def _marked(part: Passage, marks: list[tuple[int, str]]) -> Passage:
    text, folded = part.text, part.folded
    for at, mark in reversed(marks):
        text, folded = text[:at] + mark + text[at:], folded[:at] + mark + folded[at:]
    return part._replace(text=text, folded=folded) if marks else part
