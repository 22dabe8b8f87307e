"""The procedures by name: the functional core."""

from tribunal.errors import ConfigurationError, did_you_mean
from tribunal.procedures.base import Convene, Outcome, Procedure, Rendering, Undecided, read_vote, stricter
from tribunal.procedures.consensus import Consensus
from tribunal.procedures.recommendation import Recommendation
from tribunal.procedures.routine_review import RoutineReview

PROCEDURES: dict[str, Procedure] = {
    procedure.name: procedure for procedure in (Recommendation(), Consensus(), RoutineReview())
}


def procedure_named(name: str) -> Procedure:
    """The procedure of that name.

    Raises:
        ConfigurationError: there is none.
    """
    if name not in PROCEDURES:
        raise ConfigurationError(f'unknown procedure "{name}"{did_you_mean(name, PROCEDURES)}')
    return PROCEDURES[name]


__all__ = [
    "PROCEDURES",
    "Convene",
    "Outcome",
    "Procedure",
    "Rendering",
    "Undecided",
    "procedure_named",
    "read_vote",
    "stricter",
]
