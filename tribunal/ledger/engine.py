"""The ledger's database: SQLite file or PostgreSQL behind one engine, short timeouts, its faults as ours."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    QueuePool,
    Table,
    cast,
    create_engine,
    event,
    func,
    literal,
    make_url,
)
from sqlalchemy import exc as sa_exc
from sqlalchemy.dialects import postgresql, sqlite

from tribunal.errors import ConfigurationError, ContractError, NotFound, StoreUnavailable

BUSY_SECONDS = 5.0
CONNECT_SECONDS = 2
POOL_SECONDS = 3.0
POSTGRES_LIMITS = {
    "statement_timeout": "5s",
    "lock_timeout": "3s",
    # A holder of the counter row that is stopped, not dead, would hold up every seal.
    "idle_in_transaction_session_timeout": "5s",
}
POSTGRES_SOCKET = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 5000,
}
_WRITES = "tribunal_writes"


class Store:
    """Transactions on the ledger's database. Safe for threads; make one in each process.

    ``now_ms`` replaces the clock in tests. Without it the time is PostgreSQL's own there, so that hosts need not agree,
    and the machine's on SQLite, whose users all share one machine.
    """

    def __init__(self, url: str, now_ms: Callable[[], int] | None = None) -> None:
        parsed = _parse(url)
        self.place = parsed.set(query={}).render_as_string(hide_password=True)
        """The URL without its secrets, for messages."""
        self.file = Path(parsed.database or "") if parsed.get_backend_name() == "sqlite" else None
        """The SQLite file; None on PostgreSQL."""
        self._now_ms = now_ms
        self._writer = threading.Lock()
        self.engine = _sqlite_engine(parsed, self.file) if self.file else _postgres_engine(parsed)

    def now(self) -> ColumnElement[int]:
        """The present, in milliseconds since the epoch, as SQL."""
        if self._now_ms is None and self.file is None:
            return cast(func.extract("epoch", func.clock_timestamp()) * 1000, BigInteger)
        return literal(self._now_ms() if self._now_ms else time.time_ns() // 1_000_000, BigInteger)

    def insert_new(
        self, connection: Connection, table: Table, row: Mapping[str, Any], **computed: ColumnElement[Any]
    ) -> bool:
        """Insert a row, with ``computed`` columns, unless its key is taken; whether it was inserted."""
        make = sqlite.insert if self.file else postgresql.insert
        statement = make(table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
        return connection.execute(statement.values(**computed) if computed else statement, row).rowcount == 1

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """One snapshot to read from.

        Raises:
            StoreUnavailable: the database did not answer; call again.
            ConfigurationError: it has no tables of ours.
            NotFound: there is no SQLite file.
        """
        if self.file is not None and not self.file.exists():
            raise NotFound(
                f"there is no ledger at {self.file}: nothing has been judged here yet, or state_dir is another"
            )
        with self._faults(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """One transaction, committed at the end, rolled back on any exception.

        On SQLite it takes the write lock at once: one that upgraded later would fail where others write. Threads of one
        process queue for it; SQLite's own waiting is a lottery that can last seconds.

        Raises:
            StoreUnavailable: nothing was written, or the answer to the commit was lost; call again.
            ConfigurationError: the database has no tables of ours, or we may not write.
        """
        with self._faults(), self._turn(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def _turn(self) -> Generator[None]:
        if self.file is None:
            yield
            return
        if not self._writer.acquire(timeout=BUSY_SECONDS):
            raise StoreUnavailable(f"the ledger {self.place} had others writing for {BUSY_SECONDS:g} s; call again")
        try:
            yield
        finally:
            self._writer.release()

    def close(self) -> None:
        """Close the pooled connections."""
        self.engine.dispose()

    @contextmanager
    def _faults(self) -> Generator[None]:
        try:
            yield
        except sa_exc.IntegrityError:
            raise  # the callers know what it means
        except sa_exc.DataError as error:
            raise ContractError(f"a value that the ledger cannot hold: {_reason(error)}; correct it") from error
        except sa_exc.DBAPIError as error:
            reason = _reason(error)
            if isinstance(error, sa_exc.ProgrammingError) or "no such table" in reason:
                raise ConfigurationError(
                    f"the ledger {self.place} is not as expected: {reason}; migrate it, or check the role's rights"
                ) from error
            raise StoreUnavailable(f"the ledger {self.place} did not do it: {reason}; call again") from error
        except sa_exc.TimeoutError as error:
            raise StoreUnavailable(
                f"the ledger {self.place} had no free connection for {POOL_SECONDS:g} s; call again"
            ) from error


def _reason(error: sa_exc.DBAPIError) -> str:
    """What the driver said, on one line, without statement and parameters: those hold documents."""
    return " ".join(str(error.orig).split()) or type(error.orig).__name__


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except sa_exc.ArgumentError as error:
        raise ConfigurationError(
            "ledger_url must be a SQLAlchemy URL, for instance sqlite:////var/lib/tribunal/ledger.db or "
            "postgresql://user@host/database; the one given is none"
        ) from error
    backend = parsed.get_backend_name()
    if backend == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise ConfigurationError(f"ledger_url must begin with sqlite or postgresql; {backend} came")
    if not parsed.database or parsed.database.startswith((":", "file:")):
        raise ConfigurationError("ledger_url must name a file, for instance sqlite:///ledger.db; it outlives processes")
    return parsed


def _sqlite_engine(url: URL, file: Path) -> Engine:
    address = f"file:{quote(str(file.absolute()))}?mode=rw"

    def connect() -> sqlite3.Connection:
        # isolation_level None: the module opens no transactions of its own, ours begin below.
        connection = sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    engine = create_engine(
        url, creator=connect, poolclass=QueuePool, pool_timeout=POOL_SECONDS, max_overflow=20, hide_parameters=True
    )

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]  # registered by the decorator
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres_engine(url: URL) -> Engine:
    given = {name: value for name, value in POSTGRES_SOCKET.items() if name not in url.query}
    try:
        engine = create_engine(
            url,
            connect_args=given,
            pool_pre_ping=True,
            pool_timeout=POOL_SECONDS,
            max_overflow=20,
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "the ledger on PostgreSQL needs psycopg; install it with: pip install 'tribunal-queue[postgres]'"
        ) from error

    @event.listens_for(engine, "connect")
    def limit(raw: Any, _record: object) -> None:  # pyright: ignore[reportUnusedFunction]  # registered by the decorator
        # Not as start-up options: poolers refuse those, and the URL may carry its own.
        with raw.cursor() as cursor:
            for name, value in POSTGRES_LIMITS.items():
                cursor.execute(f"SET {name} = '{value}'")
        raw.commit()

    return engine


def create_file(file: Path) -> None:
    """Make the SQLite file, readable by its owner only, and put it in write-ahead mode; nothing where it exists so.

    Raises:
        ConfigurationError: the folder or the file cannot be made.
        StoreUnavailable: another process held it too long; call again.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise ConfigurationError(f"the ledger {file} cannot be made ({error.strerror}); check the folder") from error
    limit = time.monotonic() + BUSY_SECONDS
    while True:
        connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait here for others that switch the same file at the same time.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > limit:
                raise StoreUnavailable(f"the ledger {file} cannot be switched to WAL: {error}; call again") from error
            time.sleep(0.01)
        else:
            return
        finally:
            connection.close()
