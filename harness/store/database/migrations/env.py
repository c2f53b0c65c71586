"""Runs migrations on the connection that `harness.store.database.schema` gives, in its transaction."""

from __future__ import annotations

from alembic import context

from harness.store.database.schema import VERSION_TABLE
from harness.store.database.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    compare_type=True,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
