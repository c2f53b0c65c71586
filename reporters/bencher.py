"""`--reporter bencher=FILE.json`: Bencher's metric format, `{benchmark: {measure: {value, lower_value, upper_value}}}`.

The value is the median, the bounds are its interval over launches. Bencher's own measure `latency` is in nanoseconds
(https://bencher.dev/docs/explanation/adapters/); other measures have their unit in their name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from harness.config.settings import Settings
from harness.core.metric import LATENCY
from harness.core.result import Result
from reporters.exports.figures import ExportedFigure, Omissions, fixed_unit, name_series, select_figures
from reporters.exports.reporter import ExportedRun, ExportReporter, create_export_reporter


def create(settings: Settings) -> ExportReporter | None:
    """Create the reporter where `--reporter bencher=FILE.json` asks for it."""
    return create_export_reporter("bencher", settings, render)


def render(results: Sequence[Result]) -> ExportedRun:
    """Render results; of several with one name the last stays."""
    omissions = Omissions()
    benchmarks: dict[str, dict[str, dict[str, float]]] = {}
    for figure in select_figures(results, omissions, failures=False):
        factor, unit = fixed_unit(figure.metric.unit, "ns")
        numbers = figure.scaled(factor)
        if numbers is None:
            omissions.add("figure that is too large", "figures that are too large")
            continue
        measures = benchmarks.setdefault(name_series(figure.result), {})
        measure = _name_measure(figure, unit)
        if measure in measures:
            omissions.add("repeated figure")
        named = zip(("value", "lower_value", "upper_value"), numbers, strict=True)
        measures[measure] = {name: number for name, number in named if number is not None}
    text = json.dumps(benchmarks, indent=2, allow_nan=False)
    return ExportedRun((f"{text}\n",), omissions.describe())


def _name_measure(figure: ExportedFigure, unit: str) -> str:
    if figure.metric.name == LATENCY and unit == "ns" and figure.statistic == "median":
        return "latency"
    name = figure.name if figure.statistic == "median" else f"{figure.statistic} {figure.name}"
    return f"{name} ({unit})" if unit else name
