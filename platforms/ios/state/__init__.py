"""State of an iPhone: what a computer reads, what only an app can read, and whether it is ready."""
