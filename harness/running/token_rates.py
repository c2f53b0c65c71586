"""Rates of single tokens: what a launch of one generation has of its decode rate beside one mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.generation import GENERATION
from harness.core.metric import Observation, convert

_TOKEN_LATENCY: Final = f"{GENERATION} token_latency"

_DISTINCT: Final = 0.5
"""Share of the tokens that take times of their own. Fewer tell that the clock is too coarse for single tokens, as where
a program prints whole milliseconds: their quantiles would jump by its step."""


def tells_tokens_apart(observations: Sequence[Observation]) -> bool:
    """Return whether a launch reports the times of single tokens, by a clock that tells them apart."""
    latencies = _find_latencies(observations)
    return latencies is not None and len(set(latencies.samples)) >= _DISTINCT * len(latencies.samples)


def rates_of_tokens(observations: Sequence[Observation]) -> tuple[float, ...] | None:
    """Return the rate of each token after the first of a generation, in tokens/s.

    A token that other work interrupts takes twice as long, and the mean of a generation with it. Most tokens are not
    interrupted, and the statistics of a launch are those of all (docs/decisions/0089).

    Args:
        observations: What one launch reported.

    Returns:
        None where the launch reports no token's time.
    """
    latencies = _find_latencies(observations)
    if latencies is None or (second := convert(1.0, "s", latencies.unit)) is None:
        return None
    return tuple(second / latency for latency in latencies.samples)


def _find_latencies(observations: Sequence[Observation]) -> Observation | None:
    latencies = next((each for each in observations if each.name == _TOKEN_LATENCY and each.samples), None)
    return latencies if latencies is not None and min(latencies.samples) > 0 else None
