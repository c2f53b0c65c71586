"""Numbers about the server itself, as OpenMetrics (https://prometheus.io/docs/specs/om/open_metrics_spec/)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Final

import psutil

CONTENT_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServerMetrics:
    """Counters of one server; used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._results: Counter[str] = Counter()

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request.

        Args:
            method: HTTP method.
            route: Pattern of its path, of which there are few.
            status: Status of the answer.
            seconds: How long it took.
        """
        with self._lock:
            self._requests[method, route, status] += 1
            buckets = self._durations.setdefault(route, [0] * (len(_BOUNDS_S) + 1))
            buckets[bisect_left(_BOUNDS_S, seconds)] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def count_result(self, state: str) -> None:
        """Count a posted result by what became of it."""
        with self._lock:
            self._results[state] += 1

    def render(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Return all numbers as text.

        Args:
            gauges: Further numbers: help and value by name.
        """
        with self._lock:
            lines = [*self._render_requests(), *self._render_durations(), *self._render_results()]
        memory = float(psutil.Process().memory_info().rss)
        resident = {"process_resident_memory_bytes": ("Memory of this process.", memory)}
        for name, (help_text, value) in {**gauges, **resident}.items():
            lines += [f"# TYPE {name} gauge", f"# HELP {name} {help_text}", f"{name} {value:.17g}"]
        return "\n".join((*lines, "# EOF\n"))

    def _render_requests(self) -> list[str]:
        name = "harness_http_requests"
        lines = [f"# TYPE {name} counter", f"# HELP {name} Requests that were answered."]
        for (method, route, status), count in sorted(self._requests.items()):
            lines.append(f'{name}_total{{method="{method}",route="{_label(route)}",status="{status}"}} {count}')
        return lines

    def _render_durations(self) -> list[str]:
        name = "harness_http_request_seconds"
        lines = [f"# TYPE {name} histogram", f"# HELP {name} Time until an answer was sent."]
        for route, buckets in sorted(self._durations.items()):
            label, total = f'route="{_label(route)}"', 0
            for bound, count in zip((*map(str, _BOUNDS_S), "+Inf"), buckets, strict=True):
                total += count
                lines.append(f'{name}_bucket{{{label},le="{bound}"}} {total}')
            lines.append(f"{name}_count{{{label}}} {total}")
            lines.append(f"{name}_sum{{{label}}} {self._seconds[route]:.6f}")
        return lines

    def _render_results(self) -> list[str]:
        name = "harness_results_posted"
        lines = [f"# TYPE {name} counter", f"# HELP {name} Results that were posted, by what became of them."]
        return lines + [f'{name}_total{{state="{state}"}} {count}' for state, count in sorted(self._results.items())]


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
