"""Migrations of the database: alembic runs them (`harness.store.database.schema`)."""
