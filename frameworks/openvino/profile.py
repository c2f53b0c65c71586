"""Times of operators, from the counters of OpenVINO: means of all executions since the model was compiled."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from frameworks.python_runner.engine import OperatorTimes

if TYPE_CHECKING:
    from datetime import timedelta
    from typing import Protocol

    class Counter(Protocol):
        """Counter of one node."""

        node_name: str
        node_type: str
        exec_type: str
        real_time: timedelta


_KEPT: Final = 1000
"""Number of means that are kept beside the last: those of warm-up, of which there are fewer."""


class NodeProfile:
    """Means of the nodes that were executed, after each execution."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._means: list[array[int]] = []

    def add(self, counters: Sequence[Counter]) -> None:
        """Add the counters as they are after an execution, or before the first."""
        if len(self._means) > _KEPT:
            self._means.pop()
        self._means.append(array("q", [round(counter.real_time.total_seconds() * 1e6) for counter in counters]))
        self._names = [counter.node_name for counter in counters]

    def times(self, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
        """Return the mean of each node over the timed iterations, nodes without time left out.

        A mean in whole microseconds, rounded down, of n executions tells their sum within n microseconds: the mean of
        the last `iterations` of them is off by `1 + skipped / iterations` microseconds at most, at either side.

        Args:
            skipped: Executions before them.
            iterations: Their number.
        """
        before = min(skipped, _KEPT - 1)
        if not self._means or not iterations:
            return ()
        first = self._means[before] if before and len(self._means) > before else array("q", [0] * len(self._names))
        total = skipped + iterations
        timed = total - before
        return tuple(
            OperatorTimes(name, str(place), (max(0.0, (total * (last + 0.5) - before * (begun + 0.5)) / timed),))
            for place, (name, last, begun) in enumerate(zip(self._names, self._means[-1], first, strict=True))
            if last > 0
        )
