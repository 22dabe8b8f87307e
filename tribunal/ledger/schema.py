"""The ledger's tables. The migrations make them; a test holds both alike.

``verdicts``, ``votes`` and ``log`` are insert-only, which triggers in the database enforce (I2). What changes lies in
tables of its own: the counter, the marks, the subscriptions. Times are milliseconds since the epoch.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()

Big = BigInteger().with_variant(Integer(), "sqlite")
"""64 bits on both; only an ``INTEGER`` key is SQLite's own row id."""

verdicts = Table(
    "verdicts",
    metadata,
    Column("case_id", String(64), primary_key=True),
    Column("verdict_id", String(64), nullable=False, unique=True),
    Column("panel", String(64), nullable=False),
    Column("outcome", String(64), nullable=False),
    Column("lineage", Text),
    Column("document", Text, nullable=False),  # the verdict's canonical JSON, without seq
    Column("panel_snapshot", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("subject_bytes", Big, nullable=False),
    Column("preview", Text, nullable=False),
    Column("kept", LargeBinary),
)

votes = Table(
    "votes",
    metadata,
    Column("case_id", String(64), ForeignKey("verdicts.case_id"), primary_key=True),
    Column("stage", Integer, primary_key=True),
    Column("seat", String(64), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("kind", String(8), primary_key=True),
    Column("document", Text, nullable=False),
    CheckConstraint("kind IN ('frozen', 'late')", name="votes_kind"),
)

counter = Table(
    "counter",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("value", Big, nullable=False),
    CheckConstraint("id = 1", name="counter_one_row"),
)
"""One row: the last number given. Its row lock makes numbers visible in their order, without gaps."""

log = Table(
    "log",
    metadata,
    Column("seq", Big, primary_key=True, autoincrement=False),
    Column("case_id", String(64), ForeignKey("verdicts.case_id"), nullable=False, unique=True),
    Column("routing_key", String(255), nullable=False),
    Column("sha256", String(64), nullable=False),  # of verdicts.document
)

exports = Table(
    "exports",
    metadata,
    Column("path", String(1024), primary_key=True),
    Column("case_id", String(64), nullable=False, unique=True),
)
"""Which case owns which audit file: no file is written by two."""

marks = Table(
    "marks",
    metadata,
    Column("case_id", String(64), ForeignKey("verdicts.case_id"), primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("due_since", Big, nullable=False),
    Column("done_at", Big),
    CheckConstraint("kind IN ('published', 'exported')", name="marks_kind"),
)
Index(
    "marks_due",
    marks.c.kind,
    marks.c.due_since,
    postgresql_where=text("done_at IS NULL"),
    sqlite_where=text("done_at IS NULL"),
)

follow_ups = Table(
    "follow_ups",
    metadata,
    Column("id", Big, primary_key=True),
    Column("case_id", String(64), ForeignKey("verdicts.case_id"), nullable=False),
    Column("kind", String(64), nullable=False),
    Column("by", String(255), nullable=False),
    Column("note", Text, nullable=False),
    Column("at", Big, nullable=False),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("pattern", String(255), nullable=False),
    Column("cursor", Big, nullable=False),  # the last number handled
    Column("token", Big, nullable=False),  # fences: grows with every holder
    Column("holder", String(255)),
    Column("lease_until", Big, nullable=False),
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("name", String(64), ForeignKey("subscriptions.name", ondelete="CASCADE"), primary_key=True),
    Column("seq", Big, ForeignKey("log.seq"), primary_key=True),
    Column("error", Text, nullable=False),
    Column("at", Big, nullable=False),
)

Index("verdicts_lineage", verdicts.c.lineage)
Index("verdicts_panel_outcome", verdicts.c.panel, verdicts.c.outcome)
Index("follow_ups_case", follow_ups.c.case_id)
