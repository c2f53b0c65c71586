"""Summaries of samples, and metrics collected from the launches of a result."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from harness.core.metric import Direction, Metric, Observation, convert, direction_of
from harness.core.note import Note
from harness.core.order_statistics import median_deviation, quantile

STANDARD: Final = ("mean", "p0", "p10", "p50", "p90", "p100", "stdev", "MAD", "cv", "min", "max", "n")
"""Statistics of every metric: FAI-PEP's set (`benchmark_driver.py`) with the extremes under their usual names, and the
number of samples."""

_TAILS: Final = MappingProxyType({"token_latency": ("p99",), "response_time": ("p99",)})
"""Further statistics of metrics whose slowest samples are what people feel."""

_NOT_PERCENTILES: Final = frozenset({"mean", "stdev", "MAD", "cv", "min", "max", "n"})

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")

_COMPARED: Final = frozenset({"mean", "stdev", "MAD", "cv"})
"""Statistics beside percentiles that FAI-PEP keeps of a control."""

_DIGITS: Final = 15
"""FAI-PEP rounds differences to this many."""

Summary = Mapping[str, float | None]


def summarise(samples: Sequence[float], names: Sequence[str] = ()) -> dict[str, float | None]:
    """Summarise the samples of one metric, by FAI-PEP's names and definitions.

    `pN` interpolates linearly at position (n - 1) N / 100 of the sorted samples; `stdev` is the population's (divided
    by n); `MAD` is the median of the absolute deviations from the median, unscaled; `cv` is stdev / mean.

    Args:
        samples: Finite numbers, at least one, in any order.
        names: Statistics beside `STANDARD`: `pN` with N from 0 to 100, fractions allowed (`p99.9`).

    Returns:
        Each statistic in the unit of the samples. None where it is not defined (`cv` of a zero mean) or leaves the
        range of a double.

    Raises:
        ValueError: There is no sample, one is not finite, or a name is unknown.
    """
    if not samples or not all(map(math.isfinite, samples)):
        raise ValueError("a summary needs at least one sample, and finite ones only")
    shares = {name: _percent(name) / 100 for name in (*STANDARD, *names) if name not in _NOT_PERCENTILES}
    ordered = sorted(samples)
    mean = _mean(ordered)
    stdev = math.sqrt(_mean([(sample - mean) * (sample - mean) for sample in ordered]))
    statistics = {
        **{name: quantile(ordered, share) for name, share in shares.items()},
        "mean": mean,
        "stdev": stdev,
        "MAD": median_deviation(ordered),
        "cv": stdev / mean if mean else math.nan,
        "min": ordered[0],
        "max": ordered[-1],
        "n": float(len(ordered)),
    }
    return {name: _finite(statistics[name]) for name in dict.fromkeys((*STANDARD, *names))}


def collect(
    launches: Sequence[Sequence[Observation]],
    statistics: Sequence[str] = (),
    direction: Mapping[str, Direction] = MappingProxyType({}),
) -> tuple[tuple[Metric, ...], tuple[Note, ...]]:
    """Combine the observations of the launches of one result into metrics.

    Args:
        launches: The observations of each launch, in order; empty for a launch without any, so that positions are
            launch indices.
        statistics: Statistics beside the standard ones.
        direction: Which way is better, where it is known for certain (see `harness.core.metric.direction_of`).

    Returns:
        One metric for each name, in order of first mention, in the unit of its first launch. Samples count more than
        summaries that the program computed itself. Notes say what could not be combined.

    Raises:
        ValueError: A statistic is unknown.
    """
    collected: dict[str, _MetricBuilder] = {}
    for index, observations in enumerate(launches):
        for observation in observations:
            _builder_of(observation, collected).add(index, observation)
    metrics = [builder.build(name, statistics, direction) for name, builder in collected.items()]
    notes = [note for name, builder in collected.items() for note in builder.notes(name)]
    notes.extend(_unknown_directions(direction, metrics))
    return tuple(metrics), tuple(notes)


def control_summary(control: Summary) -> dict[str, float | None]:
    """Return the control's statistics that FAI-PEP knows: percentiles, mean, stdev, MAD and cv."""
    return {name: value for name, value in control.items() if name in _COMPARED or _decimal_percent(name) is not None}


def diff_summary(treatment: Summary, control: Summary) -> dict[str, float | None]:
    """Return treatment minus control, statistic by statistic, in their unit; percentile X minus percentile 100 - X.

    The reflected percentiles enclose what may have happened, and are not percentiles of a difference. None where one of
    the two is not defined. Statistics without a counterpart are left out. FAI-PEP finds none for fractional
    percentiles (100 - 99.9 is not 0.1 in binary); here they have one.

    Args:
        treatment: Summary of the treatment's metric (`Metric.summary`).
        control: That of the control's, in the same unit.
    """
    pairs = ((name, _counterpart(name)) for name in treatment)
    return {
        name: _difference(treatment[name], control[counterpart])
        for name, counterpart in pairs
        if counterpart is not None and counterpart in control
    }


@dataclass(slots=True)
class _MetricBuilder:
    """One metric while it is collected. `infos` holds for each text the first launch that reported it."""

    first: Observation
    samples: list[float] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    summaries: list[dict[str, float]] = field(default_factory=list)
    infos: dict[str, int] = field(default_factory=dict)

    def add(self, launch: int, observation: Observation) -> None:
        samples = _convert_samples(observation, self.first.unit) or ()
        self.samples.extend(samples)
        self.launches.extend([launch] * len(samples))
        if observation.summary is not None:
            self.summaries.append(observation.summary)
        if observation.info is not None:
            self.infos.setdefault(observation.info, launch)

    def build(self, name: str, statistics: Sequence[str], direction: Mapping[str, Direction]) -> Metric:
        summary: dict[str, float | None] = {}
        if self.samples:
            summary = summarise(self.samples, (*_TAILS.get(self.first.metric, ()), *statistics))
        elif self.summaries:
            summary = dict(self.summaries[0])
        return Metric(
            name=name,
            type=self.first.type,
            metric=self.first.metric,
            unit=self.first.unit,
            direction=direction_of(self.first.name, self.first.unit, direction) if summary else None,
            samples=tuple(self.samples),
            launches=tuple(self.launches),
            summary=summary,
            info=next(iter(self.infos), None),
        )

    def notes(self, name: str) -> Iterator[Note]:
        if name != self.first.name:
            yield Note(code="units", message=f"{self.first.name} came in units that do not convert; see {name}")
        if len(self.infos) > 1:
            others = ", ".join(f"{info!r} (launch {launch})" for info, launch in list(self.infos.items())[:4])
            yield Note(code="info_differs", message=f"{name} is not one text: {others}; the first is kept")
        if self.summaries and self.samples:
            yield Note(code="summary_left_out", message=f"{name} has samples; the program's own summary is left out")
        elif len(self.summaries) > 1:
            yield Note(
                code="summary_left_out",
                message=f"{name} came as {len(self.summaries)} summaries without samples; the first is kept",
                hint="print every sample as a `value`, so that launches can be combined",
            )


def _unknown_directions(direction: Mapping[str, Direction], metrics: Sequence[Metric]) -> Iterator[Note]:
    """Note directions of metrics that were not measured: most likely a typing mistake."""
    known = {name for metric in metrics for name in (metric.name, metric.name.partition(" ")[2])}
    missing = sorted(direction.keys() - known)
    if missing and metrics:
        measured = ", ".join(metric.name for metric in metrics)
        message = f"`direction` names {', '.join(missing)}, which was not measured; measured were {measured}"
        yield Note(code="direction", message=message, hint="correct the name in the specification")


def _builder_of(observation: Observation, collected: dict[str, _MetricBuilder]) -> _MetricBuilder:
    """Return the builder of an observation: that of its name, or another one where its unit does not convert."""
    name = observation.name
    first = collected.setdefault(name, _MetricBuilder(observation)).first
    if observation.info is None and _convert_samples(observation, first.unit) is None:
        name = f"{name} ({observation.unit or 'no unit'})"
    return collected.setdefault(name, _MetricBuilder(observation))


def _convert_samples(observation: Observation, unit: str) -> Sequence[float] | None:
    """Return the samples in another unit; None where they do not convert, or leave the range of a double."""
    if observation.unit == unit:
        return observation.samples
    if convert(1.0, observation.unit, unit) is None:
        return None
    samples = [convert(sample, observation.unit, unit) for sample in observation.samples]
    finite = [sample for sample in samples if sample is not None and math.isfinite(sample)]
    return finite if len(finite) == len(samples) else None


def _mean(values: Sequence[float]) -> float:
    """Return the mean, rounded once; NaN where the sum leaves the range of a double."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return math.nan


def _percent(name: str) -> float:
    match = _PERCENTILE.fullmatch(name)
    if match is None or not 0 <= float(match.group(1)) <= 100:
        raise ValueError(f"unknown statistic `{name}`: known are mean, stdev, MAD, cv, min, max, n and p0 to p100")
    return float(match.group(1))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _counterpart(name: str) -> str | None:
    percent = _decimal_percent(name)
    if percent is not None:
        return f"p{(100 - percent).normalize():f}"
    return name if name in _COMPARED else None


def _decimal_percent(name: str) -> Decimal | None:
    match = _PERCENTILE.fullmatch(name)
    return None if match is None else Decimal(match.group(1))


def _difference(treatment: float | None, control: float | None) -> float | None:
    return None if treatment is None or control is None else round(treatment - control, _DIGITS)
