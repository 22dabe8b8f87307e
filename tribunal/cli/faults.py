"""How a command ends: faults as one line, a closed pipe without any, the exit code of each."""

import json
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from tribunal.errors import TribunalError

PIPE_CLOSED = 141
"""Exit code when the reader of our output went away: what the shell shows of a program that SIGPIPE ended."""
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def told(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with its faults told to the user instead of raised.

    A fault is ``error: …`` on standard error and its own exit code. With ``--json`` standard output gets it too, as
    an object with the key ``error``, so that a program that reads there always gets an object.
    """

    @wraps(command)
    def run(**arguments: Any) -> None:
        try:
            command(**arguments)
            sys.stdout.flush()
        except TribunalError as error:
            tell(error, as_json=arguments.get("as_json") is True)
            raise typer.Exit(error.exit_code) from error
        except BrokenPipeError as error:
            drop_output()
            raise typer.Exit(PIPE_CLOSED) from error
        except OSError as error:
            # A folder that is a file, a full disk, a closed stream: the system's words say enough.
            tell(TribunalError(f"{error}; check the path, its mode and the disk"), as_json=False)
            drop_output()
            raise typer.Exit(TribunalError.exit_code) from error

    return run


def tell(error: TribunalError, *, as_json: bool) -> None:
    """Tell a fault."""
    if as_json:
        fault = {
            "error": str(error),
            "kind": type(error).__name__,
            "retryable": error.retryable,
            "exit_code": error.exit_code,
        }
        print(json.dumps(fault), flush=True)
    warn(str(error), word="error")


def warn(message: str, *, word: str = "warning") -> None:
    """A line for the user on standard error, without what a terminal would obey."""
    print(f"{word}: {printable(message)}", file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """The text without control characters and direction marks, which a terminal would obey; line breaks and tabs stay.

    What judges and drafts say is data (I9).
    """
    return _OBEYED.sub("\ufffd", text.replace("\r\n", "\n"))


def drop_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not complain at its end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
