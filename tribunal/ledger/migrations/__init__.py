"""The ledger's tables through time: alembic, run by the program itself, without an ini file."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text

from tribunal.errors import ConfigurationError

ADVISORY_LOCK = 0x7472_6962_756E_616C
"""``tribunal`` in ASCII: the key under which processes that migrate PostgreSQL wait for one another."""


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _alone(connection: Connection) -> None:
    """Wait for others that migrate. On SQLite the transaction holds the write lock already."""
    if connection.dialect.name == "postgresql":
        for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(text(f"SET LOCAL {limit} = '60s'"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Bring the tables up to a revision, within the transaction of ``connection``.

    Raises:
        ConfigurationError: the ledger is of a newer version than this program.
    """
    _alone(connection)
    try:
        command.upgrade(_config(connection), revision)
    except CommandError as error:
        raise ConfigurationError(
            f"the ledger was made by another version of Tribunal ({error}); run that version or a newer one"
        ) from error


def downgrade(connection: Connection, revision: str) -> None:
    """Take the tables down to a revision, within the transaction of ``connection``. What they held is gone."""
    _alone(connection)
    command.downgrade(_config(connection), revision)
