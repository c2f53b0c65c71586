"""What upstream's `executor_runner` logs (examples/portable/executor_runner/executor_runner.cpp)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.core.metric import Observation

_LOADED = re.compile(r"Model loaded in ([0-9.]+) ms\.")
_ITERATION = re.compile(r"Iteration \d+ of \d+: ([0-9.]+) ms")
_EXECUTED = re.compile(r"Model executed successfully (\d{1,9}) time\(s\) in ([0-9.]+) ms\.")


def parse_log(log: str) -> tuple[Observation, ...]:
    """The metrics of a launch.

    Matches the messages alone: their line numbers and times move with commits. Releases before 1.3 log the total of
    all executions only, which becomes a mean.
    """
    loaded = _milliseconds(_LOADED.findall(log))
    iterations = _milliseconds(_ITERATION.findall(log))
    totals = [(int(count), value) for count, text in _EXECUTED.findall(log) for value in _milliseconds([text])]
    found = []
    if iterations:
        found.append(Observation(type="NET", metric="latency", unit="ms", samples=iterations))
    elif executions := sum(count for count, _ in totals):
        mean = sum(value for _, value in totals) / executions
        found.append(Observation(type="NET", metric="latency", unit="ms", summary={"mean": mean}))
    if loaded:
        found.append(Observation(type="RUN", metric="load_time", unit="ms", samples=loaded))
    return tuple(found)


def _milliseconds(texts: Sequence[str]) -> tuple[float, ...]:
    return tuple(float(text) for text in texts if re.fullmatch(r"\d{1,18}(\.\d{1,18})?", text))
