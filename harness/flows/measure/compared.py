"""Benchmarks whose outputs are compared with those of their models before lowering: which these are."""

from __future__ import annotations

from typing import Final

from harness.core.benchmark import Benchmark

ACCURACY: Final = "accuracy"
"""Kind of a benchmark whose outputs are compared with those of its model before lowering."""

LAYERS: Final = "layers"
"""Kind of a benchmark whose gaps are computed layer by layer too."""


def is_evaluated(benchmark: Benchmark) -> bool:
    """Return whether the outputs of a benchmark are evaluated.

    A test that has commands and names no data judges its outputs itself, as FAI-PEP's tests of accuracy do.
    """
    if benchmark.data is not None:
        return not {ACCURACY, LAYERS}.isdisjoint((benchmark.metric, *benchmark.kinds))
    return not benchmark.commands and not {ACCURACY, LAYERS}.isdisjoint(benchmark.kinds)


def is_compared(benchmark: Benchmark) -> bool:
    """Return whether the outputs of a benchmark are compared with its references, for whatever reason."""
    return is_evaluated(benchmark) or benchmark.same_work is not None


def executes_examples(benchmark: Benchmark) -> bool:
    """Return whether a runner can be given examples: commands and apps of the user's own take none."""
    return not benchmark.commands and benchmark.app is None
