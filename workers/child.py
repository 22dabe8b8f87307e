"""The process that a function judge runs in: kept between cases, killed at the limit, replaced when it dies.

Started by :mod:`workers.process` as ``python -P -m workers.child <fd> <parent's pid> <module:function> [folder]``. The
pipe is a socket pair of its own: what a judge prints goes to the worker's log and cannot be taken for a vote.
"""

import importlib
import inspect
import json
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from tribunal.judging import Abstain, Packet, is_judge
from tribunal.local.tied import die_with
from tribunal.redaction import redact
from tribunal.strict_json import salvage

ANSWER_LIMIT = 2 * 1024 * 1024
"""Largest answer of a judge that is passed on as it is, in bytes of JSON in ASCII."""


def load(reference: str, folder: str | None) -> Any:
    """The judge that ``module:function`` names; ``folder`` (the configuration's) is looked in last.

    Raises:
        ImportError, AttributeError, TypeError: there is none, or it was not decorated.
    """
    if folder and folder not in sys.path:
        sys.path.append(folder)
    module, _, name = reference.partition(":")
    found = getattr(importlib.import_module(module), name)
    if not is_judge(found):
        raise TypeError(f"{reference} is not decorated with @judge")
    return found


def reply_of(result: Any) -> dict[str, Any]:
    """What a judge returned, as its reply: ``{"answer": …}`` or ``{"abstain": reason}``.

    An object that is no JSON (NaN, a lone surrogate, bytes) or too large comes as an answer with the status ``error``,
    the reason, and what can be kept of it: what a judge flagged must be heard (I9). Anything else of that kind is a
    fault, like an exception.
    """
    if isinstance(result, Abstain):
        return {"abstain": said(result.reason)}
    try:
        text = json.dumps(result, allow_nan=False)
        answer = json.loads(text)
        json.dumps(answer, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return _mended(result, error)
    if len(text) > ANSWER_LIMIT:
        return _mended(result, ValueError(f"an answer of at most {ANSWER_LIMIT:,} bytes expected; {len(text):,} came"))
    return {"answer": answer}


def _mended(result: Any, error: Exception) -> dict[str, Any]:
    kept = salvage(result)
    fault = fault_of(error)
    if not isinstance(kept, dict):
        return fault
    own = kept.get("reason") or kept.get("reasoning")
    reason = f"{fault['error']}; the judge said: {own}" if isinstance(own, str) else fault["error"]
    return {"answer": {**kept, "status": "error", "reason": said(reason)}}


def fault_of(error: BaseException) -> dict[str, Any]:
    """What a judge raised, as its reply: ``{"error": …, "retryable": …}``."""
    return {"error": said(f"{type(error).__name__}: {error}"), "retryable": bool(getattr(error, "retryable", False))}


def said(text: str) -> str:
    """A judge's words as a reason: bounded, and without what is no UTF-8."""
    return text[:500].encode("utf-8", "backslashreplace").decode()


def main() -> None:
    """Serve packets until the worker closes the pipe."""
    fd, parent, reference, *folder = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe = Connection(fd)
    own = os.getpid()
    try:
        judge = load(reference, folder[0] if folder else None)
    except Exception as error:  # noqa: BLE001  # told to the worker, which says so and stops
        pipe.send_bytes(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        return
    pipe.send_bytes(json.dumps({"asynchronous": inspect.iscoroutinefunction(judge)}).encode())
    while True:
        try:
            packet = pipe.recv_bytes()
        except EOFError:
            return
        try:
            reply = reply_of(judge(Packet.model_validate_json(packet)))
        except Exception as error:  # noqa: BLE001  # whatever a judge raises costs its own vote only (I6)
            # The vote has one line; whoever mends the judge finds the rest in the worker's log.
            print(redact(traceback.format_exc()), file=sys.stderr, flush=True)
            reply = fault_of(error)
        if os.getpid() != own:
            os._exit(0)  # a judge forked, and this is the copy: it has no say
        pipe.send_bytes(json.dumps(reply).encode())


if __name__ == "__main__":
    main()
