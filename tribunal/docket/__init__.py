"""The open cases in Redis: votes, leases, due times, events; and the same as Celery's result backend."""

from tribunal.docket.docket import ALIVE_MS, Docket
from tribunal.docket.records import (
    LAST_EVENTS,
    Ballot,
    Began,
    Dispatch,
    Event,
    Frozen,
    Opened,
    Plan,
    SeatDue,
    parse_event,
)

__all__ = [
    "ALIVE_MS",
    "LAST_EVENTS",
    "Ballot",
    "Began",
    "Dispatch",
    "Docket",
    "Event",
    "Frozen",
    "Opened",
    "Plan",
    "SeatDue",
    "parse_event",
]
