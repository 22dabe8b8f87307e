"""The flags that say what the producer knows about the subject: the same on ``judge`` and ``submit``."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from tribunal.cli.reading import read_document
from tribunal.client import contract_error, parse_context
from tribunal.model import CONTEXT_TEXT_LIMIT, Context

_UTF8_MAX = 4
"""Bytes of a character, at most."""


def _flag(name: str, help_text: str, panel: str, metavar: str | None = None) -> Any:
    return typer.Option(name, help=help_text, rich_help_panel=f"What is known about it: {panel}", metavar=metavar)


_ALL, _DRAFT, _CONSENSUS, _DIFF = "any panel", "recommendation", "consensus", "routine-review"


def _context(
    ref: Annotated[
        str | None, _flag("--ref", "Its name where it comes from: a path, a request's number.", _ALL)
    ] = None,
    risk: Annotated[
        str | None, _flag("--risk", "low, medium, high or critical; else the classifier says.", _DRAFT)
    ] = None,
    workspace: Annotated[Path | None, _flag("--workspace", "The folder that it talks about.", _DRAFT, "DIR")] = None,
    memory: Annotated[
        Path | None, _flag("--memory", "The folder of memory files (feedback_*.md, user_*.md).", _DRAFT, "DIR")
    ] = None,
    expertise: Annotated[Path | None, _flag("--expertise", "The user's expertise.md.", _DRAFT, "FILE")] = None,
    type_: Annotated[str | None, _flag("--type", "spec, pr or decision.", _CONSENSUS)] = None,
    code_verdict: Annotated[str | None, _flag("--code-verdict", "The code reviewer's so far.", _CONSENSUS)] = None,
    touches: Annotated[
        list[str] | None, _flag("--touches", "auth, payments, pii, compliance; can be repeated.", _CONSENSUS)
    ] = None,
    ambiguous: Annotated[bool, _flag("--ambiguous", "The spec is marked ambiguous.", _CONSENSUS)] = False,
    change_kind: Annotated[str | None, _flag("--change-kind", "crud or cosmetic.", _CONSENSUS)] = None,
    risk_score: Annotated[int | None, _flag("--risk-score", "0 to 100; below 26 is low.", _CONSENSUS)] = None,
    skip_optional: Annotated[bool, _flag("--skip-optional", "Not where it is optional.", _CONSENSUS)] = False,
    routine: Annotated[str | None, _flag("--routine", "The routine that made the diff.", _DIFF)] = None,
    target: Annotated[str | None, _flag("--target", "The request or branch that it is for.", _DIFF)] = None,
    previous: Annotated[str | None, _flag("--previous", "The case whose needs_revision it answers.", _DIFF)] = None,
    policy: Annotated[Path | None, _flag("--policy", "What the routine may do.", _DIFF, "FILE")] = None,
    dod: Annotated[Path | None, _flag("--dod", "The routine's definition of done.", _DIFF, "FILE")] = None,
) -> Context:
    """A checked context. The folders become absolute, since workers have working folders of their own."""
    given: dict[str, Any] = {
        "ref": ref,
        "risk": risk,
        "workspace": _absolute(workspace),
        "memory": _absolute(memory),
        "expertise": _absolute(expertise),
        "type": type_,
        "code_verdict": code_verdict,
        "touches": touches or None,
        "ambiguous": ambiguous,
        "change_kind": change_kind,
        "risk_score": risk_score,
        "skip_optional": skip_optional,
        "routine": routine,
        "target": target,
        "previous": previous,
        "policy": _text(policy),
        "dod": _text(dod),
    }
    try:
        return parse_context({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise contract_error(error) from error


def with_context(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the context's flags in place of its parameter ``context``.

    Raises, when called:
        ContractError: a flag's value is not of the agreed form, or a file cannot be read.
    """
    flags = inspect.signature(_context).parameters
    own = inspect.signature(command).parameters

    @wraps(command)
    def run(**arguments: Any) -> None:
        given = {name: arguments.pop(name) for name in flags}
        command(**arguments, context=_context(**given))

    parameters = [*(parameter for name, parameter in own.items() if name != "context"), *flags.values()]
    by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in by_keyword}
    return run


def _absolute(path: Path | None) -> str | None:
    return None if path is None else str(path.expanduser().absolute())


def _text(path: Path | None) -> str | None:
    return None if path is None else read_document(path, CONTEXT_TEXT_LIMIT * _UTF8_MAX)
