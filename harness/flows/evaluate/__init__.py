"""Evaluation of outputs: a run whose benchmarks are compared with the models that they were lowered from."""
