"""Tables of results as pandas frames, for exports and for Python. Import it only where a table is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Final, get_args

import pandas as pd

from harness.core.result import Result
from harness.core.values import Value
from harness.store.rows import MetricRow, SampleSeries, make_metric_rows, make_sample_series

_YEAR_1: Final = -62_135_596_800
_YEAR_10000: Final = 253_402_300_800
"""Unix seconds of the first and after the last time of Python's calendar; others are absent."""

_TIMES: Final = frozenset({"started", "launch_started"})
"""Columns that are Unix seconds in results, and times (UTC) in a frame."""

_EXPANDED: Final = frozenset({"axis", "statistic"})
"""Columns that are objects in rows, and become a column `<column>.<key>` for each key."""

_DTYPES: Final[Mapping[type, str]] = {bool: "boolean", int: "Int64", float: "Float64"}
"""Types of columns that are not text; each knows missing values."""


def make_frame(results: Iterable[Result], metrics: Collection[str] = ()) -> pd.DataFrame:
    """Return one row per result and metric, with the columns of `MetricRow`; a failed result has a row without metric.

    Of `metrics`, where any are named, only those have rows. Differences and their intervals are relative (0.02 is
    2 %); statistics are in the unit of the column `unit`.
    """
    rows = [
        row
        for result in results
        for row in make_metric_rows(result)
        if not metrics or row.metric is None or row.metric in metrics
    ]
    columns: dict[str, list[object]] = {name: [] for name in MetricRow.model_fields}
    for row in rows:
        for name, values in columns.items():
            values.append(getattr(row, name))
    return _build(MetricRow, columns)


def make_samples(results: Iterable[Result], metrics: Collection[str] = ()) -> pd.DataFrame:
    """Return one row per sample of every metric, or of those that are named, with the columns of `SampleSeries`.

    Samples are in measured order.
    """
    columns: dict[str, list[object]] = {name: [] for name in SampleSeries.model_fields}
    for result in results:
        for series in make_sample_series(result):
            if metrics and series.metric not in metrics:
                continue
            for name, values in columns.items():
                value = getattr(series, name)
                values.extend(value if isinstance(value, tuple) else [value] * len(series.value))
    return _build(SampleSeries, columns)


def _build(row: type[Value], columns: Mapping[str, list[object]]) -> pd.DataFrame:
    """Return the frame of columns of a class of rows, with the type of each field; expanded columns come last."""
    frame = {
        name: _convert(name, values, _dtype(row.model_fields[name].annotation))
        for name, values in columns.items()
        if name not in _EXPANDED
    }
    for name in _EXPANDED & columns.keys():
        frame |= _expand(name, columns[name])
    return pd.DataFrame(frame)


def _convert(name: str, values: list[object], dtype: str) -> pd.Series:
    if name in _TIMES:
        seconds = [value if isinstance(value, float) and _YEAR_1 <= value < _YEAR_10000 else None for value in values]
        return pd.to_datetime(pd.Series(seconds, dtype="float64"), unit="s", utc=True)
    if dtype == _DTYPES[int]:
        values = [value if _has_place(value) else None for value in values]
    return pd.Series(values, dtype=dtype)


def _has_place(value: object) -> bool:
    """Return whether a value is no integer beyond 64 bits."""
    return not isinstance(value, int) or abs(value) < 1 << 63


def _dtype(annotation: object) -> str:
    """Return the type of a column for the annotation of its field: `int | None`, `tuple[float, ...]`, ..."""
    parts = [part for part in get_args(annotation) if part not in {NoneType, ...}]
    if parts:
        return _dtype(parts[0])
    return next((dtype for kind, dtype in _DTYPES.items() if annotation is kind), "string")


def _expand(name: str, values: list[object]) -> dict[str, pd.Series]:
    """Return a column for each key of objects, of the narrowest type that holds all its values."""
    objects = [value if isinstance(value, dict) else {} for value in values]
    keys = sorted({str(key) for value in objects for key in value})
    return {f"{name}.{key}": _narrow([value.get(key) for value in objects]) for key in keys}


def _narrow(values: list[object]) -> pd.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) == 1 and all(map(_has_place, values)) and (kind := kinds.pop()) in _DTYPES:
        return pd.Series(values, dtype=_DTYPES[kind])
    return pd.Series([None if value is None else str(value) for value in values], dtype="string")
