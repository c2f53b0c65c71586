"""Series of commits: changes of level that are told once, and only when they are sure."""
