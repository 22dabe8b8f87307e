"""The docket: every write is one script, so that each step of a case happens whole or not at all."""

import json
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from redis.exceptions import RedisError

from tribunal.docket.connection import Durability, connect, durability, pairs, unavailable
from tribunal.docket.records import (
    LAST_EVENTS,
    STAGES,
    Ballot,
    Began,
    Dispatch,
    Event,
    Frozen,
    Opened,
    Plan,
    SeatDue,
    frozen_case,
    parse_event,
)
from tribunal.errors import Conflict, ContractError, StoreUnavailable, did_you_mean
from tribunal.model import Answered, Case, Context, Stage, Verdict, Vote, VoteStatus
from tribunal.panels import Panel
from tribunal.procedures.base import Facts
from tribunal.wire import Names

if TYPE_CHECKING:
    import redis

ALIVE_MS = 10_000
"""A process that has not been seen for so long counts as gone; it says so every third of it."""
_SCRIPTS = (
    "open",
    "begin",
    "renew",
    "vote",
    "fail",
    "take_due",
    "seat_due",
    "freeze",
    "convene",
    "close",
    "answer",
    "restore",
    "reopen",
)

Voted = Literal["recorded", "complete", "decisive", "late", "repeat", "stale", "gone", "frozen", "voted", "retry"]


class Docket:
    """The open cases in one Redis or Valkey.

    Every method raises ``StoreUnavailable`` where the server does not answer.
    """

    def __init__(
        self, url: str, *, namespace: str = "tribunal", wait_aof_ms: int = 1000, client: "redis.Redis | None" = None
    ) -> None:
        self.url = url
        self.names = Names(namespace)
        self._wait_aof_ms = wait_aof_ms
        self._durability: Durability | None = None
        # Any: redis-py's own annotations are partly unknown.
        self._redis: Any = client if client is not None else connect(url)
        source = files("tribunal.docket").joinpath("scripts")
        common = source.joinpath("common.lua").read_text(encoding="utf-8")
        self._scripts = {
            name: self._redis.register_script(common + source.joinpath(f"{name}.lua").read_text(encoding="utf-8"))
            for name in _SCRIPTS
        }

    def close(self) -> None:
        """Close the connections."""
        self._redis.close()

    @contextmanager
    def _guard(self) -> Generator[None]:
        try:
            yield
        except RedisError as error:
            raise unavailable(self.url, error) from error

    def _run(self, script: str, *args: str | int) -> Any:
        with self._guard():
            return self._scripts[script](keys=[self.names.namespace], args=args)

    # Panels

    def publish_panels(self, panels: Iterable[Panel]) -> None:
        """Replace the published panels, all at once."""
        plans = {panel.name: Plan.of(panel).text for panel in panels}
        with self._guard(), self._redis.pipeline(transaction=True) as pipe:
            pipe.delete(self.names.key("panels"))
            pipe.hset(self.names.key("panels"), mapping=plans)
            pipe.execute()

    def plan(self, panel: str) -> Plan:
        """The published plan of a panel.

        Raises:
            ContractError: none is published under that name.
        """
        with self._guard():
            text: str | None = self._redis.hget(self.names.key("panels"), panel)
            known: list[str] = [] if text else self._redis.hkeys(self.names.key("panels"))
        if text is None:
            raise _unknown_panel(panel, known)
        return Plan.parse(text)

    def published(self) -> bool:
        """Whether panels are published here: not in a Redis that came back empty."""
        with self._guard():
            return bool(self._redis.exists(self.names.key("panels")))

    def restore_lineage(self, lineage: str, last: str, outcome: str, round_: int, run: int, routine: str) -> None:
        """Put back a lineage that Redis lost: its last case, that one's outcome, and ``<panel>/<routine>``."""
        self._run("restore", lineage, last, outcome, round_, run, routine)

    def reopen_lineage(self, lineage: str, last: str) -> None:
        """Forget a lineage that case ``last`` escalated, so that its target starts again with round 1."""
        self._run("reopen", lineage, last)

    # A case's way

    def open(self, case: Case, plan: Plan, facts: Facts, lineage: str) -> Opened | Plan:
        """Open a case; the same id and content again changes nothing. A plan is the newer one to try again with.

        Raises:
            ContractError: the panel is unknown, or ``previous`` does not fit.
            Conflict: the id was used for other content, or the lineage does not take this case.
            StoreUnavailable: not acknowledged; submit the same id again.
        """
        header = json.dumps(
            {
                "case_id": case.case_id,
                "schema_version": case.schema_version,
                "panel": case.panel,
                "panel_version": plan.panel.version,
                "digest": case.digest,
                "lineage": lineage,
                "previous": case.context.previous or "",
                "routine": case.context.routine or "",
                "skip": "skip" in facts,
                "subject_sha256": case.subject_hash,
                "subject_bytes": len(case.subject.encode()),
            }
        )
        if self._wait_aof_ms and self._durability is None:
            self._durability = durability(self._redis, self.url)
        args = (header, case.context.model_dump_json(), json.dumps(dict(facts)), case.subject)
        with self._guard(), self._redis.pipeline(transaction=False) as pipe:
            self._scripts["open"](keys=[self.names.namespace], args=args, client=pipe)
            if self._durability is Durability.WAITAOF:
                pipe.execute_command("WAITAOF", 1, 0, self._wait_aof_ms)
            answer, *acknowledged = pipe.execute()
        kind, *rest = answer
        match kind:
            case "opened" | "exists":
                if acknowledged and acknowledged[0][0] < 1:
                    raise StoreUnavailable(
                        f"Redis did not acknowledge case {case.case_id} within {self._wait_aof_ms} ms; "
                        "submit it again with the same id"
                    )
                opened_at = int(rest[0])
                dispatch = Dispatch(tuple(pairs(rest[2])), opened_at)
                return Opened(case.case_id, opened_at, int(rest[1]), dispatch, existed=kind == "exists")
            case "stale":
                return Plan.parse(rest[0])
            case "unknown":
                raise _unknown_panel(case.panel, rest[0])
            case "conflict":
                raise Conflict(f"case {case.case_id} was submitted before with other content; use a new id")
            case _:
                raise _lineage_conflict(case, *rest)

    def begin(self, case_id: str, stage: int, seat: str, token: str, sent: int) -> Began | None:
        """Begin an attempt at a seat, whose task was ``sent`` then; None where there is nothing to do."""
        kind, *rest = self._run("begin", case_id, stage, seat, token, sent)
        if kind != "begun":
            return None
        attempt, milliseconds, lease_ms, panel, procedure, judge, context, history, subject = rest
        return Began(
            attempt=int(attempt),
            milliseconds=int(milliseconds),
            lease_ms=int(lease_ms),
            panel=panel,
            procedure=procedure,
            judge=judge,
            context=Context.model_validate_json(context),
            peers=tuple(vote for past in STAGES.validate_json(history) for vote in past.votes),
            subject=subject,
        )

    def renew(self, case_id: str, stage: int, seat: str, token: str) -> bool:
        """Renew a lease; False tells the judge to stop."""
        return self._run("renew", case_id, stage, seat, token) == "renewed"

    def vote(self, case_id: str, stage: int, token: str, ballot: Ballot) -> Voted:
        """Record a seat's vote: the first stands (I5). ``complete`` and ``decisive`` tell to call the aggregator."""
        vote, decisive = ballot.vote, "1" if ballot.decisive else ""
        return self._run("vote", case_id, stage, vote.seat, token, vote.status.value, vote.model_dump_json(), decisive)

    def fail(self, case_id: str, stage: int, seat: str, token: str, reason: str) -> Voted:
        """Report a failed attempt. It counts only with the current lease's token."""
        return self._run("fail", case_id, stage, seat, token, reason)

    def take_due(self, limit: int = 100) -> list[str]:
        """What is due by now: case ids and task ids, each pushed a second ahead."""
        return self._run("take_due", limit)

    def seat_due(self, case_id: str, stage: int, seat: str, *, queue_empty: bool | None = None) -> SeatDue:
        """What to do about a seat that is due; ``look`` asks to call again saying whether its queue is empty."""
        looked = "" if queue_empty is None else "1" if queue_empty else "0"
        action, *rest = self._run("seat_due", case_id, stage, seat, looked)
        return SeatDue(action, *rest[:1], *map(int, rest[1:]))

    def peek(self, case_id: str) -> Frozen | None:
        """A copy of a case as it stands: unfrozen seats that have not voted are ``open``. None where it is not open."""
        with self._guard():
            flat: dict[str, str] = self._redis.hgetall(self.names.key("case", case_id))
        if flat.get("status") == "deciding":
            return frozen_case(case_id, flat, "", Stage.model_validate_json(flat["frozen"]))
        if flat.get("status") != "open":
            return None
        stage = int(flat["stage"])
        votes: list[Vote] = []
        for seat in Plan.parse(flat["plan"]).panel.seats_of(stage):
            text = flat.get(f"{stage}:{seat.name}:vote")
            votes.append(
                Vote.model_validate_json(text)
                if text
                else Vote(seat=seat.name, judge=seat.judge, status=VoteStatus.OPEN)
            )
        return frozen_case(case_id, {**flat, "trigger": "early"}, "", Stage(stage=stage, votes=tuple(votes)))

    def freeze(self, case_id: str, hint: int | None = None) -> Frozen | None:
        """Freeze a case's votes if it may be decided now, or return the copy frozen before; else None."""
        kind, *rest = self._run("freeze", case_id, "" if hint is None else hint)
        if kind != "frozen":
            return None
        flat = dict(pairs(rest[0]))
        return frozen_case(case_id, flat, rest[1], Stage.model_validate_json(flat["frozen"]))

    def convene(self, frozen: Frozen, stage: int) -> Dispatch | Literal["already", "no time"]:
        """Open another stage on this freeze: what to dispatch, to one caller only."""
        kind, *rest = self._run("convene", frozen.case_id, stage, frozen.freeze)
        return Dispatch(tuple(pairs(rest[0])), int(rest[1])) if kind == "opened" else kind

    def close_case(self, verdict: Verdict) -> None:
        """Close a sealed case: the waiters wake, the subject is deleted, the rest goes after ten minutes."""
        self._run("close", verdict.case_id, verdict.model_dump_json(), verdict.decision.outcome)

    def close_conflict(self, case_id: str, sealed: Verdict) -> None:
        """Close a case whose id the ledger holds a verdict of, on other content: it gets none, and its waiters know."""
        self._run("close", case_id, "", str(sealed.seq))

    def answered(self, case_id: str) -> Answered | None:
        """What the caller of ``judge()`` was told before the seal."""
        with self._guard():
            text = self._redis.hget(self.names.key("case", case_id), "answered")
        return Answered.model_validate_json(text) if text else None

    def answer(self, case_id: str, note: Answered) -> Literal["noted", "closed", "gone"]:
        """Note on an open case what its caller was told."""
        return self._run("answer", case_id, note.model_dump_json())

    # Late votes

    def late(self, limit: int = 100) -> list[tuple[str, str, int, Vote]]:
        """Votes that came after their freeze: the raw entry, the case, the stage, the vote."""
        with self._guard():
            entries: list[str] = self._redis.lrange(self.names.key("late"), 0, limit - 1)
        rows: list[tuple[str, str, int, Vote]] = []
        for raw in entries:
            entry = json.loads(raw)
            vote = Vote.model_validate_json(json.dumps(entry["vote"]))
            rows.append((raw, entry["case_id"], entry["stage"], vote))
        return rows

    def forget_late(self, raw: str) -> None:
        """Drop a late vote that is in the ledger."""
        with self._guard():
            self._redis.lrem(self.names.key("late"), 1, raw)

    def postpone_late(self, raw: str) -> None:
        """Put a late vote behind the others."""
        with self._guard(), self._redis.pipeline(transaction=True) as pipe:
            pipe.lrem(self.names.key("late"), 1, raw)
            pipe.rpush(self.names.key("late"), raw)
            pipe.execute()

    # Events

    def events(self, case_id: str, *, timeout: float) -> Iterator[Event]:
        """A case's events from its first, as they come; ends after the verdict, or after ``timeout`` seconds.

        A case that is unknown (or closed more than ten minutes ago) has none.
        """
        stream, last = self.names.key("events", case_id), "0"
        until = time.monotonic() + timeout
        left = timeout
        while True:
            # A block stays below the socket's timeout; redis-py would take its end for a broken connection.
            block = max(1, min(1000, round(left * 1000)))
            with self._guard():
                reply: list[tuple[str, list[tuple[str, dict[str, str]]]]] = self._redis.xread(
                    {stream: last}, block=block
                )
            for entry_id, fields in reply[0][1] if reply else []:
                last = entry_id
                found = parse_event(fields)
                yield found
                if found.kind in LAST_EVENTS:
                    return
            left = until - time.monotonic()
            if left <= 0:
                return

    def known(self, case_id: str) -> bool:
        """Whether the docket holds the case, open or closed in the last ten minutes."""
        with self._guard():
            return bool(self._redis.exists(self.names.key("case", case_id)))

    def open_cases(self, limit: int = 100) -> list[tuple[str, str, int, int]]:
        """The newest open cases: id, panel, opened and deadline in milliseconds."""
        with self._guard():
            ids: list[str] = self._redis.zrevrange(self.names.key("open"), 0, limit - 1)
            with self._redis.pipeline(transaction=False) as pipe:
                for case_id in ids:
                    pipe.hmget(self.names.key("case", case_id), ["panel", "opened", "deadline"])
                rows: list[list[str | None]] = pipe.execute()
        return [
            (case_id, panel, int(opened), int(deadline))
            for case_id, (panel, opened, deadline) in zip(ids, rows, strict=True)
            if panel and opened and deadline
        ]

    def now_ms(self) -> int:
        """Redis's clock, in milliseconds since the epoch."""
        with self._guard():
            seconds, microseconds = self._redis.time()
        return seconds * 1000 + microseconds // 1000

    # Who is alive

    def announce(self, member: str) -> None:
        """Say that a process (``judge:<name>:<id>``, ``aggregator:<id>``) is alive and ready."""
        with self._guard():
            self._redis.zadd(self.names.key("alive"), {member: self.now_ms()})

    def withdraw(self, member: str) -> None:
        """Say that a process has stopped."""
        with self._guard():
            self._redis.zrem(self.names.key("alive"), member)

    def alive(self) -> list[str]:
        """The processes seen in the last ten seconds; those before are forgotten."""
        since = self.now_ms() - ALIVE_MS
        with self._guard():
            self._redis.zremrangebyscore(self.names.key("alive"), "-inf", since)
            return sorted(self._redis.zrange(self.names.key("alive"), 0, -1))


def _unknown_panel(panel: str, known: Sequence[str]) -> ContractError | StoreUnavailable:
    if not known:
        return StoreUnavailable(
            "no panels are published here: no aggregator has run yet, or Redis lost its data; try again"
        )
    return ContractError(f'unknown panel "{panel}"{did_you_mean(panel, known)}')


def _lineage_conflict(case: Case, why: str, last: str) -> Conflict:
    messages = {
        "open": f"case {last} of the same routine and target is still open; wait for its verdict",
        "escalate": f"the same routine and target was escalated by case {last}; a person must reopen it first",
        "previous": f"the last round of this lineage is case {last}; submit with previous = {last}",
        "closed": f"previous = {last} is of no open lineage: it was approved, or is of another target; leave it out",
        "unknown": f"previous = {last} is no case that asked for a revision, or was answered already",
    }
    return Conflict(f"case {case.case_id}: {messages[why]}")
