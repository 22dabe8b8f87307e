"""hallucination-fast: does what the draft names exist?

Paths, functions and modules are looked up in the case's workspace, flags in the help of their tools, within 800 ms
(option ``budget_ms``). What could not be looked up is said to be unverified and never called fabricated.
"""

import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from pydantic import JsonValue

from tribunal.errors import ConfigurationError
from tribunal.judging import Abstain, Packet, judge
from tribunal.model import Answer
from tribunal.redaction import redact
from workers.judges.budget import Budget
from workers.judges.commands import documented, known_flags
from workers.judges.entities import BUILT, UNSURE, Entity, entities
from workers.judges.files import UnreadableError, real_folder
from workers.judges.text import excerpt
from workers.judges.tool_help import help_text
from workers.judges.workspace import Found, Workspace

BUDGET_MS = 800
READ_PER_MS = 160
"""A draft longer than so many characters a millisecond of the budget is not begun: masking its credentials alone, which
cannot be stopped half way, takes up to 2.5 microseconds a character."""
FABRICATED_SCORE = 50
"""The score is at most this where anything is fabricated."""
VETO_CONFIDENCE = 0.9
"""From here on a fabricated entity blocks the draft."""
DOUBT_CONFIDENCE = 0.7
"""From here on it makes the panel warn; below, it only costs score."""
DOUBT = 0.75
"""The vote's confidence where no entity blocks: a veto that is a doubt to the panel."""
UNSURE_CONFIDENCE = 0.7
UNROOTED_CONFIDENCE = 0.75
"""Of a path whose first folder the workspace does not have: perhaps it is a path of something else."""
BARE_OWNERS = ("self", "this", "cls", "super")
VARIABLES = ("api", "app", "bot", "cli", "client", "config", "core", "db", "server", "session", "settings", "store")
"""Usual names of variables: ``app.state.load()`` is no function of a package ``app``."""


class Looked(NamedTuple):
    """An entity and what became of it."""

    entity: Entity
    found: Found
    how: str
    """Where it was looked for, or why it was not."""
    closest: str | None = None


@judge
def hallucination_fast(packet: Packet) -> Answer | Abstain:
    """Finds paths, functions and flags in the draft that do not exist."""
    return examine(packet)


def examine(packet: Packet, clock: Callable[[], float] = time.monotonic) -> Answer | Abstain:
    """The judge, by a clock of one's own."""
    milliseconds = budget_ms(packet.options)
    seconds = min(milliseconds / 1000, packet.seconds)
    budget = Budget(seconds, clock)
    readable = int(1000 * seconds * READ_PER_MS)
    if len(packet.subject) > readable:
        return Abstain(reason=f"only {readable} characters can be read in time; the draft has {len(packet.subject)}")
    named = entities(redact(packet.subject), lambda: budget.spent)
    if budget.spent:
        return Abstain(reason=f"the draft could not be read within {milliseconds} ms")
    if not named:
        return _answer([], [])
    workspace, why_not = _open(packet.context.workspace, budget)
    looked = [
        *_look_at_paths([entity for entity in named if entity.cls == "path"], workspace, why_not, budget),
        *_look_at_modules([entity for entity in named if entity.cls == "module"], workspace, budget),
        *_look_at_functions([entity for entity in named if entity.cls == "function"], workspace, why_not, budget),
        *_look_at_flags([entity for entity in named if entity.cls == "flag"], workspace, budget),
    ]
    inside = [one for one in looked if one.found is not Found.OUTSIDE]
    told = [one for one in inside if one.found is not Found.UNKNOWN]
    unknown = [one for one in inside if one.found is Found.UNKNOWN]
    if unknown and not told:
        return Abstain(reason=f"nothing could be looked up: {_list_unknown(unknown)}")
    return _answer(told, unknown)


def budget_ms(options: Mapping[str, JsonValue]) -> int:
    """The option ``budget_ms``, 800 by default.

    Raises:
        ConfigurationError: it is no whole number from 1 to 60000, or there is another option.
    """
    value = options.get("budget_ms", BUDGET_MS)
    if (
        set(options) - {"budget_ms"}
        or not isinstance(value, int)
        or isinstance(value, bool)
        or not 1 <= value <= 60_000
    ):
        raise ConfigurationError(
            f'hallucination-fast takes the option "budget_ms", 1 to 60000; {excerpt(str(dict(options)))} came'
        )
    return value


def _open(folder: str | None, budget: Budget) -> tuple[Workspace | None, str]:
    if folder is None:
        return None, "no workspace was given"
    try:
        return Workspace(real_folder(folder), budget), ""
    except UnreadableError as error:
        return None, str(error)


def _look_at_paths(named: list[Entity], workspace: Workspace | None, why_not: str, budget: Budget) -> list[Looked]:
    looked: list[Looked] = []
    for entity in named:
        if workspace is None:
            if entity.certain > BUILT and not entity.name.startswith(("/", "~")):
                looked.append(Looked(entity, Found.UNKNOWN, why_not))
            continue
        if entity.certain <= BUILT and not workspace.has_folder(entity.name.split("/")[0]):
            continue
        if budget.spent:
            looked.append(Looked(entity, Found.UNKNOWN, "the budget ran out"))
            continue
        found = workspace.find_path(entity.name)
        how = f"looked up in the workspace ({len(workspace.files)} entries)"
        if found is Found.UNKNOWN:
            how = "the workspace was not listed whole"
        closest = workspace.closest_path(entity.name) if found is Found.ABSENT else None
        most = 1.0 if workspace.is_rooted(entity.name) else UNROOTED_CONFIDENCE
        looked.append(Looked(_sure(entity, most), found, how, closest))
    return looked


def _sure(entity: Entity, most: float = 1.0) -> Entity:
    """The entity with the certainty that it has where the workspace could have it."""
    certain = UNSURE_CONFIDENCE if entity.certain == UNSURE else entity.certain
    return entity._replace(certain=min(certain, most))


def _look_at_modules(named: list[Entity], workspace: Workspace | None, budget: Budget) -> list[Looked]:
    """Modules of the workspace's own packages; no other can be told from an installed one."""
    looked: list[Looked] = []
    for entity in named:
        if workspace is None or not workspace.has_package(entity.name.split(".")[0]):
            continue
        found = Found.UNKNOWN if budget.spent else workspace.find_path(entity.name.replace(".", "/"))
        how = f"looked up in the workspace ({len(workspace.files)} entries)"
        if found is Found.UNKNOWN:
            how = "the budget ran out" if budget.spent else "the workspace was not listed whole"
        looked.append(Looked(_sure(entity), found, how))
    return looked


def _look_at_functions(named: list[Entity], workspace: Workspace | None, why_not: str, budget: Budget) -> list[Looked]:
    if workspace is None or not named:
        return [Looked(entity, Found.UNKNOWN, why_not) for entity in named if entity.certain != UNSURE]
    words = workspace.find_words({entity.name.rpartition(".")[2] for entity in named})
    looked: list[Looked] = []
    for entity in named:
        owner, _, last = entity.name.rpartition(".")
        found, how = words[last], "searched for in the workspace's sources"
        if not _may_own(workspace, owner, entity):
            # A library's own: the workspace has nothing to say about it.
            found = Found.OUTSIDE if found is Found.ABSENT or entity.certain == UNSURE else found
        elif found is Found.ABSENT and _is_module(workspace, entity.name):
            found = Found.PRESENT
        if found is Found.UNKNOWN:
            how = "the budget ran out" if budget.spent else "the sources were not read whole"
        closest = workspace.closest_definition(last) if found is Found.ABSENT else None
        looked.append(Looked(_sure(entity), found, how, closest))
    return looked


def _may_own(workspace: Workspace, owner: str, entity: Entity) -> bool:
    """Whether the function's owner is of the workspace: bare, defined there, or a module of a package there."""
    first = owner.split(".")[0]
    if first in ("", *BARE_OWNERS) or workspace.defines(owner):
        return True
    known = entity.certain == UNSURE or first not in VARIABLES
    return workspace.has_package(first) and (known or ("." in owner and _is_module(workspace, owner)))


def _is_module(workspace: Workspace, name: str) -> bool:
    return "." in name and workspace.find_path(name.replace(".", "/")) is Found.PRESENT


def _look_at_flags(named: list[Entity], workspace: Workspace | None, budget: Budget) -> list[Looked]:
    looked: list[Looked] = []
    for entity in named:
        if entity.flag is None:
            continue
        text = None if budget.spent else help_text(entity.flag.command, budget.left, workspace and workspace.root)
        if text is None:
            how = "the budget ran out" if budget.spent else f"{entity.flag.command[0]} gave no help here"
            looked.append(Looked(entity, Found.UNKNOWN, how))
            continue
        found = Found.PRESENT if documented(entity.flag, text) else Found.ABSENT
        closest = _closest_flag(entity.flag.name, text) if found is Found.ABSENT else None
        looked.append(Looked(entity, found, f"looked up in the help of {' '.join(entity.flag.command)}", closest))
    return looked


def _closest_flag(name: str, text: str) -> str | None:
    return next((f"--{near}" for near in get_close_matches(name.lstrip("-"), known_flags(text), n=1)), None)


def _answer(told: list[Looked], unknown: list[Looked]) -> Answer:
    """The vote on what was looked up; nothing of the kind in the draft gives no score."""
    fabricated = [one for one in told if one.found is Found.ABSENT]
    surest = max((one.entity.certain for one in fabricated), default=0.0)
    confidence = surest if surest >= VETO_CONFIDENCE else min(surest, DOUBT)
    return {
        "score": _score(len(told), len(fabricated)),
        "veto": surest >= DOUBT_CONFIDENCE,
        "confidence": confidence if fabricated else 0.6 if unknown else 0.9,
        "reason": _reason(told, fabricated, unknown),
        "fabricated": [
            {
                "entity": excerpt(one.entity.name),
                "class": one.entity.cls,
                "verification": one.how,
                "result": one.found.value,
                "closest_match": one.closest,
                "confidence": one.entity.certain,
            }
            for one in fabricated
        ],
    }


def _score(told: int, fabricated: int) -> int | None:
    if not told:
        return None
    share = 100 * (told - fabricated) // told
    return min(FABRICATED_SCORE, share) if fabricated else share


def _reason(told: list[Looked], fabricated: list[Looked], unknown: list[Looked]) -> str:
    if not told:
        return "the draft names no path, function or flag that can be looked up"
    if fabricated:
        said = f"not found: {', '.join(excerpt(one.entity.name, 80) for one in fabricated[:5])}"
    else:
        said = f"all {len(told)} named things exist" if len(told) > 1 else "the one named thing exists"
    return f"{said}; unverified: {_list_unknown(unknown)}" if unknown else said


def _list_unknown(unknown: list[Looked]) -> str:
    names = ", ".join(excerpt(one.entity.name, 80) for one in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    causes = ", ".join(dict.fromkeys(one.how for one in unknown))
    return f"{names}{more} ({causes})"
