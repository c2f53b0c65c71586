"""Outputs of a model before it is lowered, to compare those of its program with.

`maker` starts the process (`process`) that makes the model as its export does, with equal weights; `stages` are the
forms of the model, which torch runs; `outputs` runs them on examples and writes what they return.
"""
