"""What a draft names that can be looked up: paths, functions, modules of Python, flags of tools.

Only what the draft takes to exist: a file that it proposes to create, a function that it defines, a path given as an
example or said to be missing is none. What is likelier something else (a branch, a MIME type, an image) is left out.
"""

import builtins
import keyword
import re
import sys
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from workers.judges.claims import elsewhere, fleeting, proposed, proposed_after
from workers.judges.commands import Flag, flags
from workers.judges.imports import imports
from workers.judges.text import Passage, passages, readable

EntityClass = Literal["path", "function", "module", "flag"]
ENTITY_LIMIT = 300
"""At most so many entities of a draft are looked up."""
UNSURE = 0.0
"""Certainty of what belongs to the workspace only if that has its first folder or package: else it is a branch, a
library's, or somewhere else."""
BUILT = 0.6
"""Certainty of what a build or a run makes: without its folder, nothing was built yet."""


class Entity(NamedTuple):
    """Something that the draft names."""

    name: str
    cls: EntityClass
    certain: float
    """How surely it is fabricated if the workspace does not have it, from 0 to 1."""
    flag: Flag | None = None


_SUFFIXES = (
    r"py|pyi|md|rst|txt|toml|json|jsonl|ya?ml|jsx?|tsx?|mjs|cjs|vue|svelte|sh|bash|zsh|ps1|sql|cfg|ini|conf|env|go"
    r"|rs|java|kt|scala|rb|php|c|h|cc|cpp|hpp|cs|swift|css|scss|less|html?|xml|lock|csv|proto|graphql|tf|gradle"
    r"|ipynb|service|log"
)
_FILE_NAME = re.compile(
    rf"[\w@.+-]*[\w@+-]\.(?:{_SUFFIXES})|Makefile|Dockerfile|Jenkinsfile|Procfile|Vagrantfile|LICENSE|CODEOWNERS"
    rf"|Gemfile"
    r"|\.(?:env|git\w+|docker\w+|editorconfig|[a-z]{2,20}rc|pre-commit-config)(?:\.\w{1,12})?"
)
_PRODUCTS = re.compile(r"(?:node|vue|next|nuxt|express|three|d3|chart|react|alpine|ember|backbone|socket)\.js", re.I)
_PATH = re.compile(
    r"(?<![\w/:.@~$%{}<>*#\\-])(?:\.{1,2}/|~/|/)?[\w@.+-]{1,100}(?:/[\w@.+-]{1,100}){0,20}/?(?![\w@.+*<>{}$%\\/-])"
)
_PLACEHOLDER = re.compile(
    r"(?:^|/)(?:path|ruta|your|tu|my|mi|foo|bar|baz|example|ejemplo|some|xxx+|yyyy\w*|user|usuario|name"
    r"|nombre)(?:[-_./]|$)"
    r"|\.\.\.|^\d+/\d+",
    re.I,
)
_DOMAIN = re.compile(
    r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|es|eu|app|co|gov|edu|uk|de|fr|info|me|cloud|ms)(?:/|$)", re.I
)
_URL = re.compile(
    r"\b[a-zA-Z][\w+.-]{1,20}://[^\s)>\]\"'`]*|\bwww\.[^\s)>\]\"'`]+"
    r"|\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}(?::[\w./-]*)?"
)
_SCRIPT = re.compile(r"(?<![\w./-])[sy]/(?:\\.|[^/\\\n]){0,80}/(?:\\.|[^/\\\n]){0,80}/[a-zA-Z0-9]{0,6}(?![\w/])")
"""A substitution as sed and perl take it, which looks like a path."""
_BUILT = (
    *("dist", "build", "_build", "out", "output", "target", "coverage", "htmlcov", "logs", "log", "tmp", "temp"),
    *("reports", "report", "results", "test-results", "test-reports", "artifacts", "site", "venv", "node_modules"),
)
"""Folders that a build or a run makes."""

_TICKS = re.compile(r"`([^`\n]{1,300})`")
_CALL = re.compile(r"(?<![\w./:$-])([A-Za-z_]\w{1,80}(?:\.[A-Za-z_]\w{0,80}){0,5})\(([^()\n]{0,120})\)")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,80}")
_COINED = re.compile(r"\w_\w|[a-z][A-Z]|\.")
"""What tells a function's name from a word of prose with a bracket after it."""
_SYMBOL_NOUN = re.compile(
    r"\b(?:function|method|class|helper|decorator|fixture|funcion|metodo|clase|decorador)(?: called| named"
    r"| llamad[oa])?[\s`]*$"
)
_SYMBOL_NOUN_AFTER = re.compile(r"[`\s]*(?:function|method|class|helper|decorator|fixture)\b")
_DEFINED = re.compile(
    r"\b(?:def|class|function|func|fn|sub|interface|type|struct|enum|trait|module|const|let|var|val)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?(\w{1,80})|^\s*(\w{1,80})\s*(?::[^=\n]{1,80})?=(?!=)|^\s*(\w{1,80})\s*\(\)\s*\{"
    r"|^\s*(?:(?:public|private|protected|static|async|final|export|virtual"
    r"|inline)\s+){1,5}[^()=\n]{0,80}?\b(\w{1,80})\s*\("
)
_PROPOSED_FUNCTION = re.compile(
    r"\b(?:add|adding|creat\w+|defin\w+|implement\w*|introduc\w+|write|writing|extract\w*|renam\w+|new"
    r"|call(?:ed)? it|named|anad\w+|agreg\w+|crea\w*|escrib\w+|extra\w+|renombr\w+|nuev[oa])\b"
)
_LIBRARY = (
    "main init setup teardown constructor render useState useEffect useMemo useCallback useRef fetch require then"
    " catch addEventListener setTimeout setInterval querySelector getElementById forEach push log filter reduce"
    " toString stringify parse printf println malloc sizeof strlen assertEqual assertTrue describe expect"
    " beforeEach afterEach commit rollback execute connect close read write send get post put patch delete update"
    " save rgba calc count sum avg now coalesce read_csv to_csv readFile writeFile"
)
_USUAL = frozenset(
    (
        *(name for name in dir(builtins) if not name.startswith("_")),
        *keyword.kwlist,
        *(name for kind in (str, list, dict, set, bytes) for name in dir(kind) if not name.startswith("_")),
        *_LIBRARY.split(),
    )
)
"""Names of languages and of libraries that everybody uses: no workspace needs to define them."""
_SHELLS = ("", "sh", "bash", "zsh", "shell", "console", "shell-session", "terminal")
_PYTHONS = ("", "python", "py", "python3", "pycon")
_PROMPT = re.compile(r"^(?:\$|❯|%)\s+|^\(\w[\w-]{0,40}\)\s*\$\s+")
_PATH_COMMENT = re.compile(r"\s*(?:#|//|--|/\*)\s*\S+\s*(?:\*/)?")


def entities(draft: str, stop: Callable[[], bool] = lambda: False) -> list[Entity]:
    """The distinct entities of a draft, in the order of their first mention, at most :data:`ENTITY_LIMIT`.

    Once ``stop`` says so, what has been read must do: a later sentence may have proposed what an earlier one named.
    """
    parts = passages(readable(draft))
    defined = _defined(parts, stop)
    new: set[str] = set()
    found: dict[tuple[EntityClass, str, Flag | None], Entity] = {}
    for passage in parts:
        if stop():
            break
        passing = fleeting(passage)
        for entity, is_new in _of_passage(passage):
            if is_new:
                new.add(entity.name)
            elif entity.cls == "flag" or not passing:
                found.setdefault((entity.cls, entity.name, entity.flag), entity)
    kept = [entity for entity in found.values() if not _is_new(entity, new, defined)]
    return kept[:ENTITY_LIMIT]


def _is_new(entity: Entity, new: set[str], defined: set[str]) -> bool:
    """Whether the draft itself brings the entity into being, or knows that it is not there."""
    if entity.cls == "function":
        owner, _, last = entity.name.rpartition(".")
        return last in defined or last in new or entity.name in new or ("." in owner and _is_new_path(owner, new))
    if entity.cls == "module":
        return _is_new_path(entity.name, new)
    return entity.cls == "path" and any(
        _is_below(entity.name.rstrip("/"), path) or path.startswith(f"{entity.name.rstrip('/')}/") for path in new
    )


def _is_new_path(module: str, new: set[str]) -> bool:
    path = module.replace(".", "/")
    return any(_is_below(path, one.removesuffix(".py")) for one in new)


def _is_below(path: str, new: str) -> bool:
    """Whether ``path`` names ``new``, whole or from a folder below the root."""
    return path == new.rstrip("/") or new.endswith(f"/{path}")


def _defined(parts: list[Passage], stop: Callable[[], bool]) -> set[str]:
    names: set[str] = set()
    for passage in parts:
        if stop():
            break
        for span in [passage.text] if passage.kind == "code" else _TICKS.findall(passage.text):
            for match in _DEFINED.finditer(span):
                names.update(name for name in match.groups() if name)
    return names


def _of_passage(passage: Passage) -> Iterator[tuple[Entity, bool]]:
    """Each entity of a passage, and whether the passage proposes it or says that it is missing."""
    text = _URL.sub(_blank, passage.text)
    text = _SCRIPT.sub(_blank, text) if "/" in text else text
    if passage.kind == "code":
        language, _, title = passage.info.partition(" ")
        yield from ((entity, True) for entity, _ in _paths(passage, title, 0, in_code=True))
        if language in _PYTHONS:
            yield from _in_python(text)
        if language in _SHELLS:
            yield from _in_command(text)
            yield from _paths(passage, text, 0, in_code=True)
        elif _PATH_COMMENT.fullmatch(text):
            yield from ((entity, True) for entity, _ in _paths(passage, text, 0, in_code=True))
        return
    for span in _TICKS.finditer(text):
        yield from _in_command(span[1])
        yield from _imported(span[1])
        yield from _paths(passage, span[1], span.start(1), in_code=True)
        yield from _functions(passage, span[1], span.start(1), in_ticks=True)
    prose = _TICKS.sub(_blank, text)
    yield from _paths(passage, prose, 0, in_code=False)
    yield from _functions(passage, prose, 0, in_ticks=False)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _in_command(line: str) -> Iterator[tuple[Entity, bool]]:
    for flag in flags(_PROMPT.sub("", line.strip())):
        yield Entity(f"{' '.join(flag.command)} {flag.name}", "flag", 0.85, flag), False


def _in_python(line: str) -> Iterator[tuple[Entity, bool]]:
    """The imports of a line, and its calls by a module's full name; other calls may be of anything."""
    yield from _imported(line)
    for match in _CALL.finditer(line):
        if match[1].count(".") >= 2 and not _of_python(match[1]):
            yield Entity(match[1], "function", UNSURE), False


def _imported(line: str) -> Iterator[tuple[Entity, bool]]:
    for one in imports(line):
        if not _of_python(one.name):
            yield Entity(one.name, "module" if one.is_module else "function", UNSURE), False


def _of_python(name: str) -> bool:
    return name.split(".")[0] in sys.stdlib_module_names


def _paths(passage: Passage, text: str, offset: int, *, in_code: bool) -> Iterator[tuple[Entity, bool]]:
    alone = in_code and len(text.split()) == 1
    away = "/" in text and elsewhere(passage)
    for match in _PATH.finditer(text):
        name = match[0].rstrip(".").removeprefix("./").removeprefix("@")
        if not re.search(r"[A-Za-z]", name) or _PLACEHOLDER.search(name) or _DOMAIN.match(name):
            continue
        certain = _path_certainty(name, in_code=in_code, alone=alone)
        if certain is not None:
            start, end = offset + match.start(), offset + match.end()
            yield Entity(name, "path", UNSURE if away and "/" in name else certain), proposed(passage, start, end)


def _path_certainty(name: str, *, in_code: bool, alone: bool) -> float | None:
    """How surely a word is a path that should exist; None: it is none."""
    last = name.rstrip("/").rpartition("/")[2]
    is_file = _FILE_NAME.fullmatch(last) is not None and not _PRODUCTS.fullmatch(last)
    if "/" not in name.rstrip("/"):
        certain = 0.7 if alone and (is_file or name.endswith("/")) else None
    elif is_file:
        certain = 0.97
    elif name.endswith("/") or (alone and name.count("/") >= 2):
        certain = 0.75
    else:
        certain = UNSURE if in_code else None
    built = name.lstrip("./").split("/")[0] in _BUILT
    return min(certain, BUILT) if certain is not None and built else certain


def _functions(passage: Passage, text: str, offset: int, *, in_ticks: bool) -> Iterator[tuple[Entity, bool]]:
    for name, arguments, at, end in _mentions(passage, text, offset, in_ticks=in_ticks):
        first, _, last = name.rpartition(".")
        if last in _USUAL or len(last) < 3 or name.isupper() or _of_python(first):
            continue
        if not in_ticks and arguments and not _COINED.search(name):
            continue  # "file(s)"
        before = passage.folded[max(0, offset + at - 80) : offset + at].rpartition(". ")[2]
        is_new = _PROPOSED_FUNCTION.search(before) is not None or proposed_after(passage, offset + end)
        yield Entity(name, "function", 0.75 if first else 0.8), is_new


def _mentions(passage: Passage, text: str, offset: int, *, in_ticks: bool) -> Iterator[tuple[str, str, int, int]]:
    """Name, arguments, start and end of each function that a text mentions."""
    for match in _CALL.finditer(text):
        yield match[1], match[2], *match.span()
    if in_ticks and _IDENTIFIER.fullmatch(text):
        called_so = _SYMBOL_NOUN.search(passage.folded[max(0, offset - 40) : offset])
        if called_so or _SYMBOL_NOUN_AFTER.match(passage.folded, offset + len(text)):
            yield text, "", 0, len(text)
