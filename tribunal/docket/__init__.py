"""The open cases in Redis: votes, leases, due times, events; and the same as Celery's result backend."""

from tribunal.docket.docket import Ballot, Began, Dispatch, Docket, Event, Frozen, Opened, Plan, parse_event

__all__ = ["Ballot", "Began", "Dispatch", "Docket", "Event", "Frozen", "Opened", "Plan", "parse_event"]
