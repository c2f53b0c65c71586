"""Figures of Glow's programs. Names of metrics are FAI-PEP's.

    BenchResult,AddBench,SW,32,10,100,1,4,CPU,Float32,0.000123,12.34    each repetition of a benchmark of an operator:
                                      the last two columns are seconds and gigabytes per second
    individual inference latency [glow]: 123 us                         net_runner, each inference of an implementation
    card latency per batch [glow]:                                      net_runner, percentiles under a heading
      latency(us): p50: 123
    dense: glow vs caffe2(fp16):                                        net_runner, differences of outputs likewise
      abs error p50: 0.001
    Total inference duration (ms): 12.5                                 repro, likewise `Avg inference ...`

What concerns another implementation than Glow has the type `SECONDARY`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.core.metric import Observation

MAIN: Final = "NET"
SECONDARY: Final = "SECONDARY"
_GLOW: Final = "glow"

_LONGEST_LINE: Final = 2000
"""Characters of a line: a longer one is none of these."""
_LONGEST_NAME: Final = 200

_NUMBER: Final = re.compile(r"[+-]?\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,3})?")
_INFERENCE: Final = re.compile(r"individual inference latency \[(\w{1,200})\]: (\d{1,18}) us")
_HEADING: Final = re.compile(r"([^\[\]]{0,200}?)latency per ([^\[\]]{1,200}) \[([^\[\]]{1,200})\]:")
_PERCENTILE: Final = re.compile(r"latency\(([^()]{1,20})\): p(\d{1,3}(?:\.\d{1,3})?): (\S{1,40})", re.IGNORECASE)
_PAIR: Final = re.compile(r"[^:]{1,200}: (\S{1,200}) vs ([^\s()]{1,200}) ?\([^()]{0,200}\):?")
_ERROR: Final = re.compile(r"abs error p(\d{1,3}(?:\.\d{1,3})?): (\S{1,40})", re.IGNORECASE)
_REPRO: Final = {
    "Total inference duration (ms): ": ("Total inference duration", "ms"),
    "Avg inference duration (ms): ": ("Avg inference duration", "ms"),
    "Avg inference per second: ": ("Avg inference per second", "inferences/s"),
}


class MetricSample(NamedTuple):
    """One sample with its metric."""

    type: str
    metric: str
    unit: str
    value: float


class SamplesByMetric:
    """Samples by metric, in order of first mention."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str, str], list[float]] = {}

    def add(self, sample: MetricSample) -> None:
        """Add a sample."""
        self._samples.setdefault(sample[:3], []).append(sample.value)

    def observations(self) -> tuple[Observation, ...]:
        """Return one observation for each metric."""
        return tuple(
            Observation(type=type_, metric=metric, unit=unit, samples=tuple(samples))
            for (type_, metric, unit), samples in self._samples.items()
        )


def parse_output(text: str) -> tuple[Observation, ...]:
    """Parse the figures in the output of a launch. Never raises; the time is linear in the text."""
    samples = SamplesByMetric()
    section: tuple[str, str] | None = None
    for line in text.split("\n"):
        stripped = line.strip()
        if len(stripped) > _LONGEST_LINE:
            continue
        section = _read_section(stripped) or section
        for sample in (*_read_line(stripped), *_read_percentile(stripped, section)):
            samples.add(sample)
    return samples.observations()


def parse_number(text: str) -> float | None:
    """Return a finite number; None for anything else."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def _read_line(line: str) -> Iterator[MetricSample]:
    """Yield the figures of a line that stands for itself."""
    if line.startswith("BenchResult,"):
        fields = line.split(",")
        numbers = [parse_number(field.strip()) for field in fields[-2:]]
        if len(fields) >= 5 and 0 < len(fields[1]) <= _LONGEST_NAME and None not in numbers:
            for type_, metric, unit, number in zip(
                (MAIN, SECONDARY), ("runtime", "throughput"), ("s", "GB/s"), numbers, strict=True
            ):
                yield MetricSample(type_, f"{fields[1]}:{metric}", unit, number or 0.0)
    elif (match := _INFERENCE.fullmatch(line)) is not None:
        yield MetricSample(_type_of(match[1]), f"{match[1]} net_runner inference", "us", float(match[2]))
    for label, (metric, unit) in _REPRO.items():
        at = line.find(label)
        value = parse_number(line[at + len(label) :].strip()) if at >= 0 else None
        if value is not None:
            yield MetricSample(MAIN, metric, unit, value)


def _read_section(line: str) -> tuple[str, str] | None:
    """Return type and metric of the percentiles below a heading; None where a line is no heading."""
    if (match := _HEADING.fullmatch(line)) is not None:
        card, kind, name = match.groups()
        return _type_of(name), f"{name} net_runner {'card ' if card else ''}{kind}"
    if (match := _PAIR.fullmatch(line)) is not None:
        first, second = sorted(match.groups())
        return MAIN, f"{first} vs {second} abs error"
    return None


def _read_percentile(line: str, section: tuple[str, str] | None) -> Iterator[MetricSample]:
    if section is None:
        return
    latency, error = _PERCENTILE.search(line), _ERROR.search(line)
    match = error if section[1].endswith(" abs error") else latency
    if match is None:
        return
    *unit, percentile, number = match.groups()
    value = parse_number(number)
    if value is not None:
        yield MetricSample(section[0], f"{section[1]} p{percentile}", unit[0].lower() if unit else "", value)


def _type_of(name: str) -> str:
    return MAIN if name == _GLOW else SECONDARY
