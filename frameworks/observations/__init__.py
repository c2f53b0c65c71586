"""Parsing what runners print: observer lines, JSON documents, output files."""
