"""Results in a database: SQLite beside them, or PostgreSQL by URL (docs/decisions/0056)."""
