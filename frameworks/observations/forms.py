"""Forms of observations: one JSON object each, or a whole JSON document.

    {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}
    {"type": "NET", "metric": "latency", "unit": "us", "num_runs": 50, "summary": {"p50": 123, "mean": 125}}
    {"type": "RUN", "metric": "runtime", "unit": "", "info_string": "executorch 1.5.1"}
    {"custom_output": [{"layer": "conv", "us": 3}], "table_name": "layers"}
    {"NET": {"latency": {"value": "12", "unit": "ms"}}, "ID_0_Conv": {"latency": {"value": "3", "unit": "ms"}}}
    {"prompt_tokens": 7, "generated_tokens": 120, "inference_start_ms": 1000, "inference_end_ms": 2000}
    {"generation": {"prompt_tokens": 7, "prefill_ns": 7500000, "token_times_ns": [7510000, 7930000], "tokens": [5, 77]}}
    {"Benchmark Success": true, "overall_results": {"Geomean Time to First Token": 0.5, ...}, ...}

The first five are FAI-PEP's; a summary may also be the list `[p0, p10, p50, p90, p100, mean, stdev, MAD]`, and `values`
may hold a list of samples. The sixth is what ExecuTorch's LLM runners print: counts of tokens and points in time in one
flat object, from which metrics of type `LLM` are computed (`harness.formats.executorch_stats`). The seventh
is one generation with the time stamps of its tokens since the prompt was handed over;
`frameworks.observations.token_streams` has the metrics that follow from them. The last is a line of the results of
MLPerf Client (`harness.formats.mlperf_client`), which needs no word that announces it. One that failed gives no figure.

A program's whole output may instead be one document:

    {"metrics": [{"name": "NET latency", "unit": "ms", "values": [1.2, 1.3]}, {"type": "RUN", "metric": ...}]}
    [{"type": "NET", "metric": "latency", "unit": "ms", "value": 1.2}, {"name": "RUN load_time", ...}]
    {"latency_ms": 1.2, "conv": {"latency_us": [7, 8], "memory": {"value": 9, "unit": "bytes"}}, "backend": "xnnpack"}
    {"NET latency": {"p50": 1.2, "mean": 1.3, "unit": "ms"}, "conv": {"latency": 0.4, "unit": "ms"}}

In the last two, numbers and lists of numbers are samples, and strings and booleans are texts. A name may end in its
unit (`_ns`, `_us`, `_ms`, `_s`, `_bytes`) and then has numbers only, perhaps as text; otherwise a `unit` in the same
object applies. Numbers with the names of statistics (`p50`, `mean`, `median`, ...) are one summary. The names around a
metric, joined by dots, are its type; at the top level it is `NET`, unless the name includes it: `NET latency`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from frameworks.observations.collector import (
    BadObservation,
    ObservationCollector,
    is_statistic,
    parse_number,
    quote,
    statistics_of,
)
from frameworks.observations.token_streams import KEY, compute_figures, read_stream
from harness.core.generation import TokenStream
from harness.formats import MLPERF_CLIENT_SUCCESS
from harness.formats.executorch_stats import FIELDS, compute_statistics

_TOP = "NET"
"""Type of metrics that a document gives without one."""

_NAMELESS = 'the numbers have no name; name them, as in {"NET latency": {"p50": 1.2, "unit": "ms"}}'

_ENTRY = frozenset({"value", "values", "summary", "info_string"})

_WITH_UNIT = re.compile(r"(.+)_(ns|us|ms|s|bytes)")


def read_object(item: Mapping[str, object], collector: ObservationCollector) -> None:
    """Add the observations of one object. What can be read of it is kept even if the rest cannot.

    Raises:
        BadObservation: It, or a part of it, has none of the forms, or a value that is not a finite number.
    """
    if "type" in item or "metric" in item:
        collector.add_entry(item.get("type"), item.get("metric"), item)
    elif "custom_output" in item:
        collector.add_table(item.get("table_name"), item["custom_output"])
    elif item.keys() == {KEY}:
        add_stream(read_stream(item[KEY]), collector)
    elif MLPERF_CLIENT_SUCCESS in item:
        from frameworks.observations.mlperf_client import read_entry  # noqa: PLC0415 - a format that few programs print

        read_entry(item, collector)
    elif not FIELDS.isdisjoint(item):
        _read_llm_statistics(item, collector)
    else:
        _read_nested(item, collector)


def read_document(
    document: Mapping[str, object] | list[object], collector: ObservationCollector
) -> list[BadObservation]:
    """Add the observations of a document.

    Returns:
        The problem of each part that cannot be read.
    """
    bad: list[BadObservation] = []
    metrics = document if isinstance(document, list) else document.get("metrics")
    if isinstance(metrics, list):
        _read_list(metrics, collector, bad)
    elif not isinstance(document, list) and _is_observer_object(document):
        try:
            read_object(document, collector)
        except BadObservation as error:
            bad.append(BadObservation(str(error), metrics_of(document)))
    elif not isinstance(document, list):
        _read_tree(document, collector, bad)
    return bad


def metrics_of(item: object) -> tuple[tuple[str, str], ...]:
    """Return type and metric that an object names, as far as it does."""
    if not isinstance(item, Mapping):
        return ()
    type_, metric = item.get("type"), item.get("metric")
    if isinstance(type_, str) and isinstance(metric, str):
        return ((type_.strip(), metric.strip()),)
    name = item.get("name")
    return (_split_name(name),) if isinstance(name, str) else ()


def _read_list(metrics: Sequence[object], collector: ObservationCollector, bad: list[BadObservation]) -> None:
    for index, metric in enumerate(metrics):
        try:
            _read_listed(metric, collector)
        except BadObservation as error:
            bad.append(BadObservation(f"metrics[{index}]: {error}", metrics_of(metric)))


def add_stream(stream: TokenStream, collector: ObservationCollector) -> None:
    """Add the figures of one generation, and its tokens."""
    for figures in compute_figures(stream):
        for value in figures.values:
            collector.add_sample(figures.type, figures.metric, figures.unit, value)
    collector.add_tokens(stream.tokens)


def _read_llm_statistics(item: Mapping[str, object], collector: ObservationCollector) -> None:
    fields = {name: parse_number(item[name]) for name in FIELDS if name in item}
    collector.statistics.extend(compute_statistics(fields))


def _read_nested(item: Mapping[str, object], collector: ObservationCollector) -> None:
    """Read Caffe2's old form: type, then metric, then an entry."""
    entries = [
        (type_, metric, entry)
        for type_, metrics in item.items()
        if isinstance(metrics, dict)
        for metric, entry in metrics.items()
    ]
    if not entries or not all(isinstance(metrics, dict) for metrics in item.values()):
        raise BadObservation("it has no `type` and `metric`")
    problems, lost = [], []
    for type_, metric, entry in entries:
        try:
            collector.add_entry(type_, metric, entry)
        except BadObservation as error:
            problems.append(f"{type_} {metric}: {error}")
            lost.append((type_, metric))
    if problems:
        raise BadObservation(", ".join(problems), lost)


def _read_listed(metric: object, collector: ObservationCollector) -> None:
    if not isinstance(metric, dict):
        raise BadObservation(f"{quote(metric)} is not an object")
    name = metric.get("name")
    if "type" not in metric and isinstance(name, str):
        collector.add_entry(*_split_name(name), metric)
    else:
        collector.add_entry(metric.get("type"), metric.get("metric"), metric)


def _split_name(name: str) -> tuple[str, str]:
    type_, _, metric = name.strip().rpartition(" ")
    return type_ or _TOP, metric


def _is_observer_object(document: Mapping[str, object]) -> bool:
    return (
        {"type", "metric"} <= document.keys()
        or "custom_output" in document
        or document.keys() == {KEY}
        or MLPERF_CLIENT_SUCCESS in document
        or not FIELDS.isdisjoint(document)
    )


class _Node(Struct, frozen=True):
    """Value in a document with its path; `unit` is the one in the same object, if any."""

    path: tuple[str, ...]
    value: object
    unit: object = ""


def _read_tree(document: Mapping[str, object], collector: ObservationCollector, bad: list[BadObservation]) -> None:
    """Read names and numbers at any depth, in the order in which they are written."""
    pending = [_Node((), document)]
    while pending:
        node = pending.pop()
        if isinstance(node.value, dict) and _ENTRY.isdisjoint(node.value):
            pending.extend(reversed(_branches(node.path, node.value)))
            continue
        if not node.path:
            bad.append(BadObservation(_NAMELESS))
            continue
        type_, name = _name_metric(node.path)
        try:
            _read_leaf(type_, name, node, collector)
        except BadObservation as error:
            bad.append(BadObservation(f"{'.'.join(node.path)}: {error}", [(type_, _split_unit(name)[0])]))


def _branches(path: tuple[str, ...], members: Mapping[str, object]) -> list[_Node]:
    """Return the members as nodes, the statistics among them as one."""
    statistics = statistics_of(members)
    unit = {"unit": members["unit"]} if "unit" in members else {}
    if statistics:
        rest = {name: child for name, child in members.items() if name != "unit" and not is_statistic(name, child)}
        return [_Node(path, {"summary": statistics, **unit}), *(_Node((*path, name), rest[name]) for name in rest)]
    numbers = [name for name, child in members.items() if _is_numeric(child)]
    if unit and len(numbers) == 1:
        rest = {name: child for name, child in members.items() if name != "unit"}
        return [_Node((*path, name), rest[name], unit["unit"] if name in numbers else "") for name in rest]
    return [_Node((*path, name), child) for name, child in members.items()]


def _read_leaf(type_: str, name: str, node: _Node, collector: ObservationCollector) -> None:
    metric, unit = _split_unit(name)
    value = node.value
    if isinstance(value, dict):
        explicit = "unit" in value
        collector.add_entry(type_, name if explicit else metric, value if explicit else {**value, "unit": unit})
    elif isinstance(value, (str, bool)) and not unit:
        collector.add_info(type_, name, "", value)
    elif isinstance(value, list):
        collector.add_samples(type_, metric, unit or node.unit, value)
    else:
        collector.add_sample(type_, metric, unit or node.unit, value)


def _name_metric(path: tuple[str, ...]) -> tuple[str, str]:
    """Return type and metric: the path without its last name, and that name; a top-level name may contain both."""
    *types, name = path
    return (".".join(types), name) if types else _split_name(name)


def _is_numeric(value: object) -> bool:
    return isinstance(value, (int, float, list)) and not isinstance(value, bool)


def _split_unit(name: str) -> tuple[str, str]:
    """Split `latency_ms` into metric and unit; `tokens_per_s` is a rate and keeps its name."""
    match = _WITH_UNIT.fullmatch(name)
    if match is None:
        return name, ""
    metric, unit = match.groups()
    return (name, f"/{unit}") if metric.endswith("_per") else (metric, unit)
