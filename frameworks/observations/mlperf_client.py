"""Results of MLPerf Client in what a program writes: its `results.json`, or a copy of a line of it.

The line gives one sample of each of its means. A file with several is refused: MLPerf Client appends, so that earlier
runs would be taken for this one.
"""

from __future__ import annotations

from collections.abc import Mapping

from frameworks.observations.collector import BadObservation, ObservationCollector, quote
from harness.core.foreign import ForeignProblem
from harness.formats.json_entries import Placed, parse_entry
from harness.formats.mlperf_client import TYPE, MlperfClientEntry

_MAIN = ((TYPE, "decode_rate"),)


def read_entry(item: Mapping[str, object], collector: ObservationCollector) -> None:
    """Add the figures of a line.

    Raises:
        BadObservation: It cannot be read, MLPerf Client calls it failed, or it is not the only one.
    """
    entry = parse_entry(MlperfClientEntry, Placed(1, dict(item)))
    if isinstance(entry, ForeignProblem):
        raise BadObservation(f"a result of MLPerf Client: {entry.reason}", _MAIN)
    if entry.failure is not None:
        raise BadObservation(entry.failure, _MAIN)
    figures = tuple(entry.figures())
    if not figures:
        raise BadObservation("a result of MLPerf Client without figures: all are 0 or missing", _MAIN)
    if any(key[:2] == (TYPE, "configuration") for key, _ in collector.infos):
        raise BadObservation(
            f"a second result of MLPerf Client in one output, of {quote(entry.configuration)}: it appends to its file, "
            "which may hold earlier runs; let it write to a new folder, and measure one configuration in a benchmark",
            _MAIN,
        )
    for figure in figures:
        collector.add_sample(figure.type, figure.metric, figure.unit, figure.value)
    collector.add_info(TYPE, "configuration", "", entry.configuration)
    if entry.verified is not None:
        collector.add_info(TYPE, "results_verified", "", "yes" if entry.verified else "no")
