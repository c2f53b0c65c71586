"""Reporters: one module or package each, found by entry point, which do not import one another (`pages` is shared)."""
