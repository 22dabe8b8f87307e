"""The ledger: the database of sealed verdicts and their votes, and who has read how far in it."""

from tribunal.ledger.ledger import (
    MARKS,
    REOPENED,
    CaseRecord,
    FollowUp,
    Ledger,
    Lineage,
    Mark,
    RecordedVote,
    Sealed,
)

__all__ = [
    "MARKS",
    "REOPENED",
    "CaseRecord",
    "FollowUp",
    "Ledger",
    "Lineage",
    "Mark",
    "RecordedVote",
    "Sealed",
]
