"""JSON from outside, read strictly: what two readers could take differently is no JSON here.

And :func:`salvage`, for what is no such JSON and yet must be heard.
"""

import json
import math
from typing import Any, NoReturn, cast

from pydantic import JsonValue

from tribunal.errors import ContractError

_DEPTH = 100
_KEPT_DEPTH = 20
_KEPT_SIZE = 64 * 1024
_KEPT_TEXT = 4_000
_KEPT_BITS = 1_024


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
    check_depth(cast("dict[str, object]", value))
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


def check_depth(value: object) -> None:
    """Refuse what is nested deeper than every reader of ours can follow.

    Raises:
        ContractError: it is.
    """
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


def salvage(value: object) -> JsonValue:
    """What can be kept as JSON of a value that is none, or too large. Never raises.

    Lone surrogates become backslash escapes, NaN and infinity their names, what has no place in JSON the name of its
    type. Beyond 20 levels and 64 Ki characters it is cut; of an object, true and false are kept first, so that no flag
    is lost to that.
    """
    return _Salvage().json(value, _KEPT_DEPTH)


class _Salvage:
    def __init__(self) -> None:
        self._left = _KEPT_SIZE

    def json(self, value: object, levels: int) -> JsonValue:
        self._left -= 1
        foreign = f"({type(value).__name__})"
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int) and value.bit_length() <= _KEPT_BITS:
            return int(value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else str(float(value))
        if isinstance(value, dict) and levels:
            return self._object(cast("dict[object, object]", value), levels - 1)
        if isinstance(value, list | tuple) and levels:
            return self._array(cast("list[object]", value), levels - 1)
        return foreign

    def _text(self, text: str) -> str:
        kept = text[: max(0, min(_KEPT_TEXT, self._left))].encode("utf-8", "backslashreplace").decode()
        self._left -= len(kept)
        return kept

    def _object(self, value: dict[object, object], levels: int) -> dict[str, JsonValue]:
        kept: dict[str, JsonValue] = {}
        for key, item in sorted(value.items(), key=lambda pair: not isinstance(pair[1], bool)):
            if self._left <= 0:
                break
            if isinstance(key, str):
                kept[self._text(key)] = self.json(item, levels)
        return kept

    def _array(self, value: list[object], levels: int) -> list[JsonValue]:
        kept: list[JsonValue] = []
        for item in value:
            if self._left <= 0:
                break
            kept.append(self.json(item, levels))
        return kept
