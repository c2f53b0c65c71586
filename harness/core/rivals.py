"""Results that did the same work in the same place, and their speeds relative to the first of them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Final

from harness.core.metric import Direction, Metric, convert, main_metric
from harness.core.result import Result

_SAME_WORK: Final = frozenset({"framework", "backend", "recipe", "delegate", "threads", "cpus", "cpu-list", "runner"})
"""Axes that leave the work the same: where a specification has others, only its exports show what they change."""


def compute_speeds(results: Iterable[Result], *, across_runs: bool = False) -> dict[str, float]:
    """Return by uid how many times as fast each result is as the first that did the same work in the same place.

    A result without a rival has no speed. Nor have those of several frameworks: launches that were not paired do not
    tell which of them is faster.

    Args:
        results: What to compare.
        across_runs: Compare results of several runs, too, between which the machine may have changed.
    """
    speeds: dict[str, float] = {}
    for rivals in group_rivals(results):
        if has_several_frameworks(rivals) or (are_of_several_runs(rivals) and not across_runs):
            continue
        reference = main_metric(rivals[0].metrics)
        for result in rivals if len(rivals) > 1 else ():
            ratio = _ratio(main_metric(result.metrics), reference)
            if ratio is not None:
                speeds[result.uid] = ratio
    return speeds


def group_rivals(results: Iterable[Result]) -> list[list[Result]]:
    """Group results with a time or rate by all that must be equal for a fair comparison, in order of their firsts.

    What another tool measured has no rivals: neither the state of its device nor its way of measuring is known. Nor has
    what was to prove that it does the same work, and did not. Between pauses caches and clocks are cold, and a deeper
    context takes longer: rivals have the same arrival, and generate the same tokens of the same prompt.
    """
    groups: dict[Hashable, list[Result]] = {}
    for result in results:
        main = main_metric(result.metrics)
        if not may_be_ranked(result):
            continue
        if result.ok and result.origin is None and main is not None and main.is_timed and (main.median or 0.0) > 0:
            device = result.device.identity if result.device else None
            asked = (result.benchmark.arrival, result.benchmark.generation)
            key = (device, main.name, *asked, _describe_work(result))
            groups.setdefault(key, []).append(result)
    return list(groups.values())


def may_be_ranked(result: Result) -> bool:
    """Return whether nothing is known against its doing the same work as others, and pairs have not ranked it."""
    return result.rank is None and (result.same_work is None or result.same_work.is_same)


def has_several_frameworks(results: Iterable[Result]) -> bool:
    """Return whether results are those of more than one framework."""
    return len({result.benchmark.framework for result in results}) > 1


def are_of_several_runs(results: Iterable[Result]) -> bool:
    """Return whether results are those of more than one run: a machine changes between runs."""
    return len({result.run for result in results}) > 1


def _describe_work(result: Result) -> Hashable:
    """Return what two results have in common exactly if they did the same work, as far as they know it.

    That is the model with its inputs, and what it was exported from. Where nothing was exported, an axis may change
    what a program does, as a size does; so may another test, where neither inputs nor axes say what it is about.
    """
    benchmark = result.benchmark
    inputs = tuple(sorted(benchmark.inputs.items()))
    exports = [file.export.export for file in result.files.values() if file.export is not None]
    if exports:
        definitions = tuple((export.definition, tuple(sorted(export.options.items()))) for export in exports)
        weights = result.same_work.weights_md5 if result.same_work is not None else None
        return benchmark.model, inputs, definitions, benchmark.axes.get("method"), weights
    axes = tuple(sorted((name, value) for name, value in benchmark.axes.items() if name not in _SAME_WORK))
    unknown = "" if inputs or benchmark.axes else benchmark.identifier
    return benchmark.model, inputs, axes, unknown


def _ratio(metric: Metric | None, reference: Metric | None) -> float | None:
    if metric is None or reference is None or not metric.median or not reference.median:
        return None
    value = convert(metric.median, metric.unit, reference.unit)
    if not value:
        return None
    ratio = value / reference.median if metric.direction is Direction.HIGHER else reference.median / value
    return ratio if math.isfinite(ratio) else None
