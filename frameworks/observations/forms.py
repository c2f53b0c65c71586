"""The forms of an observation, each one JSON object.

    {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}
    {"type": "NET", "metric": "latency", "unit": "us", "num_runs": 50, "summary": {"p50": 123, "mean": 125}}
    {"type": "RUN", "metric": "runtime", "unit": "", "info_string": "executorch 1.5.1"}
    {"custom_output": [{"layer": "conv", "us": 3}], "table_name": "layers"}
    {"NET": {"latency": {"value": "12", "unit": "ms"}}, "ID_0_Conv": {"latency": {"value": "3", "unit": "ms"}}}
    {"prompt_tokens": 7, "generated_tokens": 120, "inference_start_ms": 1000, "inference_end_ms": 2000}

The first five are FAI-PEP's; a summary may also be the list `[p0, p10, p50, p90, p100, mean, stdev, MAD]`, and `values`
may hold a list of samples. The last is what ExecuTorch's LLM runners print; it becomes metrics of type `LLM`
(`frameworks.observations.llm_statistics`).

A program's whole output may instead be one document:

    {"metrics": [{"name": "NET latency", "unit": "ms", "values": [1.2, 1.3]}, {"type": "RUN", "metric": ...}]}
    [{"type": "NET", "metric": "latency", "unit": "ms", "value": 1.2}, {"name": "RUN load_time", ...}]
    {"latency_ms": 1.2, "conv": {"latency_us": [7, 8], "memory": {"value": 9, "unit": "bytes"}}, "backend": "xnnpack"}
    {"NET latency": {"p50": 1.2, "mean": 1.3, "unit": "ms"}, "conv": {"latency": 0.4, "unit": "ms"}}

In the last two, numbers and lists of numbers are samples, and texts and truth values are texts. A name may end in its
unit (`_ns`, `_us`, `_ms`, `_s`, `_bytes`) and then has numbers only, perhaps as text; else the `unit` that stands
beside the numbers is theirs. Numbers called as statistics are (`p50`, `mean`, `median`, ...) are one summary. The names
around a metric, joined by dots, are its type; at the top it is `NET`, unless the name says it: `NET latency`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frameworks.observations.collector import BadObservation, Observed, is_statistic, number, quoted, statistics_of
from frameworks.observations.llm_statistics import FIELDS, llm_metrics

_TOP = "NET"
"""Type of what a document says without one."""

_NAMELESS = 'numbers of what? name them, as in {"NET latency": {"p50": 1.2, "unit": "ms"}}'

_ENTRY = frozenset({"value", "values", "summary", "info_string"})

_WITH_UNIT = re.compile(r"(.+)_(ns|us|ms|s|bytes)")


def read_object(found: Mapping[str, object], observed: Observed) -> None:
    """Add what one object says. What can be read of it is kept, also when the rest cannot.

    Raises:
        BadObservation: It, or a part of it, has none of the forms, or a value that is no finite number.
    """
    if "type" in found or "metric" in found:
        observed.add_entry(found.get("type"), found.get("metric"), found)
    elif "custom_output" in found:
        observed.add_table(found.get("table_name"), found["custom_output"])
    elif not FIELDS.isdisjoint(found):
        _read_llm_statistics(found, observed)
    else:
        _read_nested(found, observed)


def read_document(document: Mapping[str, object] | list[object], observed: Observed) -> list[BadObservation]:
    """Add what a document says.

    Returns:
        What is wrong with each part that cannot be read.
    """
    bad: list[BadObservation] = []
    metrics = document if isinstance(document, list) else document.get("metrics")
    if isinstance(metrics, list):
        _read_list(metrics, observed, bad)
    elif not isinstance(document, list) and _is_observer_object(document):
        try:
            read_object(document, observed)
        except BadObservation as error:
            bad.append(BadObservation(str(error), about(document)))
    elif not isinstance(document, list):
        _read_tree(document, observed, bad)
    return bad


def about(found: object) -> tuple[tuple[str, str], ...]:
    """Type and metric that an object names, for what is wrong with it."""
    if not isinstance(found, Mapping):
        return ()
    type_, metric = found.get("type"), found.get("metric")
    if isinstance(type_, str) and isinstance(metric, str):
        return ((type_.strip(), metric.strip()),)
    name = found.get("name")
    if isinstance(name, str):
        return (_listed_name(name),)
    return ()


def _read_list(metrics: Sequence[object], observed: Observed, bad: list[BadObservation]) -> None:
    for index, metric in enumerate(metrics):
        try:
            _read_listed(metric, observed)
        except BadObservation as error:
            bad.append(BadObservation(f"metrics[{index}]: {error}", about(metric)))


def _read_llm_statistics(found: Mapping[str, object], observed: Observed) -> None:
    fields = {name: number(found[name]) for name in FIELDS if name in found}
    for metric, unit, value in llm_metrics(fields):
        observed.add_sample("LLM", metric, unit, value)


def _read_nested(found: Mapping[str, object], observed: Observed) -> None:
    """Read Caffe2's old form: type, then metric, then an entry."""
    entries = [
        (type_, metric, entry)
        for type_, metrics in found.items()
        if isinstance(metrics, dict)
        for metric, entry in metrics.items()
    ]
    if not entries or not all(isinstance(metrics, dict) for metrics in found.values()):
        raise BadObservation("it has no `type` and `metric`")
    problems, lost = [], []
    for type_, metric, entry in entries:
        try:
            observed.add_entry(type_, metric, entry)
        except BadObservation as error:
            problems.append(f"{type_} {metric}: {error}")
            lost.append((type_, metric))
    if problems:
        raise BadObservation(", ".join(problems), lost)


def _read_listed(metric: object, observed: Observed) -> None:
    if not isinstance(metric, dict):
        raise BadObservation(f"{quoted(metric)} is not an object")
    name = metric.get("name")
    if "type" not in metric and isinstance(name, str):
        observed.add_entry(*_listed_name(name), metric)
    else:
        observed.add_entry(metric.get("type"), metric.get("metric"), metric)


def _listed_name(name: str) -> tuple[str, str]:
    type_, _, metric = name.strip().rpartition(" ")
    return type_ or _TOP, metric


def _is_observer_object(document: Mapping[str, object]) -> bool:
    return {"type", "metric"} <= document.keys() or "custom_output" in document or not FIELDS.isdisjoint(document)


@dataclass(frozen=True, slots=True)
class _Node:
    """A place in a document. `unit` is the one that stands beside it, if any."""

    path: tuple[str, ...]
    value: object
    unit: object = ""


def _read_tree(document: Mapping[str, object], observed: Observed, bad: list[BadObservation]) -> None:
    """Read names and numbers at any depth, in the order they are written."""
    pending = [_Node((), document)]
    while pending:
        node = pending.pop()
        if isinstance(node.value, dict) and _ENTRY.isdisjoint(node.value):
            pending.extend(reversed(_branches(node.path, node.value)))
            continue
        if not node.path:
            bad.append(BadObservation(_NAMELESS))
            continue
        type_, name = _named(node.path)
        try:
            _read_leaf(type_, name, node, observed)
        except BadObservation as error:
            bad.append(BadObservation(f"{'.'.join(node.path)}: {error}", [(type_, _split_unit(name)[0])]))


def _branches(path: tuple[str, ...], members: Mapping[str, object]) -> list[_Node]:
    """What the members say: the statistics among them as one, each other for itself."""
    statistics = statistics_of(members)
    given = {"unit": members["unit"]} if "unit" in members else {}
    if statistics:
        others = {name: child for name, child in members.items() if name != "unit" and not is_statistic(name, child)}
        return [_Node(path, {"summary": statistics, **given}), *(_Node((*path, name), others[name]) for name in others)]
    numbers = [name for name, child in members.items() if _numeric(child)]
    if given and len(numbers) == 1:
        others = {name: child for name, child in members.items() if name != "unit"}
        return [_Node((*path, name), others[name], given["unit"] if name in numbers else "") for name in others]
    return [_Node((*path, name), child) for name, child in members.items()]


def _read_leaf(type_: str, name: str, node: _Node, observed: Observed) -> None:
    metric, unit = _split_unit(name)
    value = node.value
    if isinstance(value, dict):
        explicit = "unit" in value
        observed.add_entry(type_, name if explicit else metric, value if explicit else {**value, "unit": unit})
    elif isinstance(value, (str, bool)) and not unit:
        observed.add_info(type_, name, "", value)
    elif isinstance(value, list):
        observed.add_samples(type_, metric, unit or node.unit, value)
    else:
        observed.add_sample(type_, metric, unit or node.unit, value)


def _named(path: tuple[str, ...]) -> tuple[str, str]:
    """Type and metric: the names around the last one and that; at the top the name itself may have both."""
    *around, name = path
    return (".".join(around), name) if around else _listed_name(name)


def _numeric(value: object) -> bool:
    return isinstance(value, (int, float, list)) and not isinstance(value, bool)


def _split_unit(name: str) -> tuple[str, str]:
    """`latency_ms` is a latency in ms; `tokens_per_s` is a rate."""
    found = _WITH_UNIT.fullmatch(name)
    if found is None:
        return name, ""
    metric, unit = found.groups()
    return (name, f"/{unit}") if metric.endswith("_per") else (metric, unit)
