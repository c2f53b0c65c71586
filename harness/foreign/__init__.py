"""Figures that other tools measured, read as results of ours (`harness import`). One module for each format."""
