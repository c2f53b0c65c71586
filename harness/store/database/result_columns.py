"""Columns of a result: what views look for, computed from the result alone, so that they can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from msgspec import Struct

from harness.core.build import BuildInfo
from harness.core.launch_interval import known_interval
from harness.core.metric import Metric, main_metric
from harness.core.result import Result
from harness.store.canonical_json import to_json_line
from harness.store.database.columns import (
    bounded_count,
    bounded_float,
    bounded_integer,
    key_text,
    shown_text,
)
from harness.store.history import compute_cell_key

CLOCK_TOLERANCE_S: Final = 86_400.0
"""A start so much later than its receipt is a wrong clock (docs/decisions/0057)."""

MetricName = tuple[str, str, str]
"""Name, unit and direction of a metric, as its columns hold them."""

CommitKey = tuple[str, str]
"""Source and id of a commit, as their columns hold them."""


class ContrastColumns(Struct, frozen=True):
    """Row of `CONTRASTS` of a result, without ids.

    Attributes:
        control: The control's commit.
        name: The metric that was compared.
        values: Values of the other columns.
    """

    control: BuildInfo
    name: MetricName
    values: Mapping[str, object]


class ResultColumns(Struct, frozen=True):
    """Everything that the tables repeat of a result.

    Attributes:
        cell_key: Key of its cell.
        benchmark: Row of its benchmark.
        device: Row of its device.
        build: Its build, which tells the commit; None where there was none.
        measured: Its plausible start (`plausible_start`).
        is_ok: Whether it ended well.
        values: Columns of `RESULTS` that are computed from the result, without ids.
        names: Name of each metric, in the order of the result.
        metrics: Columns of `METRICS` of each, without ids.
        contrast: Its comparison; None without one.
    """

    cell_key: str
    benchmark: Mapping[str, object]
    device: Mapping[str, object]
    build: BuildInfo | None
    measured: float
    is_ok: bool
    values: Mapping[str, object]
    names: tuple[MetricName, ...]
    metrics: tuple[Mapping[str, object], ...]
    contrast: ContrastColumns | None


def plausible_start(result: Result, received: float) -> float:
    """Return when a result was measured: its start, or its receipt where the start is more than a day after that.

    No measurement is received before it begins. A machine whose clock is a year ahead would else have the newest
    result of its cells for a year. A clock that is behind cannot be told from results that are stored late.
    """
    return received if result.started > received + CLOCK_TOLERANCE_S else result.started


def describe_result(result: Result, received: float) -> ResultColumns:
    """Return the columns of a result without surrogates, received at this time (Unix seconds)."""
    measured = plausible_start(result, received)
    build, device, info = result.build, result.device, result.benchmark
    digest = info.digest or _make_digest(result)
    commit_time = build.commit_time if build is not None else None
    time = measured if commit_time is None else bounded_float(commit_time)
    main = _find_main(result)
    identity = device.identity if device is not None else ""
    return ResultColumns(
        cell_key=compute_cell_key(digest, identity),
        benchmark={
            "digest": key_text(digest),
            "model": key_text(info.model),
            "identifier": key_text(info.identifier),
            "framework": key_text(info.framework),
            "backend": key_text(result.backend),
            "threads": bounded_integer(info.threads),
        },
        device={
            "identity": key_text(identity),
            "platform": key_text(device.platform) if device is not None else "",
            "name": key_text(device.name) if device is not None else "",
            "kind": key_text(device.kind) if device is not None else "",
            "os": key_text(device.os) if device is not None else "",
        },
        build=build,
        measured=measured,
        is_ok=result.ok,
        values={
            "uid": key_text(result.uid),
            "run": key_text(result.run),
            "started": measured,
            "time": time,
            "outcome": result.outcome.value,
            "reason": shown_text(result.reason or ""),
            "trusted": result.trusted,
            "origin": _describe_origin(result),
            "reproduce": shown_text(result.reproduce),
        },
        names=tuple(map(metric_name, result.metrics)),
        metrics=tuple(
            _describe_metric(metric, position, time, is_main=metric is main)
            for position, metric in enumerate(result.metrics)
        ),
        contrast=_describe_contrast(result, time, measured),
    )


def metric_name(metric: Metric) -> MetricName:
    """Return what identifies a metric, as its columns hold it."""
    direction = metric.direction.value if metric.direction is not None else ""
    return key_text(metric.name), key_text(metric.unit), direction


def commit_key(build: BuildInfo) -> CommitKey:
    """Return what identifies a commit, as its columns hold it."""
    return key_text(build.source), key_text(build.commit)


def _describe_metric(metric: Metric, position: int, time: float, *, is_main: bool) -> dict[str, object]:
    interval = known_interval(metric)
    return {
        "position": position,
        "is_main": is_main,
        "count": len(metric.samples) or bounded_count(metric.summary.get("n")),
        "median": metric.median,
        "low": interval.low if interval is not None else None,
        "high": interval.high if interval is not None else None,
        "time": time,
    }


def _describe_contrast(result: Result, time: float, measured: float) -> ContrastColumns | None:
    comparison = result.comparison
    if comparison is None:
        return None
    metric = result.metric(comparison.metric)
    direction = "higher" if comparison.higher_is_better else "lower"
    name = (key_text(comparison.metric), key_text(comparison.unit), direction)
    is_known = comparison.difference is not None and comparison.difference > -1  # no logarithm else
    effect = comparison.effect if is_known else None
    return ContrastColumns(
        control=comparison.control,
        name=metric_name(metric) if metric is not None and metric.direction is not None else name,
        values={
            "time": time,
            "started": measured,
            "verdict": comparison.effective_verdict.value,
            "log_ratio": effect.log_ratio if effect is not None else None,
            "low_log_ratio": effect.low_log_ratio if effect is not None else None,
            "high_log_ratio": effect.high_log_ratio if effect is not None else None,
            "pairs": len(comparison.pairs),
            "outputs": comparison.outputs.verdict.value if comparison.outputs is not None else "",
        },
    )


def _describe_origin(result: Result) -> str:
    """Return the origin as JSON that every column holds, with shortened texts."""
    if result.origin is None:
        return ""
    texts = {name: shown_text(value) for name, value in result.origin if isinstance(value, str)}
    return to_json_line(result.origin.model_copy(update={**texts, "count": bounded_count(result.origin.count)}))


def _make_digest(result: Result) -> str:
    """Return a digest for a benchmark that has none: of what names it."""
    info = result.benchmark
    named = [info.model, info.identifier, info.framework, info.metric, result.backend, info.threads]
    return sha256(json.dumps(named).encode()).hexdigest()


def _find_main(result: Result) -> Metric | None:
    """Return the metric that a result is about: of a comparison the one that was compared."""
    compared = result.metric(result.comparison.metric) if result.comparison is not None else None
    return compared if compared is not None and compared.median is not None else main_metric(result.metrics)
