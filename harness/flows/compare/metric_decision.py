"""Decision on one metric of a comparison: its pairs so far, and the test of them.

The metrics of a comparison share its launches, and each has a verdict of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.recompute import Conclusion, draw_conclusion, withhold_no_change
from harness.core.comparison import Pair, Parameters
from harness.core.metric import is_counted
from harness.core.verdict import Verdict
from harness.running.compared_metric import ComparedMetric


class MetricDecision:
    """Pairs of one metric, and what they show.

    Args:
        metric: The metric, as far as it is known.
        parameters: How to decide.
    """

    def __init__(self, metric: ComparedMetric, parameters: Parameters) -> None:
        self._metric = metric
        self._parameters = parameters
        self._pairs: list[Pair] = []
        self._test = SequentialTest(parameters, metric.higher_is_better)
        self._doubt: str | None = None

    @property
    def metric(self) -> ComparedMetric:
        """The metric, as far as it is known."""
        return self._metric

    @property
    def pairs(self) -> Sequence[Pair]:
        """Its pairs, in measured order."""
        return self._pairs

    @property
    def test(self) -> SequentialTest:
        """The test of its pairs."""
        return self._test

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that will be reported, as far as it is known; None while pairs are wanted."""
        return None if self._test.verdict() is None else self.conclusion().verdict

    def begin(self, metric: ComparedMetric) -> None:
        """Begin anew with what the first launch has shown of the metric."""
        self._metric = metric
        self._pairs = []
        exact = is_counted(metric.name or "", metric.unit)
        self._test = SequentialTest(self._parameters, metric.higher_is_better, exact=exact)

    def add(self, pair: Pair) -> None:
        """Add one more pair."""
        self._pairs.append(pair)
        self._test.add(pair)

    def update_lost(self, seconds: float, doubt: str | None) -> None:
        """Replace what is known of the launches that are part of no pair.

        Args:
            seconds: Their device time.
            doubt: Why the pairs may not speak for all launches; None where they do.
        """
        self._doubt = doubt
        self._test.update_overhead(seconds)

    def conclusion(self) -> Conclusion:
        """Return what the pairs show, as far as they speak for all launches."""
        return withhold_no_change(draw_conclusion(self._test), self._doubt)
