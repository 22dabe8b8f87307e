"""Lineages: a routine's diffs for one target, round after round. Their state is the server's (I9)."""

import unicodedata

from tribunal.errors import ContractError
from tribunal.model import Case, canonical, sha256

PROCEDURE = "routine-review"


def lineage_of(case: Case, procedure: str) -> str:
    """The lineage of a case: hex sha256 of panel, routine and target; '' where it has none.

    A case without ``target`` and ``ref`` has no lineage but that of ``previous``, which the docket knows.

    Raises:
        ContractError: a routine-review case names no routine, or another panel's case names ``previous``.
    """
    context = case.context
    if procedure != PROCEDURE:
        if context.previous:
            raise ContractError(f'panel "{case.panel}" has no rounds; leave previous out')
        return ""
    if not context.routine:
        raise ContractError(f'panel "{case.panel}" needs the routine that made the diff: context.routine (--routine)')
    target = _plain(context.target or context.ref or "")
    if not target:
        return "" if context.previous else sha256(canonical([case.panel, context.routine, None, case.case_id]))
    return sha256(canonical([case.panel, context.routine, target]))


def _plain(target: str) -> str:
    """A target without what cannot be seen: spaces around it, other forms of the same letter, zero-width characters."""
    letters = unicodedata.normalize("NFKC", target)
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Cf").strip()
