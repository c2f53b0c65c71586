"""Plug-ins for frameworks: one file or folder each, found by entry point; they never see each other."""
