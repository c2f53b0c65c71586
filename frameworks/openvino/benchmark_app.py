"""Output of OpenVINO's `benchmark_app`, the one in Python and that in C++: lines `[ INFO ] name: number unit`.

It prints statistics of the latency and no samples. With `-pc` it prints each node of each infer request with its mean
time. Source: `openvino/tools/benchmark` of releases 2025.4 and 2026.4, `samples/cpp/benchmark_app`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from frameworks.observations.converters import Parsed
from harness.core.benchmark import Benchmark
from harness.core.command import Completed
from harness.core.metric import Observation, convert
from harness.core.note import Note

_LONGEST: Final = 1000
"""Characters of a line that is read."""

_NUMBER: Final = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_STATISTIC: Final = re.compile(rf"\[ INFO \] +(Median|Average|Min|Max|\d{{1,2}} percentile): +{_NUMBER} (us|ms|s)")
_PHASE: Final = re.compile(rf"\[ INFO \] (Read model|Compile model|First inference) took {_NUMBER} (us|ms|s)")
_FIGURE: Final = re.compile(rf"\[ INFO \] (Count|Throughput): +{_NUMBER} (iterations|FPS)")
_SETTING: Final = re.compile(r"\[ INFO \] +(INFERENCE_PRECISION_HINT|INFERENCE_NUM_THREADS|NUM_STREAMS): +(.+)")
_START: Final = re.compile(r".*Start inference (a?synchronously)(?:, (\d+) inference requests)?")
_REQUEST: Final = re.compile(r"\[ INFO \] Performance counts for (\d+)-th infer request")
_NODE: Final = re.compile(rf".*? (?:Status\.)?EXECUTED +layerType: (\S+) +execType: \S+ +realTime \(ms\): {_NUMBER} .*")

_STATISTICS: Final = {"Median": "p50", "Average": "mean", "Min": "p0", "Max": "p100"}
_PHASES: Final = {"Read model": "read_time", "Compile model": "compile_time", "First inference": "first_iteration"}
_SETTINGS: Final = {
    "INFERENCE_PRECISION_HINT": "precision",
    "INFERENCE_NUM_THREADS": "threads",
    "NUM_STREAMS": "streams",
}

_PRECISIONS: Final = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
"""Names of precisions by those that the tool in Python prints; that in C++ prints ours."""


@dataclass(slots=True)
class _Printed:
    """What one program printed; of each figure the last counts, because a log may be printed twice."""

    summary: dict[str, float] = field(default_factory=dict)
    figures: dict[str, Observation] = field(default_factory=dict)
    operators: dict[int, list[tuple[str, float]]] = field(default_factory=dict)
    requests: int = 1
    request: int | None = None

    def read(self, line: str) -> None:
        """Read one line."""
        if match := _STATISTIC.fullmatch(line):
            name = _STATISTICS.get(match[1]) or f"p{match[1].partition(' ')[0]}"
            self.summary[name] = convert(float(match[2]), match[3], "ms") or 0.0
        elif match := _PHASE.fullmatch(line):
            self._add("RUN", _PHASES[match[1]], match[3], float(match[2]))
        elif match := _FIGURE.fullmatch(line):
            if match[1] == "Count":
                self.summary["n"] = float(match[2])
            else:
                self._add("NET", "throughput", "1/s", float(match[2]))
        elif match := _SETTING.fullmatch(line):
            self._describe(_SETTINGS[match[1]], match[2].strip())
        elif match := _START.match(line):
            self.requests = int(match[2] or 1)
        elif match := _REQUEST.fullmatch(line):
            self.request = int(match[1])
            self.operators[self.request] = []
        elif self.request is not None and (match := _NODE.fullmatch(line)):
            self.operators[self.request].append((match[1], float(match[2])))

    def operator_observations(self) -> Iterator[Observation]:
        """Yield the times of the nodes that were executed, in their order: a sample for each infer request."""
        requests = list(self.operators.values())
        if not requests or self.has_unequal_requests:
            return
        seen: Counter[str] = Counter()
        for place, (kind, _) in enumerate(requests[0]):
            seen[kind] += 1
            samples = tuple(nodes[place][1] for nodes in requests)
            yield Observation(type=f"{kind} #{seen[kind]}", metric="latency", unit="ms", samples=samples)

    @property
    def has_unequal_requests(self) -> bool:
        """Whether requests executed different nodes, so that these cannot be laid beside each other."""
        return len({tuple(kind for kind, _ in nodes) for nodes in self.operators.values()}) > 1

    def _add(self, type_: str, metric: str, unit: str, value: float) -> None:
        self.figures[metric] = Observation(type=type_, metric=metric, unit=unit, samples=(value,))

    def _describe(self, metric: str, text: str) -> None:
        if text.isascii() and text.isdecimal():
            self._add("RUN", metric, "", float(text))
        else:
            words = text.removeprefix("<Type: '").removesuffix("'>")
            info = _PRECISIONS.get(words, words)
            self.figures[metric] = Observation(type="RUN", metric=metric, unit="", info=info)


def read_output(completed: Sequence[Completed], benchmark: Benchmark) -> Parsed:  # noqa: ARG001 - a `ReadOutput`
    """Return the observations of a launch; none where it was no `benchmark_app`, or failed."""
    printed = _Printed()
    for command in completed:
        for line in command.stdout.splitlines():
            if len(line) <= _LONGEST:
                printed.read(line.rstrip())
    if not {"p50", "mean"} & printed.summary.keys() or not all(command.ok for command in completed):
        return (), ()
    latency = Observation(type="NET", metric="latency", unit="ms", summary=printed.summary)
    return (latency, *printed.figures.values(), *printed.operator_observations()), tuple(_note(printed))


def _note(printed: _Printed) -> Iterator[Note]:
    if printed.requests > 1:
        yield Note(
            code="benchmark_app",
            message=f"{printed.requests} requests were executed beside each other: the latency contains their waiting",
            hint="start it with -hint latency -api sync",
            trust=False,
        )
    if printed.has_unequal_requests:
        yield Note(
            code="benchmark_app_nodes",
            message="the requests of benchmark_app executed different nodes: their times are left out",
        )
    if "p50" not in printed.summary:
        yield Note(
            code="benchmark_app",
            message="benchmark_app printed no median",
            hint="leave out -latency_percentile, or set it to 50",
        )
