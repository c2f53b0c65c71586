"""State of the continuous mode, in one SQLite file."""
