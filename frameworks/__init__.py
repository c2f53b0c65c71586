"""Plug-ins for frameworks: one package each, found by entry point and independent of one another.

They share `frameworks.observations`.
"""
