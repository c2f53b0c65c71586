"""Plug-ins for reporters: one file or folder each, found by entry point; they never see each other."""
