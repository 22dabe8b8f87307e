"""JSON from outside, read strictly: what two readers could take differently is no JSON here."""

import json
import math
from typing import Any, NoReturn, cast

from tribunal.errors import ContractError

_DEPTH = 100


def read_object(text: str) -> dict[str, Any]:
    """One JSON object, read strictly: no key twice, no NaN or infinity, no lone surrogate, at most 100 levels deep.

    Raises:
        ContractError: it is none.
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ContractError(f"at most {_DEPTH} levels of nesting expected; more came") from None
    except UnicodeEncodeError as error:
        raise ContractError(f"valid Unicode expected; a lone surrogate came ({error.reason})") from error
    except ValueError as error:
        raise ContractError(f"one JSON object expected: {error}") from error
    if not isinstance(value, dict):
        raise ContractError(f"one JSON object expected; {type(value).__name__} came")
    _check_depth(cast("dict[str, object]", value))
    return cast("dict[str, Any]", value)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'the key "{key}" came twice; once is enough')
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a number of at most about 1.8e308 expected; {text[:40]} came")
    return value


def _check_depth(value: object) -> None:
    level, items = 0, [value]
    while items:
        level += 1
        if level > _DEPTH:
            raise ContractError(f"at most {_DEPTH} levels of nesting expected; more came")
        items = [inner for item in items for inner in _inside(item)]


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(cast("dict[str, object]", value).values())
    return cast("list[object]", value) if isinstance(value, list) else []
