"""Results as flat rows: one per result and metric, or one per sample. The columns of every export are their fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from harness.core.build import BuildInfo
from harness.core.comparison import Comparison
from harness.core.launch_interval import known_interval
from harness.core.metric import Metric
from harness.core.result import Result
from harness.core.scalars import Scalar
from harness.core.values import Value
from harness.core.verdict import Verdict

_COLUMNS_OF_STATISTICS: Final = {
    "n": "n",
    "mean": "mean",
    "stdev": "stdev",
    "cv": "cv",
    "min": "min",
    "p10": "p10",
    "p50": "median",
    "p90": "p90",
    "max": "max",
    "MAD": "mad",
}
"""Statistics that have a column of their own, and its name."""

_MOST_SAMPLES: Final = 2**53
"""A program's own count beyond it, or one with a fraction, is none."""

_REPEATED: Final = {"p0": "min", "p100": "max"}
"""Statistics that are others under a second name."""


class BenchmarkRow(Value):
    """Columns that identify what was measured, where, and of which build; rows of samples and of metrics have them.

    Attributes:
        uid: Identifier of the result.
        run: Identifier of the run that reported it; empty where it is not known.
        model: Model name.
        identifier: The benchmark's name within the model.
        test: Kind of the test: `delay`, `accuracy`, `generic`, ...
        framework: Framework plug-in.
        specification: File name of the specification.
        benchmark_digest: SHA-256 of the benchmark's definition: equal digests are the same benchmark.
        threads: Threads that were asked for; absent where that was left to the program.
        platform: Platform plug-in; absent without a device, as the next two are.
        device: Identity of the device: the key of every series.
        device_name: Name of the device for people.
        source: Where the build comes from; absent without a build, as the next four are.
        commit: What identifies the build within its source: a hash, a version, a file digest.
        commit_name: Tag, branch or other name that the commit was asked for by; empty where that was its id.
        recipe: How the build was made.
        build_digest: SHA-256 over everything that determines the build.
        origin: That another tool measured it, with what is not known; absent for what the harness measured.
    """

    uid: str
    run: str
    model: str
    identifier: str
    test: str
    framework: str
    specification: str
    benchmark_digest: str
    threads: int | None
    platform: str | None
    device: str | None
    device_name: str | None
    source: str | None
    commit: str | None
    commit_name: str | None
    recipe: str | None
    build_digest: str | None
    origin: str | None


class MetricRow(BenchmarkRow):
    """One metric of one result; a result without metrics has one row without them.

    Attributes:
        axis: Entry of the matrix that the benchmark came from: a column `axis.NAME` for each axis, the last ones.
        started: Start of the measurement.
        outcome: How it ended.
        reason: Why, when not ok.
        trusted: Whether it is ok and nothing speaks against its numbers.
        notes: Codes of its notes, separated by spaces.
        launches: Number of launches whose values count.
        reproduce: The command that measures this result once more; empty where it is not known.
        metric: Name of the metric, for example `NET latency`.
        unit: Unit of the statistics; empty for a count, a ratio or a text.
        direction: Which way is better: `lower` or `higher`; absent for a text.
        text: The text of a metric that is one.
        n: Number of samples.
        median: Median, in `unit`, as all statistics are but `n` and `cv`.
        median_low: Lower end of the 95 % interval of the median over the launches of the run; absent for one launch.
        median_high: Upper end.
        mean: Mean.
        min: Smallest sample.
        p10: 10th percentile.
        p90: 90th percentile.
        max: Largest sample.
        stdev: Standard deviation of the samples (divided by n).
        mad: Median absolute deviation from the median.
        cv: `stdev` as a share of the mean.
        statistic: Statistics beyond these, as the specification asked for them: a column `statistic.NAME` for each.
        control_source: Where the control comes from; absent without a comparison, as the next two are.
        control_commit: What identifies the control within its source.
        control_build_digest: SHA-256 over everything that determines the control.
        control_median: The control's median of this metric, over all its samples as `median` is over the treatment's;
            absent where it was not compared. Both are raw: their quotient is not `difference`, which pairs measured.
        verdict: Verdict on the treatment: only of the metric that was compared, as all that follow are; absent where
            the comparison failed.
        difference: Relative difference of treatment to control; 0.02 is 2 % more.
        low: Lower end of its 95 % interval; absent where nothing is excluded.
        high: Upper end.
        figure: Figure of each launch that the next two are of: the one that changed most, else `median`.
        control_figure: Median of it over the control's launches, in `unit`, as tables of comparisons show it.
        treatment_figure: That median changed by `difference`, in `unit`, as tables show it.
        pairs: Number of pairs that count.
        outputs: Whether both sides compute the same: `identical`, `within_tolerance`, `different`, `not_compared`.
    """

    axis: dict[str, Scalar]
    started: float
    outcome: str
    reason: str | None
    trusted: bool
    notes: str
    launches: int
    reproduce: str
    metric: str | None = None
    unit: str | None = None
    direction: str | None = None
    text: str | None = None
    n: int | None = None
    median: float | None = None
    median_low: float | None = None
    median_high: float | None = None
    mean: float | None = None
    min: float | None = None
    p10: float | None = None
    p90: float | None = None
    max: float | None = None
    stdev: float | None = None
    mad: float | None = None
    cv: float | None = None
    statistic: dict[str, float | None] = {}
    control_source: str | None = None
    control_commit: str | None = None
    control_build_digest: str | None = None
    control_median: float | None = None
    verdict: str | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    figure: str | None = None
    control_figure: float | None = None
    treatment_figure: float | None = None
    pairs: int | None = None
    outputs: str | None = None


class SampleSeries(BenchmarkRow):
    """Samples of one metric of one side of a result, in measured order: one row per entry of the last four columns.

    Attributes:
        axis: Entry of the matrix that the benchmark came from: a column `axis.NAME` for each axis.
        side: `control` or `treatment` of a comparison, each with its own build; absent where nothing was compared.
        metric: Name of the metric.
        unit: Unit of `value`.
        launch: 0-based index of the launch that the sample came from, among those of its side.
        launch_started: Start of that launch; absent where that is not known.
        iteration: 0-based place among the samples of this metric in that launch.
        value: The sample, in `unit`.
    """

    axis: dict[str, Scalar]
    side: Literal["control", "treatment"] | None
    metric: str
    unit: str
    launch: tuple[int, ...]
    launch_started: tuple[float | None, ...]
    iteration: tuple[int, ...]
    value: tuple[float, ...]


def make_metric_rows(result: Result) -> tuple[MetricRow, ...]:
    """Return a row for each metric of a result, or the only one of a result without metrics."""
    comparison = result.comparison
    control = comparison.control if comparison is not None else None
    shared: dict[str, object] = {
        **_describe_benchmark(result, result.build),
        "axis": result.benchmark.axes,
        "started": result.started,
        "outcome": result.outcome.value,
        "reason": result.reason,
        "trusted": result.trusted,
        "notes": " ".join(dict.fromkeys(note.code for note in result.notes)),
        "launches": sum(launch.discarded is None for launch in result.launches),
        "reproduce": result.reproduce,
        "control_source": control.source if control is not None else None,
        "control_commit": control.commit if control is not None else None,
        "control_build_digest": control.digest if control is not None else None,
    }
    if result.metrics:
        return tuple(MetricRow.model_validate({**shared, **_describe(metric, result)}) for metric in result.metrics)
    verdict = _describe_verdict(comparison, result.verdict) if comparison is not None else {}
    return (MetricRow.model_validate({**shared, **verdict}),)


def make_sample_series(result: Result) -> Iterator[SampleSeries]:
    """Yield the samples of each metric of a result, the control's before the treatment's."""
    comparison = result.comparison
    started = {launch.index: launch.started for launch in result.launches}
    control_started = {launch.index: launch.started for launch in result.control_launches}
    for metric in result.metrics:
        shared: dict[str, object] = {"axis": result.benchmark.axes, "metric": metric.name, "unit": metric.unit}
        if comparison is not None and metric.control is not None and metric.control.control_values:
            values, launches = metric.control.control_values, metric.control.control_launches
            side = {**_describe_benchmark(result, comparison.control), **shared, "side": "control"}
            yield SampleSeries.model_validate({**side, **_list_samples(values, launches, control_started)})
        if metric.samples:
            name = "treatment" if comparison is not None else None
            side = {**_describe_benchmark(result, result.build), **shared, "side": name}
            yield SampleSeries.model_validate({**side, **_list_samples(metric.samples, metric.launches, started)})


def _name(text: str) -> str | None:
    """Return the name of a source or commit; None where a framework without a runner has none."""
    return None if text in {"", "none"} else text


def _describe_benchmark(result: Result, build: BuildInfo | None) -> dict[str, object]:
    info, device = result.benchmark, result.device
    return {
        "uid": result.uid,
        "run": result.run,
        "model": info.model,
        "identifier": info.identifier,
        "test": info.metric,
        "framework": info.framework,
        "specification": info.specification,
        "benchmark_digest": info.digest,
        "threads": info.threads,
        "platform": device.platform if device is not None else None,
        "device": device.identity if device is not None else None,
        "device_name": device.name if device is not None else None,
        "source": _name(build.source) if build is not None else None,
        "commit": _name(build.commit) if build is not None else None,
        "commit_name": build.commit_name if build is not None else None,
        "recipe": build.recipe if build is not None else None,
        "build_digest": build.digest if build is not None else None,
        "origin": result.origin.words if result.origin is not None else None,
    }


def _describe(metric: Metric, result: Result) -> dict[str, object]:
    """Return the columns of one metric."""
    comparison = result.comparison
    summary = {_REPEATED.get(name, name): value for name, value in metric.summary.items()}
    named = {column: summary.pop(name, None) for name, column in _COLUMNS_OF_STATISTICS.items()}
    count = named["n"]
    named["n"] = int(count) if count is not None and count.is_integer() and 0 <= count < _MOST_SAMPLES else None
    compared = comparison is not None and metric.name == comparison.metric
    interval = known_interval(metric)
    return {
        **named,
        "median_low": interval.low if interval is not None else None,
        "median_high": interval.high if interval is not None else None,
        "statistic": summary,
        "metric": metric.name,
        "unit": metric.unit,
        "direction": metric.direction.value if metric.direction is not None else None,
        "text": metric.info,
        "control_median": metric.control.control_summary.get("p50") if metric.control is not None else None,
        **(_describe_verdict(comparison, result.verdict) if comparison is not None and compared else {}),
    }


def _describe_verdict(comparison: Comparison, verdict: Verdict | None) -> dict[str, object]:
    control = comparison.typical_control
    return {
        "verdict": verdict.value if verdict is not None else None,
        "difference": comparison.difference,
        "low": comparison.low,
        "high": comparison.high,
        "figure": comparison.stated_figure if control is not None else None,
        "control_figure": control,
        "treatment_figure": comparison.typical_treatment,
        "pairs": len(comparison.pairs),
        "outputs": comparison.outputs.verdict.value if comparison.outputs is not None else None,
    }


def _list_samples(
    values: Sequence[float], launches: Sequence[int], started: Mapping[int, float]
) -> dict[str, Sequence[object]]:
    """Return the columns of samples; launches that are not listed count as the first."""
    indices = tuple(launches) if len(launches) == len(values) else (0,) * len(values)
    seen: Counter[int] = Counter()
    iterations: list[int] = []
    for index in indices:
        iterations.append(seen[index])
        seen[index] += 1
    return {
        "launch": indices,
        "launch_started": tuple(map(started.get, indices)),
        "iteration": tuple(iterations),
        "value": tuple(values),
    }
