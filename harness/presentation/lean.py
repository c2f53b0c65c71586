"""Results without their samples, for reporters that keep all of a run in memory and show none."""

from __future__ import annotations

from harness.core.metric import Metric
from harness.core.result import Result


def without_samples(result: Result) -> Result:
    """The result with statistics and pairs, but without the single values of either side."""
    return result.model_copy(update={"metrics": tuple(map(_lean, result.metrics))})


def _lean(metric: Metric) -> Metric:
    control = metric.control
    if control is not None:
        control = control.model_copy(update={"control_values": (), "control_launches": ()})
    return metric.model_copy(update={"samples": (), "launches": (), "control": control})
