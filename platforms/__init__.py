"""Plug-ins for platforms: one folder each, found by entry point; none imports another.

machine_lock    lock of a device among all processes of this machine
staging         checks of staged files, programs and CPUs
"""
