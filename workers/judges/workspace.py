"""A workspace folder, looked at and never left: its files by name, and the names that its sources hold.

Nothing in it is run or imported. Links are resolved, and what lies outside is not looked at. Every loop asks the
budget, and every answer tells "absent" from "not known".
"""

import errno
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from enum import Enum
from pathlib import Path

from workers.judges.budget import Budget
from workers.judges.files import UnreadableError, read_file

SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".mypy_cache"))
_INSTALLED = frozenset(("node_modules", ".venv", "venv", "site-packages", "dist-packages"))
"""Folders of libraries: what is not in them is a matter of what was installed."""
FILES_LIMIT = 20_000
BYTES_LIMIT = 16 * 1024 * 1024
"""At most so much of the sources is read."""
SOURCE_LIMIT = 512 * 1024
_SOURCE = re.compile(
    r".*\.(?:pyi?|[mc]?jsx?|tsx?|vue|svelte|sh|bash|ps1|sql|go|rs|java|kt|scala|rb|php|c|h|cc|cpp|hpp|cs|swift|tf"
    r"|proto|graphql|toml|ya?ml|json|cfg|ini)$|.*/?(?:Makefile|Dockerfile)$"
)
_DEFINITION = re.compile(
    r"\b(?:def|class|function|func|fn|interface|struct|enum|trait|type|object|module|namespace)\s+(\w{2,80})"
)
_CANDIDATES = 400


class Found(Enum):
    """What a look-up says."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"
    """It could not be told: out of budget, unreadable, or too much."""
    OUTSIDE = "outside"
    """Not in the workspace: not looked at."""


class Workspace:
    """The files of a resolved folder, listed once."""

    def __init__(self, root: Path, budget: Budget) -> None:
        self.root = root
        self._budget = budget
        self.files: list[str] = []
        """Paths of regular files and folders, relative, with ``/``."""
        self.complete = self._list()
        """Whether all of it was listed; without the skipped folders."""
        self._by_name: dict[str, list[str]] = {}
        self._without_suffix: dict[str, list[str]] = {}
        for path in self.files:
            name = path.rpartition("/")[2]
            self._by_name.setdefault(name, []).append(path)
            stem = name.rpartition(".")[0] or name
            self._without_suffix.setdefault(stem, []).append(path.removesuffix(name.removeprefix(stem)))
        self._packages = {path.split("/")[-2] for path in self._by_name.get("__init__.py", ()) if "/" in path}
        self.definitions: set[str] = set()
        """What the sources define, as far as :meth:`find_words` read them."""

    def _list(self) -> bool:
        complete, pending = True, [""]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(self.root / folder) as entries:
                    for entry in entries:
                        if self._budget.spent or len(self.files) >= FILES_LIMIT:
                            return False
                        path = f"{folder}/{entry.name}" if folder else entry.name
                        if entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED:
                            pending.append(path)
                        self.files.append(path)
            except OSError:
                complete = False  # said by "unknown": what is in there cannot be called absent
        return complete

    def find_path(self, name: str) -> Found:
        """Whether the path exists, from the root or from a folder below it; a module may lack its suffix.

        The ``a/`` and ``b/`` that git puts before a path are not the path's. A library's own path is outside.
        """
        if name.startswith("~"):
            return Found.OUTSIDE
        if name.startswith(("a/", "b/")) and not self.has_folder(name[0]):
            name = name[2:]
        real = Path(os.path.realpath(self.root / name))
        if not real.is_relative_to(self.root):
            return Found.OUTSIDE
        try:
            real.stat()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
                return Found.UNKNOWN
        else:
            return Found.PRESENT
        relative = name.strip("/").removeprefix("./")
        last = relative.rpartition("/")[2]
        alike = self._by_name.get(last, [])
        if "." not in last:
            alike = self._without_suffix.get(last, [])
        if any(path == relative or path.endswith(f"/{relative}") for path in alike):
            return Found.PRESENT
        folders = relative.split("/")
        if _INSTALLED.intersection(folders):
            return Found.OUTSIDE
        if not self.complete or SKIPPED.intersection(folders):
            return Found.UNKNOWN
        return Found.ABSENT

    def has_package(self, name: str) -> bool:
        """Whether some folder of that name is a Python package."""
        return name in self._packages

    def is_rooted(self, path: str) -> bool:
        """Whether the path's first folder is anywhere in the workspace: if not, it may be a path of something else."""
        first, _, rest = path.removeprefix(str(self.root)).lstrip("/").partition("/")
        return not rest or self.has_folder(first) or first in self._by_name

    def has_folder(self, name: str) -> bool:
        """Whether a folder or file of that name stands at the root."""
        return os.path.lexists(self.root / name)

    def closest_path(self, name: str) -> str | None:
        """The listed path that is most like ``name``, if any is like it."""
        relative = name.strip("/")
        last = relative.rpartition("/")[2]
        near = list(self._by_name.get(last, ()))[:_CANDIDATES]
        if not near:
            alike = [other for other in self._by_name if other[:1] == last[:1] and abs(len(other) - len(last)) <= 4]
            names = get_close_matches(last, alike[:_CANDIDATES], n=5, cutoff=0.7)
            near = [path for other in names for path in self._by_name[other]][:_CANDIDATES]
        return next(iter(get_close_matches(relative, near, n=1, cutoff=0.0)), None)

    def find_words(self, words: Iterable[str]) -> dict[str, Found]:
        """Whether each word stands in a source of the workspace, as a whole word."""
        patterns = {word: re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in words}
        open_words = set(patterns)
        complete, read = self.complete, 0
        for path in self.files:
            if not _SOURCE.match(path):
                continue
            if self._budget.spent or read >= BYTES_LIMIT:
                complete = False
                break
            try:
                text = read_file(self.root / path, self.root, SOURCE_LIMIT)
            except UnreadableError:
                if not (self.root / path).is_dir():
                    complete = False
                continue
            read += len(text)
            self.definitions.update(_DEFINITION.findall(text))
            open_words -= {word for word in open_words if word in text and patterns[word].search(text)}
        missing = Found.ABSENT if complete else Found.UNKNOWN
        return {word: missing if word in open_words else Found.PRESENT for word in patterns}

    def defines(self, name: str) -> bool:
        """Whether a source read so far defines ``name``, or is a module called so."""
        return name in self.definitions or any(
            path.rpartition("/")[2].partition(".")[0] == name for path in self._by_name.get(f"{name}.py", ())
        )

    def closest_definition(self, name: str) -> str | None:
        """The defined name that is most like ``name``, if any is like it."""
        alike = sorted(other for other in self.definitions if abs(len(other) - len(name)) <= 5)
        return next(iter(get_close_matches(name, alike[: 4 * _CANDIDATES], n=1, cutoff=0.6)), None)
