"""The ledger: sealed verdicts and their votes, for good, in one gapless order.

It is the truth: what is not in here is neither published nor final (I7).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import JsonValue
from sqlalchemy import Connection, Row, Select, and_, func, insert, select, update
from sqlalchemy import exc as sa_exc

from tribunal.errors import Conflict, ContractError, NotFound
from tribunal.ledger.engine import Store, create_file
from tribunal.ledger.schema import counter, exports, follow_ups, log, marks, verdicts, votes
from tribunal.model import Context, Verdict, Vote, canonical, sha256
from tribunal.panels import Panel

Mark = Literal["published", "exported"]
MARKS: tuple[Mark, ...] = ("published", "exported")
REOPENED = "reopened"
"""The follow-up by which a person opens a lineage again after an escalation."""
NOTE_LIMIT = 4096

Verdicts = list[Verdict]


@dataclass(frozen=True)
class CaseRecord:
    """What the ledger keeps of a case beside its verdict."""

    case_id: str
    digest: str
    """Of all that the producer said: tells the same case submitted again from another one under its id."""
    panel: Panel
    """The snapshot that the case was judged by."""
    context: Context
    subject_bytes: int
    preview: str
    """The subject's beginning, redacted."""
    kept: bytes | None = None
    """The whole subject, redacted and compressed, where the panel says so."""
    lineage: str | None = None
    paths: tuple[str, str] | None = None
    """Where the audit file may go, the first choice first; None where none is written. Not read back: see ``path``."""
    path: str | None = None
    """The one of them that the case has; set only on a record read back."""


@dataclass(frozen=True)
class Sealed:
    """The verdict that stands, and whether this call was the one that put it there."""

    verdict: Verdict
    won: bool
    same: bool = True
    """Whether the verdict that stands is of the same content: false where a case id was used for two."""


@dataclass(frozen=True)
class RecordedVote:
    """A vote as the ledger has it."""

    stage: int
    vote: Vote
    late: bool


@dataclass(frozen=True)
class Lineage:
    """The latest case of a lineage."""

    lineage: str
    panel: str
    case_id: str
    outcome: str
    facts: Mapping[str, JsonValue]
    reopened: bool
    """Whether a person has opened it again since."""


@dataclass(frozen=True)
class FollowUp:
    """What a person did about a verdict. It stands beside the verdict and changes nothing in it (I2)."""

    case_id: str
    kind: str
    by: str
    note: str
    at: int
    """Milliseconds since the epoch."""


class Ledger:
    """The append-only store of verdicts. Safe for threads; make one in each process.

    Every method may raise StoreUnavailable (call again; a seal is safe to repeat) and, where the tables are not there,
    ConfigurationError. ``now_ms`` replaces the clock in tests, in milliseconds since the epoch.

    Raises:
        ConfigurationError: the URL is none that the ledger knows.
    """

    def __init__(self, url: str, now_ms: Callable[[], int] | None = None) -> None:
        self.store = Store(url, now_ms)

    def migrate(self, revision: str = "head") -> None:
        """Make the tables, or bring them up to ``revision``. Processes that start at once wait for one another.

        Raises:
            ConfigurationError: the ledger is of a newer version, or its folder cannot be written.
        """
        from tribunal.ledger import migrations  # alembic takes long to import, and only starting up needs it

        if self.store.file:
            create_file(self.store.file)
        with self.store.writing() as connection:
            migrations.upgrade(connection, revision)

    def close(self) -> None:
        """Close the connections."""
        self.store.close()

    def seal(self, record: CaseRecord, build: Callable[[str | None], Verdict]) -> Sealed:
        """Append the verdict that ``build`` makes, in one transaction: all of it or nothing (I4).

        ``build`` gets the audit path that the case may have: the first of ``record.paths`` that no other case has, None
        where there is none. It must be quick and may be called again, by a repeated seal. The number is taken last, so
        that numbers become visible in their order, without gaps. Where the case was sealed already, that verdict comes
        back with ``won`` false; so it does if the answer to our own commit was lost.

        Raises:
            ContractError: ``build`` made a verdict of another case, one that is not final, or no JSON.
        """
        with self.store.writing() as connection:
            verdict = build(self._claim(connection, record))
            document = _document(record.case_id, verdict)
            if self._append(connection, record, verdict, document):
                self._attach(connection, verdict)
                return Sealed(verdict.with_seq(self._number(connection, verdict, sha256(document))), won=True)
            connection.rollback()
        winner, before = self.get(record.case_id), self.record(record.case_id)
        if winner is None or before is None:
            raise Conflict(f"case {record.case_id}: its verdict id {verdict.verdict_id} belongs to another case")
        return Sealed(winner, won=False, same=before.digest == record.digest)

    def _claim(self, connection: Connection, record: CaseRecord) -> str | None:
        for path in record.paths or ():
            if self.store.insert_new(connection, exports, {"path": path, "case_id": record.case_id}):
                return path
        return None

    def _append(self, connection: Connection, record: CaseRecord, verdict: Verdict, document: str) -> bool:
        row = {
            "case_id": verdict.case_id,
            "verdict_id": verdict.verdict_id,
            "panel": verdict.panel,
            "outcome": verdict.decision.outcome,
            "lineage": record.lineage,
            "document": document,
            "panel_snapshot": canonical(record.panel.model_dump(mode="json")),
            "context": canonical(record.context.model_dump(mode="json", exclude_defaults=True)),
            "digest": record.digest,
            "subject_bytes": record.subject_bytes,
            "preview": record.preview,
            "kept": record.kept,
        }
        return self.store.insert_new(connection, verdicts, row)

    def _attach(self, connection: Connection, verdict: Verdict) -> None:
        rows = [
            _vote_row(verdict.case_id, stage.stage, vote, "frozen") for stage in verdict.history for vote in stage.votes
        ]
        if rows:
            connection.execute(insert(votes), rows)
        due = [{"case_id": verdict.case_id, "kind": kind} for kind in MARKS]
        connection.execute(insert(marks).values(due_since=self.store.now()), due)

    def _number(self, connection: Connection, verdict: Verdict, digest: str) -> int:
        take = update(counter).values(value=counter.c.value + 1).returning(counter.c.value)
        seq = connection.execute(take).scalar_one()
        row = {"seq": seq, "case_id": verdict.case_id, "routing_key": verdict.routing_key, "sha256": digest}
        connection.execute(insert(log), row)
        return seq

    def get(self, case_id: str) -> Verdict | None:
        """The sealed verdict of a case."""
        found = self._read(_sealed().where(verdicts.c.case_id == case_id))
        return found[0] if found else None

    def entries(self, after: int, limit: int) -> Verdicts:
        """The verdicts with a number above ``after``, in order, at most ``limit``."""
        return self._read(_sealed().where(log.c.seq > after).order_by(log.c.seq).limit(limit))

    def head(self) -> int:
        """The last number given; 0 while there is none."""
        with self.store.reading() as connection:
            return connection.execute(select(counter.c.value)).scalar_one()

    def record(self, case_id: str) -> CaseRecord | None:
        """What was kept of a case beside its verdict."""
        query = select(verdicts, exports.c.path).outerjoin(exports, exports.c.case_id == verdicts.c.case_id)
        with self.store.reading() as connection:
            row = connection.execute(query.where(verdicts.c.case_id == case_id)).one_or_none()
        if row is None:
            return None
        return CaseRecord(
            case_id=row.case_id,
            digest=row.digest,
            panel=Panel.model_validate_json(row.panel_snapshot),
            context=Context.model_validate_json(row.context),
            subject_bytes=row.subject_bytes,
            preview=row.preview,
            kept=row.kept,
            lineage=row.lineage,
            path=row.path,
        )

    def votes(self, case_id: str) -> list[RecordedVote]:
        """All votes of a case: by stage, those that counted before late ones, then by seat and attempt."""
        query = select(votes).where(votes.c.case_id == case_id)
        query = query.order_by(votes.c.stage, votes.c.kind, votes.c.seat, votes.c.attempt)
        with self.store.reading() as connection:
            rows = connection.execute(query).all()
        return [RecordedVote(row.stage, Vote.model_validate_json(row.document), row.kind == "late") for row in rows]

    def add_late(self, case_id: str, stage: int, vote: Vote) -> None:
        """Record a vote that came after the freeze, as it came; it counts for nothing. Again changes nothing (I2, I5).

        Raises:
            NotFound: the case is not sealed yet.
        """
        row = _vote_row(case_id, stage, vote, "late")
        try:
            with self.store.writing() as connection:
                self.store.insert_new(connection, votes, row)
        except sa_exc.IntegrityError as error:
            raise _not_sealed(case_id) from error

    def mark(self, case_id: str, *kinds: Mark) -> None:
        """Note that a verdict was published or exported. Again changes nothing.

        Raises:
            NotFound: the case is not sealed.
        """
        of_case = marks.c.case_id == case_id
        with self.store.writing() as connection:
            open_ones = and_(of_case, marks.c.kind.in_(kinds), marks.c.done_at.is_(None))
            done = connection.execute(update(marks).where(open_ones).values(done_at=self.store.now()))
            if not done.rowcount and connection.execute(select(marks.c.kind).where(of_case)).first() is None:
                raise _not_sealed(case_id)

    def unmarked(self, kind: Mark, older_than_ms: int, limit: int) -> Verdicts:
        """Verdicts without that mark for at least ``older_than_ms``, in order, at most ``limit``.

        Every case is due for both; who has nothing to export marks it so.
        """
        due = and_(
            marks.c.kind == kind, marks.c.done_at.is_(None), marks.c.due_since <= self.store.now() - older_than_ms
        )
        query = _sealed().join(marks, marks.c.case_id == verdicts.c.case_id).where(due)
        return self._read(query.order_by(log.c.seq).limit(limit))

    def lineages(self) -> list[Lineage]:
        """The latest case of every lineage."""
        newest = (
            select(func.max(log.c.seq))
            .join(verdicts, verdicts.c.case_id == log.c.case_id)
            .where(verdicts.c.lineage.is_not(None))
            .group_by(verdicts.c.lineage)
        )
        reopened = (
            select(follow_ups.c.id)
            .where(follow_ups.c.case_id == verdicts.c.case_id, follow_ups.c.kind == REOPENED)
            .exists()
        )
        query = (
            select(
                verdicts.c.lineage,
                verdicts.c.panel,
                verdicts.c.case_id,
                verdicts.c.outcome,
                verdicts.c.document,
                reopened,
            )
            .join(log, log.c.case_id == verdicts.c.case_id)
            .where(log.c.seq.in_(newest))
            .order_by(log.c.seq)
        )
        with self.store.reading() as connection:
            rows = connection.execute(query).all()
        return [
            Lineage(lineage, panel, case_id, outcome, json.loads(document)["facts"], bool(again))
            for lineage, panel, case_id, outcome, document, again in rows
        ]

    def follow_up(self, case_id: str, kind: str, by: str, note: str) -> FollowUp:
        """Record what a person did about a verdict.

        Raises:
            ContractError: a text is empty, too long or holds a NUL.
            NotFound: the case is not sealed.
        """
        for name, value, most in (("kind", kind, 64), ("by", by, 255), ("note", note, NOTE_LIMIT)):
            if not value.strip() or len(value) > most or "\x00" in value:
                raise ContractError(
                    f"a follow-up's {name} is 1 to {most} characters without NUL; {len(value)} came: {value[:64]!r}"
                )
        row = {"case_id": case_id, "kind": kind, "by": by, "note": note, "at": self.store.now()}
        try:
            with self.store.writing() as connection:
                at = connection.execute(insert(follow_ups).values(row).returning(follow_ups.c.at)).scalar_one()
        except sa_exc.IntegrityError as error:
            raise _not_sealed(case_id) from error
        return FollowUp(case_id, kind, by, note, at)

    def follow_ups(self, case_id: str) -> list[FollowUp]:
        """What people did about a verdict, in order."""
        query = select(follow_ups).where(follow_ups.c.case_id == case_id).order_by(follow_ups.c.id)
        with self.store.reading() as connection:
            rows = connection.execute(query).all()
        return [FollowUp(row.case_id, row.kind, row.by, row.note, row.at) for row in rows]

    def list(
        self, panel: str | None = None, outcome: str | None = None, limit: int = 50, before_seq: int | None = None
    ) -> Verdicts:
        """The newest verdicts first; of one panel, of one outcome, below a number."""
        query = _sealed().order_by(log.c.seq.desc()).limit(limit)
        if panel is not None:
            query = query.where(verdicts.c.panel == panel)
        if outcome is not None:
            query = query.where(verdicts.c.outcome == outcome)
        if before_seq is not None:
            query = query.where(log.c.seq < before_seq)
        return self._read(query)

    def _read(self, query: Select[Any, Any]) -> Verdicts:
        with self.store.reading() as connection:
            rows = connection.execute(query).all()
        return [_verdict(row) for row in rows]


def _sealed() -> Select[Any, Any]:
    return select(log.c.seq, verdicts.c.document).join(verdicts, verdicts.c.case_id == log.c.case_id)


def _verdict(row: Row[Any, Any]) -> Verdict:
    return Verdict.model_validate_json(row.document).with_seq(row.seq)


def _document(case_id: str, verdict: Verdict) -> str:
    """The verdict as it is stored and hashed: canonical JSON without its number, which the log gives."""
    if verdict.case_id != case_id or not verdict.final or verdict.seq is not None:
        raise ContractError(
            f"a seal takes the final verdict of case {case_id} without a number; "
            f"case {verdict.case_id}, final={verdict.final}, seq={verdict.seq} came"
        )
    try:
        document = canonical(verdict.model_dump(mode="json", exclude={"seq"}))
        document.encode()
    except ValueError as error:
        raise ContractError(
            f"the verdict of case {case_id} is no JSON in UTF-8: {error}; check the judges' answers"
        ) from error
    return document


def _vote_row(case_id: str, stage: int, vote: Vote, kind: str) -> dict[str, Any]:
    key = {"case_id": case_id, "stage": stage, "seat": vote.seat, "attempt": vote.attempt, "kind": kind}
    return {**key, "document": canonical(vote.model_dump(mode="json"))}


def _not_sealed(case_id: str) -> NotFound:
    return NotFound(f"case {case_id} has no sealed verdict in the ledger; check the id, or wait until it is sealed")
