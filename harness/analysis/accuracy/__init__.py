"""Outputs of a model against a reference's: statistics with intervals, and equality. Streaming; reads no files."""
