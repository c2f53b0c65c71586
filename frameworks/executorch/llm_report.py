"""The report in sentences that ExecuTorch's LLM runners log after a generation: all that an app's log has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frameworks.notes import find_observation
from frameworks.observations.collector import EXECUTORCH_STATS, ObservationCollector
from frameworks.observations.forms import read_object
from harness.core.generation import GENERATION
from harness.core.metric import Observation
from harness.formats.executorch_stats import read_reports

_PRINTED: Final = ("inference_time", "generated_tokens", "generation_time")
"""Metrics of statistics in JSON, and of time stamps."""


def parse_report(log: str, observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Parse the reports in a log; none where statistics or time stamps were printed as well.

    Args:
        log: The output of a launch.
        observations: What its observer lines say.
    """
    printed = (f"{type_} {metric}" for type_ in (GENERATION, EXECUTORCH_STATS) for metric in _PRINTED)
    if any(find_observation(observations, name) is not None for name in printed):
        return ()
    collector = ObservationCollector()
    for report in read_reports(log):
        read_object(report.fields, collector)
    return collector.observations()
