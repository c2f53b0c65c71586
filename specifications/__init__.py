"""Data: specifications that ship with the harness, and the JSON Schemas of what it reads and writes."""
