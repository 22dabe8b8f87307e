"""The drafts of a folder: Markdown files, the context of each in its YAML front matter."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import JsonValue, ValidationError

from tribunal.cli.reading import decoded, read_bytes
from tribunal.client import contract_error, parse_context
from tribunal.errors import ContractError, did_you_mean
from tribunal.model import Context

EXPECT = "expect"
"""The key of the outcome that the author expects. It is not part of the context: no judge sees it."""
FRONT_MATTER_LIMIT = 1024 * 1024
"""How much larger than a subject a file may be, in bytes."""
_PATHS = ("workspace", "memory", "expertise")
_OUTCOME = re.compile("[a-z][a-z_]*")
_OPENING = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
_FRONT_MATTER = re.compile(rf"{_OPENING.pattern}(?P<header>(?:[^\n]*\n)*?){_OPENING.pattern}")


@dataclass(frozen=True)
class Draft:
    """One file, read and checked."""

    file: str
    """The file's name in its folder."""
    subject: str
    """What follows the front matter, without the empty lines between."""
    context: Context
    """With the file's name as ``ref`` where it gives none."""
    expect: str | None = None
    """The expected outcome, in lower case."""


def read_drafts(folder: Path, subject_limit: int) -> list[Draft]:
    """The ``*.md`` files of a folder, by name; hidden ones and those in folders below it are left out.

    Raises:
        ContractError: naming every file that is wrong with its key, a line each; or there is no file.
    """
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == ".md" and not path.name.startswith("."))
    except OSError as error:
        raise ContractError(
            f"{folder}: a folder of drafts (*.md) expected; {error.strerror}; check the path"
        ) from error
    if not found:
        raise ContractError(f"{folder}: at least one draft (*.md) expected; there is none")
    drafts: list[Draft] = []
    faults: list[str] = []
    for path in found:
        try:
            drafts.append(read_draft(path, subject_limit))
        except ContractError as error:
            faults.append(str(error))
    if faults:
        raise ContractError("\n".join(faults))
    return drafts


def read_draft(path: Path, subject_limit: int) -> Draft:
    """One file. Paths in its front matter are relative to its folder; they are looked at by the workers only.

    Raises:
        ContractError: it cannot be read, or its front matter is wrong; the message begins with the path.
    """
    limit = subject_limit + FRONT_MATTER_LIMIT
    text = decoded(read_bytes(str(path), limit, "setting subject_limit"), str(path)).removeprefix("\ufeff")
    header, subject = _split(text, path)
    values = {name: _value(name, value, path) for name, value in _mapping(header, path).items()}
    expect = values.pop(EXPECT, None)
    if expect is not None and not (isinstance(expect, str) and _OUTCOME.fullmatch(expect.lower())):
        raise ContractError(f"{path}: {EXPECT}: an outcome such as PASS or needs_revision expected; {expect!r} came")
    for name in _PATHS:
        given = values.get(name)
        if isinstance(given, str):
            values[name] = _absolute(given, name, path)
    values.setdefault("ref", path.name)
    try:
        context = parse_context(values)
    except ValidationError as error:
        raise ContractError(f"{path}: {contract_error(error)}") from error
    return Draft(path.name, subject, context, expect.lower() if expect else None)


def _split(text: str, path: Path) -> tuple[str, str]:
    """The front matter and what follows it; without one it is empty."""
    if not _OPENING.match(text):
        return "", text
    whole = _FRONT_MATTER.match(text)
    if whole is None:
        raise ContractError(f"{path}: a line --- at the end of the front matter expected; there is none; add it")
    return whole["header"], text[whole.end() :].lstrip("\r\n")


def _mapping(header: str, path: Path) -> Mapping[str, Any]:
    try:
        node = yaml.compose(header, Loader=yaml.SafeLoader)
        loaded: object = yaml.safe_load(header)
    except yaml.MarkedYAMLError as error:
        # From 1, and after the line that opens the front matter.
        line = f", line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise ContractError(f"{path}{line}: the front matter is no YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ContractError(f"{path}: the front matter is no YAML ({error})") from error
    if node is None:
        return {}
    if not isinstance(loaded, dict) or not isinstance(node, yaml.MappingNode):
        raise ContractError(f"{path}: front matter of lines key: value expected; {type(loaded).__name__} came")
    known = {*Context.model_fields, EXPECT}
    names = [str(key.value) for key, _ in node.value]
    for name in names:
        if name not in known:
            raise ContractError(f'{path}: unknown key "{name}"{did_you_mean(name, known)}')
        if names.count(name) > 1:
            raise ContractError(f'{path}: key "{name}" once expected; it stands there {names.count(name)} times')
    return cast("dict[str, Any]", loaded)


def _value(name: str, value: object, path: Path) -> JsonValue:
    """A value as YAML read it, if it is one of a context: no date, no number with a point, nothing nested."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[object]", value)):
        return cast("list[JsonValue]", value)
    kind = type(value).__name__
    raise ContractError(
        f"{path}: {name}: a text, a whole number, true, false or a list of texts expected; {kind} came; "
        "a text that looks like something else needs quotes"
    )


def _absolute(given: str, name: str, path: Path) -> str:
    try:
        return os.path.normpath(path.absolute().parent / Path(given).expanduser())
    except RuntimeError as error:
        raise ContractError(f"{path}: {name}: a path expected; {given!r} came ({error})") from error
