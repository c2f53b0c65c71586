"""Plug-ins for platforms: one folder each, found by entry point; they never see each other.

`machine_lock` is what they share: a device is held by one job at a time.
"""
