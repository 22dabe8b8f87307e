"""Panels and judges from ``tribunal.toml`` over the built-in ones, checked as a whole."""

import json
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from tribunal.errors import ConfigurationError, did_you_mean
from tribunal.panels import Catalogue, JudgeConfig, Panel, Seat
from tribunal.procedures import PROCEDURES
from tribunal.settings import read_toml

ENTRY_POINTS = "tribunal.judges"
_TABLES = ("settings", "panels", "judges")

_Table = Mapping[str, Any]
_Model = TypeVar("_Model", bound=BaseModel)


def _seat(name: str, timeout: float, weight: str = "1", stage: int = 1) -> dict[str, Any]:
    return {"name": name, "judge": name, "timeout": timeout, "weight": weight, "stage": stage}


BUILTIN_PANELS: Mapping[str, _Table] = {
    "recommendation": {
        "procedure": "recommendation",
        "answer_within": 3,
        "seats": [
            _seat("memory-conflict", 2.4),
            _seat("rule-violation", 2.4),
            _seat("hallucination-fast", 2.4),
            _seat("expertise-asymmetry", 2.4, weight="0"),
        ],
    },
    "consensus": {
        "procedure": "consensus",
        "answer_within": 120,
        "seats": [
            _seat("reflection-validator", 40, weight="0.3"),
            _seat("code-reviewer", 40, weight="0.3"),
            _seat("business-analyst", 40, weight="0.2"),
            _seat("performance-auditor", 40, weight="0.2"),
        ],
    },
    "routine-review": {
        "procedure": "routine-review",
        "answer_within": 900,
        "stage_share": 400,
        "seats": [_seat("mimir", 400), _seat("forseti", 400), _seat("thor", 490, stage=2)],
    },
}
BUILTIN_JUDGES: Mapping[str, _Table] = {
    name: {"function": f"workers.judges.{name.replace('-', '_')}:{name.replace('-', '_')}"}
    for name in ("memory-conflict", "rule-violation", "hallucination-fast", "expertise-asymmetry")
}
_BUILTIN_SEATED = {seat["judge"] for panel in BUILTIN_PANELS.values() for seat in panel["seats"]}


def builtin_catalogue() -> Catalogue:
    """The three panels and four judges that come with Tribunal."""
    return _build({}, "built-in")


def load_catalogue(path: Path | None) -> Catalogue:
    """The panels and judges of a ``tribunal.toml`` over the built-in ones; without a file, the built-in ones.

    A table of a built-in panel's name changes that panel: ``options`` are merged, ``seats`` replaced.

    Raises:
        ConfigurationError: with every fault that was found, a line each, and the nearest known name.
    """
    if path is None:
        return builtin_catalogue()
    tables = read_toml(path)
    return _build(tables, str(path))


def _build(tables: _Table, source: str) -> Catalogue:
    faults = [f'unknown table "{name}"{did_you_mean(name, _TABLES)}' for name in tables if name not in _TABLES]
    installed = {point.name: {"function": point.value} for point in entry_points(group=ENTRY_POINTS)}
    judge_tables = _merged({**installed, **BUILTIN_JUDGES}, tables.get("judges", {}), "judges", faults)
    judges: dict[str, JudgeConfig] = {}
    for name, table in judge_tables.items():
        judge = _parse(JudgeConfig, {**table, "name": name}, f"judges.{name}", faults)
        if judge:
            judges[name] = judge
    panel_tables = _merged(BUILTIN_PANELS, tables.get("panels", {}), "panels", faults)
    panels: dict[str, Panel] = {}
    for name, table in panel_tables.items():
        panel = _panel(name, table, set(judge_tables), faults)
        if panel:
            panels[name] = panel
    if faults:
        raise ConfigurationError(f"{source}:\n" + "\n".join(f"  {fault}" for fault in faults))
    return Catalogue(panels=panels, judges=judges)


def _merged(built_in: _Table, given: Any, where: str, faults: list[str]) -> dict[str, dict[str, Any]]:
    merged = {name: dict(table) for name, table in built_in.items()}
    if not isinstance(given, dict):
        faults.append(f"[{where}] must be a table of tables; {type(given).__name__} came")
        return merged
    for name, table in cast("dict[str, Any]", given).items():
        if not isinstance(table, dict):
            faults.append(f"[{where}.{name}] must be a table; {type(table).__name__} came")
            continue
        known = merged.get(name, {})
        options: Any = cast("dict[str, Any]", table).get("options", {})
        both = cast("Any", {**known.get("options", {}), **options} if isinstance(options, dict) else options)
        merged[name] = {**known, **table, **({"options": both} if both else {})}
    return merged


def _panel(name: str, table: dict[str, Any], judges: set[str], faults: list[str]) -> Panel | None:
    where = f"panels.{name}"
    procedure = PROCEDURES.get(str(table.get("procedure")))
    if procedure is None:
        given = table.get("procedure")
        faults.append(
            f'{where}: unknown procedure "{given}"{did_you_mean(str(given), PROCEDURES)}'
            if given is not None
            else f"{where}: needs procedure, one of {', '.join(sorted(PROCEDURES))}"
        )
        return None
    seats: Any = table.get("seats", [])
    if not isinstance(seats, list):
        faults.append(f"{where}.seats: a list of tables ([[{where}.seats]]) expected; {type(seats).__name__} came")
        return None
    parsed: list[Seat] = []
    for index, seat in enumerate(cast("list[Any]", seats)):
        if not isinstance(seat, dict):
            faults.append(f"{where}.seats[{index}]: a table expected; {type(seat).__name__} came")
            return None
        entry = dict(cast("dict[str, Any]", seat))
        weight = entry.get("weight")
        if isinstance(weight, int | float) and not isinstance(weight, bool):
            entry["weight"] = str(weight)
        entry.setdefault("judge", entry.get("name"))
        one = _parse(Seat, entry, f"{where}.seats[{index}]", faults)
        if one is None:
            return None
        if one.judge not in judges | _BUILTIN_SEATED:
            faults.append(f'{where}.seats[{index}]: unknown judge "{one.judge}"{did_you_mean(one.judge, judges)}')
        parsed.append(one)
    names = [seat.name for seat in parsed]
    faults.extend(f'{where}: seat "{twice}" stands twice' for twice in {n for n in names if names.count(n) > 1})
    unseated = tuple(sorted({seat.judge for seat in parsed} - judges))
    whole = {**table, "name": name, "seats": [seat.model_dump() for seat in parsed], "unseated": unseated}
    panel = _parse(Panel, whole, where, faults)
    if panel is None:
        return None
    longest = panel.answer_within - panel.margin
    faults.extend(
        f"{where}: seat {seat.name} has a timeout of {seat.timeout:g} s, but the panel decides after {longest:g} s"
        for seat in panel.seats
        if seat.timeout > longest
    )
    if _parse(procedure.Options, panel.options, f"{where}.options", faults) is not None:
        faults.extend(f"{where}: {fault}" for fault in procedure.check_panel(panel))
    return panel


def _parse(model: type[_Model], table: _Table, where: str, faults: list[str]) -> _Model | None:
    """A table as a model. Through JSON, since strict models take a list for a tuple only there."""
    try:
        text = json.dumps(dict(table), allow_nan=False)
    except (TypeError, ValueError) as error:
        faults.append(f"{where}: {error}; dates, nan and inf are no values here")
        return None
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        for fault in error.errors():
            field = ".".join(str(part) for part in fault["loc"])
            if fault["type"] == "extra_forbidden":
                faults.append(f'{where}: unknown key "{field}"{did_you_mean(field, model.model_fields)}')
            else:
                faults.append(f"{where}.{field}: {fault['msg']}; {fault['input']!r} came")
        return None
