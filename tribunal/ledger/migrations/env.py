"""Run by alembic, on the connection and in the transaction that it was given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
