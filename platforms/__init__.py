"""Plug-ins for platforms: one file or folder each, found by entry point; they never see each other."""
