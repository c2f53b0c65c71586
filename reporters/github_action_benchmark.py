"""`--reporter github_action_benchmark=FILE.json`: two files for github-action-benchmark.

`FILE-smaller.json` is for its tool `customSmallerIsBetter`, `FILE-bigger.json` for `customBiggerIsBetter`: the format
states the direction by file. Entries are `{name, unit, value, range, extra}`. The action compares values without a look
at units (https://github.com/benchmark-action/github-action-benchmark), so times are always in milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.config.settings import Settings
from harness.core.result import Result
from harness.presentation.numbers import format_change, format_interval
from reporters.exports.figures import ExportedFigure, Omissions, fixed_unit, name_series, select_figures
from reporters.exports.reporter import ExportedRun, ExportReporter, create_export_reporter

NAME = "github_action_benchmark"


def create(settings: Settings) -> ExportReporter | None:
    """Create the reporter where `--reporter github_action_benchmark=FILE.json` asks for it."""
    return create_export_reporter(NAME, settings, render, name_files)


def name_files(file: Path) -> tuple[Path, Path]:
    """Return the files of metrics whose smaller, and whose larger, values are better."""
    smaller, bigger = (file.with_name(f"{file.stem}-{word}{file.suffix}") for word in ("smaller", "bigger"))
    return smaller, bigger


def render(results: Sequence[Result]) -> ExportedRun:
    """Render results; of several with one name the last stays, as the action looks entries up by their names."""
    omissions = Omissions()
    sides: tuple[dict[str, dict[str, str | float]], ...] = ({}, {})
    for figure in select_figures(results, omissions, failures=False):
        factor, unit = fixed_unit(figure.metric.unit, "ms")
        numbers = figure.scaled(factor)
        if numbers is None:
            omissions.add("figure that is too large", "figures that are too large")
            continue
        statistic = "" if figure.statistic == "median" else f" ({figure.statistic})"
        name = f"{name_series(figure.result)} {figure.name}{statistic}"
        entries = sides[figure.higher_is_better]
        if name in entries:
            omissions.add("repeated figure")
        value, low, high = numbers
        entries[name] = {"name": name, "unit": unit, "value": value}
        if low is not None and high is not None:
            entries[name]["range"] = f"± {max(value - low, high - value):.3g}"
        entries[name]["extra"] = "\n".join(_describe(figure))
    texts = (json.dumps(list(entries.values()), indent=2, allow_nan=False) for entries in sides)
    return ExportedRun(tuple(f"{text}\n" for text in texts), omissions.describe())


def _describe(figure: ExportedFigure) -> Iterator[str]:
    """Yield what the page of the action shows beside an entry."""
    result, comparison = figure.result, figure.result.comparison
    if result.origin is not None:
        yield result.origin.words
    elif figure.metric.samples:
        yield f"{figure.statistic} of {len(figure.metric.samples)} samples"
    else:
        yield figure.statistic
    if result.build is not None and result.build.source != "none":  # a program that was not built
        yield f"{result.build.source} {result.build.commit_label}"
    if comparison is not None and comparison.metric == figure.metric.name:
        parts = (format_change(comparison.difference), format_interval(comparison.low, comparison.high))
        facts = ", ".join(part for part in parts if part)
        yield f"{comparison.effective_verdict.value} against {comparison.control.commit_label}: {facts}".rstrip(": ")
    if not result.trusted:
        yield "not to be trusted: " + "; ".join(note.message for note in result.notes if not note.trust)
