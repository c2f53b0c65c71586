"""Outputs of a model before any framework lowers it, computed by torch on this machine, to compare others with.

`maker` starts the process that computes them (`process`); there `stages` makes each form of the model and `outputs`
runs it on the examples.
"""
