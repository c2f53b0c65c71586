"""Metric that a comparison is about: chosen from the first launch, then read from each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.metric import (
    COMPARED_ENERGIES,
    DECODE_RATE,
    ENERGY,
    ENERGY_METRICS,
    FIRST_TOKEN,
    LATENCY,
    Direction,
    Observation,
    convert,
    direction_of,
)
from harness.running.token_rates import rates_of_tokens, tells_tokens_apart

_LEAST_NET: Final = 0.1
"""Share of the whole energy that is net of the baseline, from which on ratios of it are compared: of a smaller one they
are mostly noise of the baseline, and may be negative."""


class ComparedMetric(Struct, frozen=True):
    """Metric that both sides of a comparison report, as far as it is known.

    Attributes:
        name: Its whole name, for example `NET latency`; None takes the latency, else the decode rate of a generation,
            else the first that has samples.
        unit: The unit of the control's first launch, in which everything is compared; empty before it.
        directions: Which way is better, where it is stated (see `harness.core.metric.direction_of`).
        is_energy: Whether energy is what the benchmark is about: its metrics go before the latency.
        is_optional: Whether it is compared only where the control reports it: nobody asked for it by name.
        is_by_token: Whether the figures of a launch are those of its tokens, and not of its generations: the same for
            every launch of a comparison, so that it is chosen once.
    """

    name: str | None = None
    unit: str = ""
    directions: Mapping[str, Direction] = field(default_factory=dict)
    is_energy: bool = False
    is_optional: bool = False
    is_by_token: bool = False

    @property
    def short_name(self) -> str:
        """Its name without the type, in words: `time to first token`; empty where it is not known."""
        return (self.name or "").rpartition(" ")[2].replace("_", " ")

    @property
    def higher_is_better(self) -> bool:
        """True if larger values are better."""
        return direction_of(self.name or "", self.unit, self.directions) is Direction.HIGHER

    def find(self, observations: Sequence[Observation]) -> Observation | None:
        """Return the metric from the observations of one launch; None where it has no value."""
        sampled = [
            observation
            for observation in observations
            if values_of(observation) and self.name in {None, observation.name}
        ]
        energy = _find_energy(sampled) if self.is_energy and self.name is None else None
        preferred = (
            observation for name in (LATENCY, DECODE_RATE) for observation in sampled if observation.name == name
        )
        return energy or next(preferred, sampled[0] if sampled else None)

    def choose_metric(self, observation: Observation) -> ComparedMetric:
        """Return the metric as it is known after the first launch of the control."""
        return replace(self, name=observation.name, unit=self.unit or observation.unit)

    def choose_figures(self, launches: Sequence[Sequence[Observation]]) -> ComparedMetric:
        """Return the metric with the figures that all these launches can give, the first of each program."""
        by_token = self.name == DECODE_RATE and all(map(tells_tokens_apart, launches))
        return replace(self, is_by_token=by_token)

    def values(self, observations: Sequence[Observation]) -> tuple[float, ...] | None:
        """Return what one launch reported, converted to `unit`; None where that cannot be compared as ratios."""
        observation = self.find(observations)
        factor = None if observation is None else convert(1.0, observation.unit, self.unit)
        if observation is None or factor is None or min(values_of(observation)) <= 0:
            return None
        values = rates_of_tokens(observations) if self.is_by_token else values_of(observation)
        return None if values is None else tuple(value * factor for value in values)

    def explain_unit(self, observation: Observation) -> str | None:
        """Explain that a unit does not convert to that of the control; None where it does."""
        if convert(1.0, observation.unit, self.unit) is not None:
            return None
        reported, wanted = (unit or "no unit" for unit in (observation.unit, self.unit))
        return f"it reports {observation.name} in {reported}, and the control in {wanted}"

    def explain_missing(self, observations: Sequence[Observation]) -> str:
        """Explain why nothing that one launch reported can be compared."""
        observation = self.find(observations)
        if observation is None:
            return f"it reported no samples of {self.name}"
        if self.is_by_token and rates_of_tokens(observations) is None:
            return "it reported no times of single tokens, as the first launches did"
        smallest = f"{min(values_of(observation)):g} {observation.unit}".rstrip()
        return self.explain_unit(observation) or f"it reported {smallest}, of which there is no ratio"


def find_further_metrics(
    benchmark: Benchmark, asked: Sequence[str], *, with_first_token: bool
) -> tuple[ComparedMetric, ...]:
    """Return the further metrics of a benchmark that are compared by the launches of the first.

    Args:
        benchmark: The benchmark.
        asked: Names of all metrics that are asked for, the one that it is about first.
        with_first_token: Whether generations are compared by the time to their first token too, where none is asked
            for.
    """
    if not asked and with_first_token and benchmark.generation is not None:
        return (ComparedMetric(FIRST_TOKEN, directions=benchmark.direction, is_optional=True),)
    return tuple(ComparedMetric(name, directions=benchmark.direction) for name in dict.fromkeys(asked[1:]))


def _find_energy(observations: Sequence[Observation]) -> Observation | None:
    """Return the energy to compare: net of the baseline, of an iteration if possible; whole where little is net."""
    by_name = {observation.name: observation for observation in observations if observation.metric in ENERGY_METRICS}
    for name in COMPARED_ENERGIES:
        energy = by_name.get(name)
        whole = by_name.get(f"{energy.type} {ENERGY}") if energy is not None else None
        if energy is not None and whole is not None and min(energy.samples) >= _LEAST_NET * max(whole.samples) > 0:
            return energy
    return None


def values_of(observation: Observation) -> tuple[float, ...]:
    """Return the samples of an observation; the median or mean where the runner summarised them itself."""
    summary = observation.summary or {}
    center = next((summary[name] for name in ("p50", "median", "mean") if name in summary), None)
    return observation.samples or (() if center is None else (center,))
