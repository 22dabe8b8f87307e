"""What a line of Python imports, by dotted names."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_IMPORT = re.compile(
    r"\s*(?:>>> ?)?(?:from\s+(?P<module>[A-Za-z_][\w.]{0,120})\s+import\s+\(?(?P<names>[\w ,]{1,400})"
    r"|import\s+(?P<modules>[A-Za-z_][\w., ]{0,400}))"
)


class Import(NamedTuple):
    """A module, or a name that is taken from one."""

    name: str
    """``package.module``, or ``package.module.name``."""
    is_module: bool


def imports(line: str) -> Iterator[Import]:
    """The imports in a line of Python; relative ones and ``*`` are left out."""
    if "import" not in line:
        return
    for statement in line.split(";"):
        match = _IMPORT.match(statement)
        if match and match["module"]:
            yield Import(match["module"], is_module=True)
            for name in _names(match["names"]):
                yield Import(f"{match['module']}.{name}", is_module=False)
        elif match:
            for name in _names(match["modules"]):
                yield Import(name, is_module=True)


def _names(listed: str) -> Iterator[str]:
    """The names in a list of them; ``a as b`` is ``a``."""
    for part in listed.split(","):
        words = part.split()
        if words and (len(words) == 1 or words[1] == "as"):
            yield words[0].strip(".")
