"""Settings of a phone that are changed while measuring, and their undo log."""
