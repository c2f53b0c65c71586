"""Revisions of the schema, each with the changes since the one before it. What landed is never changed."""
