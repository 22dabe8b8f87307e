"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INSERT_ONLY = ("verdicts", "votes", "log")


def upgrade() -> None:
    """Make all tables, the counter's row and the triggers that keep three of them insert-only."""
    _truth()
    _beside()
    _subscribed()
    op.execute("INSERT INTO counter (id, value) VALUES (1, 0)")
    _protect()


def _truth() -> None:
    op.create_table(
        "verdicts",
        sa.Column("case_id", sa.String(64), primary_key=True),
        sa.Column("verdict_id", sa.String(64), nullable=False, unique=True),
        sa.Column("panel", sa.String(64), nullable=False),
        sa.Column("outcome", sa.String(64), nullable=False),
        sa.Column("lineage", sa.Text),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("panel_snapshot", sa.Text, nullable=False),
        sa.Column("context", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("subject_bytes", BIG, nullable=False),
        sa.Column("preview", sa.Text, nullable=False),
        sa.Column("kept", sa.LargeBinary),
    )
    op.create_index("verdicts_lineage", "verdicts", ["lineage"])
    op.create_index("verdicts_panel_outcome", "verdicts", ["panel", "outcome"])
    op.create_table(
        "votes",
        sa.Column("case_id", sa.String(64), sa.ForeignKey("verdicts.case_id"), primary_key=True),
        sa.Column("stage", sa.Integer, primary_key=True),
        sa.Column("seat", sa.String(64), primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
        sa.CheckConstraint("kind IN ('frozen', 'late')", name="votes_kind"),
    )
    op.create_table(
        "counter",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", BIG, nullable=False),
        sa.CheckConstraint("id = 1", name="counter_one_row"),
    )
    op.create_table(
        "log",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        sa.Column("case_id", sa.String(64), sa.ForeignKey("verdicts.case_id"), nullable=False, unique=True),
        sa.Column("routing_key", sa.String(255), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
    )


def _beside() -> None:
    op.create_table(
        "exports",
        sa.Column("path", sa.String(1024), primary_key=True),
        sa.Column("case_id", sa.String(64), nullable=False, unique=True),
    )
    op.create_table(
        "marks",
        sa.Column("case_id", sa.String(64), sa.ForeignKey("verdicts.case_id"), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("due_since", BIG, nullable=False),
        sa.Column("done_at", BIG),
        sa.CheckConstraint("kind IN ('published', 'exported')", name="marks_kind"),
    )
    open_ones = sa.text("done_at IS NULL")
    op.create_index("marks_due", "marks", ["kind", "due_since"], postgresql_where=open_ones, sqlite_where=open_ones)
    op.create_table(
        "follow_ups",
        sa.Column("id", BIG, primary_key=True),
        sa.Column("case_id", sa.String(64), sa.ForeignKey("verdicts.case_id"), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("by", sa.String(255), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", BIG, nullable=False),
    )
    op.create_index("follow_ups_case", "follow_ups", ["case_id"])


def _subscribed() -> None:
    op.create_table(
        "subscriptions",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("pattern", sa.String(255), nullable=False),
        sa.Column("cursor", BIG, nullable=False),
        sa.Column("token", BIG, nullable=False),
        sa.Column("holder", sa.String(255)),
        sa.Column("lease_until", BIG, nullable=False),
    )
    op.create_table(
        "dead_letters",
        sa.Column("name", sa.String(64), sa.ForeignKey("subscriptions.name", ondelete="CASCADE"), primary_key=True),
        sa.Column("seq", BIG, sa.ForeignKey("log.seq"), primary_key=True),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("at", BIG, nullable=False),
    )


def _protect() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for table in INSERT_ONLY:
            for verb in ("UPDATE", "DELETE"):
                op.execute(
                    f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{table} is insert-only'); END"
                )
        return
    op.execute(
        "CREATE FUNCTION tribunal_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '% is insert-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; "
        "END $$"
    )
    for table in INSERT_ONLY:
        op.execute(
            f"CREATE TRIGGER {table}_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION tribunal_insert_only()"
        )


def downgrade() -> None:
    """Drop all of it."""
    for table in (
        "dead_letters",
        "subscriptions",
        "follow_ups",
        "marks",
        "exports",
        "log",
        "counter",
        "votes",
        "verdicts",
    ):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION tribunal_insert_only()")
