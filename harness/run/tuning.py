"""How many iterations a launch of a comparison is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.core.benchmark import Benchmark
from harness.core.metric import LATENCY, Observation, convert
from harness.core.result import Launch

_WARMUP = 10
_SLOW_S = 0.05
_FEWEST, _FEWEST_SLOW, _MOST = 10, 3, 200
"""Iterations of a launch. About 3 sqrt(cost of a launch / cost of an iteration) is where more of them stop paying
(Kalibera and Jones, ISMM 2013, with the variances that launches of a MobileNetV2 runner showed). The optimum is flat.
An iteration above 50 ms averages out by itself what ten short ones are needed for, and one of them warms up.
"""


def iterations_for(launch_cost_s: float, iteration_cost_s: float) -> int:
    """How many iterations a launch is worth.

    Args:
        launch_cost_s: Seconds of a launch beside its iterations.
        iteration_cost_s: Seconds of one iteration.
    """
    if iteration_cost_s <= 0:
        return _MOST
    fewest = _FEWEST_SLOW if iteration_cost_s > _SLOW_S else _FEWEST
    return int(min(_MOST, max(fewest, round(3 * math.sqrt(max(0.0, launch_cost_s) / iteration_cost_s)))))


def tuned_to(
    launch: Launch, observations: Sequence[Observation], chosen: Observation, benchmark: Benchmark
) -> Benchmark:
    """The benchmark with as many iterations as a launch is worth, where the framework composes the command.

    What an iteration costs, its latency says, whatever is compared; where nothing does, they stay as many as they were.

    Args:
        launch: One of the benchmark, to tune the others to.
        observations: What it said.
        chosen: What of that is compared.
        benchmark: As it was launched.
    """
    if benchmark.commands or not chosen.samples:
        return benchmark
    limit = benchmark.time_limit_s
    each = benchmark.model_copy(
        update={
            "min_iterations": min(_FEWEST_SLOW, benchmark.min_iterations),
            "time_limit_s": None if limit is None else limit / benchmark.launches,
        }
    )
    timed = next((one for one in observations if one.name == LATENCY and one.samples), chosen)
    spent = convert(math.fsum(timed.samples), timed.unit, "s")
    if spent is None:
        return each
    iteration = spent / len(timed.samples)
    warmup = min(_WARMUP, benchmark.warmup) if benchmark.warmup >= 0 else _WARMUP
    beside = launch.wall_s - spent - warmup * iteration
    return each.model_copy(
        update={
            "iterations": iterations_for(beside, iteration),
            "warmup": 1 if iteration > _SLOW_S else warmup,
        }
    )
