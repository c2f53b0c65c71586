"""Spans of the trace that Glow's runtime writes: one JSON object in each line, with a comma behind it.

{"name": "inference_e2e", "cat": "runtime", "ph": "X", "ts": 12, "dur": 345, "pid": 0, "tid": 1},
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from frameworks.glow.output import MAIN, SECONDARY, MetricSample, SamplesByMetric
from harness.core.metric import Observation
from harness.core.note import Note

END_TO_END: Final = "inference_e2e"
"""Name of the span of a whole inference."""

_LONGEST_LINE: Final = 10_000
_MOST_SPANS: Final = 500_000
_LONGEST_S: Final = 1e12


def parse_trace(path: Path) -> tuple[Sequence[Observation], Sequence[Note]]:
    """Return the durations of each kind of span, in microseconds. The file is read line by line, and to a limit."""
    samples, spans, unread = SamplesByMetric(), 0, ""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            while not unread and (line := file.readline(_LONGEST_LINE)):
                sample = _read_span(line)
                if sample is not None:
                    samples.add(sample)
                    spans += 1
                if spans >= _MOST_SPANS:
                    unread = f"{path.name}: only the first {_MOST_SPANS} spans of the trace are read"
    except OSError as error:
        unread = f"{path.name}: {error.strerror}"
    notes = (Note(code="output_file", message=unread, trust=False),) if unread else ()
    return samples.observations(), notes


def _read_span(line: str) -> MetricSample | None:
    text = line.strip().rstrip(",")
    if not text.startswith("{"):
        return None
    try:
        span: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(span, dict):
        return None
    name, duration = span.get("name"), span.get("dur")
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or isinstance(duration, bool):
        return None
    if not isinstance(duration, int | float) or not 0 <= duration < _LONGEST_S:
        return None
    return MetricSample(MAIN if name == END_TO_END else SECONDARY, name.strip()[:200], "us", float(duration))
