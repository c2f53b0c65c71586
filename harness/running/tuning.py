"""Iterations of the launches of a comparison: as many as a launch is worth, from what the first one showed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Final

from harness.core.benchmark import Benchmark
from harness.core.generation import GENERATION
from harness.core.metric import FIRST_TOKEN, LATENCY, Observation, convert
from harness.core.result import Launch
from harness.running.pacing import paced_iteration_s

_WARMUP: Final = 10
_SLOW_S: Final = 0.05
_FEWEST, _FEWEST_SLOW, _FEWEST_GENERATIONS, _MOST = 10, 3, 1, 200
"""Iterations of a launch. About 3 sqrt(cost of a launch / cost of an iteration) is where more of them stop paying
(Kalibera and Jones, ISMM 2013, with the variances that launches of a MobileNetV2 runner showed). The optimum is flat.
An iteration above 50 ms averages out by itself what ten short ones are needed for, and one of them warms up. A
generation is a hundred executions, whose times are known one by one (docs/decisions/0089).
"""

_FIRST_GENERATIONS: Final = 2
"""Generations of a first launch: what one takes, and whether the first of a program differs from the next."""

_LATE_FIRST_TOKEN: Final = 1.25
"""Time to the first token of a program's first generation, relative to later ones, from which on it warms up."""

_SHARE_OF_PROMPTS: Final = 0.75
"""Time of further prompts in a launch of a pair, relative to that of the tokens after the first."""

_MOST_PROMPTS: Final = 3
"""Further prompts of a launch: what differs between launches is not averaged out by more of them."""

_GENERATION_TIME: Final = f"{GENERATION} generation_time"
_PREFILL_RATE: Final = f"{GENERATION} prefill_rate"


def iterations_for(launch_cost_s: float, iteration_cost_s: float, fewest: int | None = None) -> int:
    """Return the number of iterations that a launch is worth.

    Args:
        launch_cost_s: Seconds of a launch beside its iterations.
        iteration_cost_s: Seconds of one iteration.
        fewest: The least number; None goes by the cost of one.
    """
    if iteration_cost_s <= 0:
        return _MOST
    if fewest is None:
        fewest = _FEWEST_SLOW if iteration_cost_s > _SLOW_S else _FEWEST
    return int(min(_MOST, max(fewest, round(3 * math.sqrt(max(0.0, launch_cost_s) / iteration_cost_s)))))


def shorten_first_launch(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark as it is launched first: a generation takes from a tenth of a second to minutes."""
    if benchmark.generation is None or benchmark.commands or benchmark.is_about_energy:
        return benchmark
    given = benchmark.iterations if benchmark.iterations > 0 else _FIRST_GENERATIONS
    iterations = min(given, _FIRST_GENERATIONS)
    return benchmark.model_copy(update={"warmup": 0, "iterations": iterations, "min_iterations": iterations})


def tune(launch: Launch, observations: Sequence[Observation], compared: Observation, benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with as many iterations as a launch is worth, where the framework composes the command.

    Latency, or the time of a generation, shows what an iteration costs, whatever is compared; where nothing does, their
    number stays.

    Args:
        launch: One of the benchmark, to tune the others to; of one that generates, as `shorten_first_launch` has it.
        observations: What it reported.
        compared: Which of that is compared.
        benchmark: As the specification has it.
    """
    if benchmark.commands or not compared.samples:
        return benchmark
    limit = benchmark.time_limit_s
    shortened = benchmark.model_copy(
        update={
            "min_iterations": min(_FEWEST_SLOW, benchmark.min_iterations),
            "time_limit_s": None if limit is None else limit / benchmark.launches,
        }
    )
    timed = _find(observations, LATENCY) or _find(observations, _GENERATION_TIME) or compared
    spent_s = convert(math.fsum(timed.samples), timed.unit, "s")
    if spent_s is None:
        return shortened
    count = len(timed.samples)
    latency_s = spent_s / count
    iteration_s = paced_iteration_s(benchmark, latency_s)
    if benchmark.generation is not None:
        filling_s = _filling_s(observations, benchmark)
        beside_s = launch.wall_s - (iteration_s + filling_s) * count
        iterations = iterations_for(beside_s, iteration_s + filling_s, _FEWEST_GENERATIONS)
        warmup = _generations_to_warm_up(observations)
        return shortened.model_copy(update={"min_iterations": 1, "iterations": iterations, "warmup": warmup})
    warmup = min(_WARMUP, benchmark.warmup) if benchmark.warmup >= 0 else _WARMUP
    beside_s = launch.wall_s - iteration_s * count - warmup * latency_s
    return shortened.model_copy(
        update={
            "iterations": iterations_for(beside_s, iteration_s),
            "warmup": 1 if latency_s > _SLOW_S else warmup,
        }
    )


def prompts_before(observations: Sequence[Observation], benchmark: Benchmark) -> int:
    """Return how often each launch of a pair processes its prompt before it generates.

    One prompt is one sample of the time to the first token, while a generation has one of each token.

    Args:
        observations: What a first launch reported.
        benchmark: The benchmark. Where operators are timed, those of further prompts would be among them: none.
    """
    first_token, generation = _find(observations, FIRST_TOKEN), _find(observations, _GENERATION_TIME)
    if benchmark.operators or first_token is None or generation is None or first_token.unit != generation.unit:
        return 0
    prompt, whole = median(first_token.samples), median(generation.samples)
    filling = (convert(_filling_s(observations, benchmark), "s", first_token.unit) or 0.0) + prompt
    return min(_MOST_PROMPTS, int(_SHARE_OF_PROMPTS * (whole - prompt) / filling)) if filling > 0 else 0


def _generations_to_warm_up(observations: Sequence[Observation]) -> int:
    """Return 1 where the first token of a program's first generation is late, as from pages that are read; else 0.

    One generation shows nothing of later ones, so it warms up.
    """
    first_tokens = _find(observations, FIRST_TOKEN)
    if first_tokens is None or len(first_tokens.samples) < _FIRST_GENERATIONS:
        return 1
    first, *later = first_tokens.samples
    return int(first > _LATE_FIRST_TOKEN * median(later))


def _filling_s(observations: Sequence[Observation], benchmark: Benchmark) -> float:
    """Return about what it takes to fill the context up to its depth, which no stamp shows: at the prompt's rate."""
    rate = _find(observations, _PREFILL_RATE)
    if benchmark.generation is None or rate is None:
        return 0.0
    return benchmark.generation.depth / median(rate.samples)


def _find(observations: Sequence[Observation], name: str) -> Observation | None:
    return next((observation for observation in observations if observation.name == name and observation.samples), None)
