"""The ledger's database itself: how it is made, upgraded, kept apart and how its faults are told."""

import sqlite3
import stat
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from hypothesis import given, settings
from hypothesis import strategies as st
from sealing import POSTGRES, record_of, seal, verdict_of
from sqlalchemy import inspect, text, update

from tribunal.errors import ConfigurationError, NotFound, StoreUnavailable
from tribunal.ledger import Ledger, engine, migrations
from tribunal.ledger.schema import counter, metadata


def _migrate(url: str) -> int:
    ledger = Ledger(url)
    try:
        ledger.migrate()
        return ledger.head()
    finally:
        ledger.close()


def test_the_migrations_make_the_tables_that_the_code_knows(ledger: Ledger) -> None:
    with ledger.store.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migrations_go_up_and_down_and_up_again(ledger: Ledger) -> None:
    seal(ledger, "case-1")

    with ledger.store.writing() as connection:
        migrations.downgrade(connection, "base")
    with ledger.store.reading() as connection:
        assert set(inspect(connection).get_table_names()) == {"alembic_version"}

    ledger.migrate()
    assert ledger.head() == 0
    assert seal(ledger, "case-1").won


def test_migrating_again_keeps_what_is_there(ledger: Ledger) -> None:
    verdict = seal(ledger, "case-1").verdict

    ledger.migrate()

    assert ledger.list() == [verdict]


def test_threads_that_migrate_at_once_make_the_tables_once(ledger_url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(_migrate, [ledger_url] * 6)) == [0] * 6


@pytest.mark.slow
def test_processes_that_migrate_at_once_make_the_tables_once(ledger_url: str) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(_migrate, [ledger_url] * 4)) == [0] * 4


def test_a_ledger_of_a_newer_version_is_refused(ledger: Ledger) -> None:
    with ledger.store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))

    with pytest.raises(ConfigurationError, match="another version of Tribunal"):
        ledger.migrate()


def test_a_ledger_without_tables_says_what_to_do(ledger_url: str) -> None:
    ledger = Ledger(ledger_url)
    if ledger.store.file:
        engine.create_file(ledger.store.file)

    with pytest.raises(ConfigurationError, match="migrate it"):
        ledger.head()
    ledger.close()


def test_the_sqlite_file_is_its_owners_only_and_durable(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "led ger?%.db"
    ledger = Ledger("sqlite:///" + str(file).replace("%", "%25").replace("?", "%3F"))
    ledger.migrate()
    seal(ledger, "case-1")

    with ledger.store.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
    assert stat.S_IMODE(ledger.store.file.stat().st_mode) == 0o600  # pyright: ignore[reportOptionalMemberAccess]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in file.parent.iterdir())
    ledger.close()


def test_reading_makes_no_file(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'none.db'}")

    with pytest.raises(NotFound, match="nothing has been judged here yet"):
        ledger.head()

    ledger.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(ConfigurationError, match="cannot be made"):
        Ledger(f"sqlite:///{tmp_path / 'file' / 'ledger.db'}").migrate()


def test_a_locked_sqlite_file_is_told_as_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.migrate()
    other = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="locked"):
        seal(ledger, "case-1")
    assert ledger.head() == 0  # readers are not locked out

    other.execute("ROLLBACK")
    other.close()
    assert seal(ledger, "case-1").verdict.seq == 1
    ledger.close()


def test_a_thread_that_waits_too_long_for_its_turn_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.migrate()
    monkeypatch.setattr(engine, "BUSY_SECONDS", 0.05)

    with ledger.store.writing(), ThreadPoolExecutor(1) as pool, pytest.raises(StoreUnavailable, match="others writing"):
        pool.submit(seal, ledger, "case-1").result()
    ledger.close()


def test_a_database_that_does_not_answer_is_unavailable_and_its_password_stays_secret() -> None:
    ledger = Ledger("postgresql://ana:hush@127.0.0.1:1/tribunal?password=hush")

    with pytest.raises(StoreUnavailable, match="call again") as told:
        ledger.head()

    assert told.value.retryable
    assert "ana:***@127.0.0.1:1/tribunal" in str(told.value)
    assert "hush" not in str(told.value)
    ledger.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mysql://ana:hush@host/db", "sqlite or postgresql; mysql came"),
        ("no url with hush", "must be a SQLAlchemy URL"),
        ("sqlite://", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
    ],
)
def test_a_url_of_another_kind_is_refused_without_its_secrets(url: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected) as told:
        Ledger(url)

    assert "hush" not in str(told.value)


def test_i1_a_stopped_sealer_holds_up_the_others_only_for_its_limit(
    postgres_ledger: Ledger, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {**engine.POSTGRES_LIMITS, "idle_in_transaction_session_timeout": "100ms"}
    monkeypatch.setattr(engine, "POSTGRES_LIMITS", limits)
    stopped = Ledger(postgres_url)

    def hang() -> None:
        with stopped.store.writing() as connection:
            connection.execute(update(counter).values(value=counter.c.value + 1))
            assert seal(postgres_ledger, "case-1").verdict.seq == 1  # waits only until the server cuts us off
            connection.execute(text("SELECT 1"))

    with pytest.raises(StoreUnavailable, match="idle-in-transaction"):
        hang()
    stopped.close()


def test_a_pooled_connection_that_the_server_cut_is_replaced(postgres_ledger: Ledger) -> None:
    with postgres_ledger.store.reading() as connection:
        pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()

    with psycopg.connect(POSTGRES, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    assert seal(postgres_ledger, "case-1").verdict.seq == 1


Step = tuple[int, bool]


@given(steps=st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=20))
@settings(max_examples=15, deadline=None)
def test_i4_whatever_fails_or_comes_twice_numbers_are_gapless(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}")
    ledger.migrate()
    sealed: dict[int, int] = {}

    for case, fails in steps:
        case_id = f"case-{case}"

        def build(path: str | None, case_id: str = case_id, fails: bool = fails) -> object:
            if fails:
                raise RuntimeError("no rendering")
            return verdict_of(case_id)

        record = record_of(case_id, paths=("shared.json", f"{case_id}.json"))
        if fails:
            with pytest.raises(RuntimeError):
                ledger.seal(record, build)  # pyright: ignore[reportArgumentType]
        else:
            result = ledger.seal(record, build)  # pyright: ignore[reportArgumentType]
            assert result.won == (case not in sealed)
            sealed.setdefault(case, len(sealed) + 1)
            assert result.verdict.seq == sealed[case]

    assert [verdict.seq for verdict in ledger.entries(0, 100)] == list(range(1, len(sealed) + 1))
    assert ledger.head() == len(sealed)
    ledger.close()


def test_one_ledger_serves_many_threads(ledger: Ledger) -> None:
    seal(ledger, "case-1")
    start = threading.Barrier(16)

    def read(_: int) -> int:
        start.wait()
        return ledger.head()

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(read, range(16))) == [1] * 16
