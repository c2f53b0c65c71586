"""The forms of an observation, each one JSON object.

    {"type": "NET", "metric": "latency", "unit": "us", "value": "123"}
    {"type": "NET", "metric": "latency", "unit": "us", "num_runs": 50, "summary": {"p50": 123, "mean": 125}}
    {"type": "RUN", "metric": "runtime", "unit": "", "info_string": "executorch 1.5.1"}
    {"custom_output": [{"layer": "conv", "us": 3}], "table_name": "layers"}
    {"NET": {"latency": {"value": "12", "unit": "ms"}}, "ID_0_Conv": {"latency": {"value": "3", "unit": "ms"}}}
    {"prompt_tokens": 7, "generated_tokens": 120, "inference_start_ms": 1000, "inference_end_ms": 2000}

The first five are FAI-PEP's; a summary may also be the list `[p0, p10, p50, p90, p100, mean, stdev, MAD]`, and `values`
may hold a list of samples. The last is what ExecuTorch's LLM runners print; it becomes metrics of type `LLM`
(`frameworks.llm_statistics`).

A program's whole output may instead be one document:

    {"metrics": [{"name": "NET latency", "unit": "ms", "values": [1.2, 1.3]}, {"type": "RUN", "metric": ...}]}
    {"latency_ms": 1.2, "conv": {"latency_us": [7, 8], "memory": {"value": 9, "unit": "bytes"}}, "backend": "xnnpack"}

In the second, numbers and lists of numbers are samples, and texts and truth values are texts. A name may end in its
unit (`_ns`, `_us`, `_ms`, `_s`, `_bytes`) and then has numbers only, perhaps as text. The names around it, joined by
dots, are the type; at the top it is `NET`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from frameworks.llm_statistics import FIELDS, llm_metrics
from frameworks.observed import BadObservation, Observed, number, quoted

_TOP = "NET"
"""Type of what a document says without one."""

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


def read_document(document: Mapping[str, object], observed: Observed) -> list[str]:
    """Add what a document says.

    Returns:
        What is wrong with each part that cannot be read.
    """
    bad: list[str] = []
    metrics = document.get("metrics")
    if isinstance(metrics, list):
        for index, metric in enumerate(metrics):
            try:
                _read_listed(metric, observed)
            except BadObservation as error:
                bad.append(f"metrics[{index}]: {error}")
    elif _is_observer_object(document):
        try:
            read_object(document, observed)
        except BadObservation as error:
            bad.append(str(error))
    else:
        _read_tree(document, observed, bad)
    return bad


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
    problems = []
    for type_, metric, entry in entries:
        try:
            observed.add_entry(type_, metric, entry)
        except BadObservation as error:
            problems.append(f"{type_} {metric}: {error}")
    if problems:
        raise BadObservation(", ".join(problems))


def _read_listed(metric: object, observed: Observed) -> None:
    if not isinstance(metric, dict):
        raise BadObservation(f"{quoted(metric)} is not an object")
    name = metric.get("name")
    if "type" not in metric and isinstance(name, str):
        type_, _, rest = name.strip().rpartition(" ")
        observed.add_entry(type_ or _TOP, rest, metric)
    else:
        observed.add_entry(metric.get("type"), metric.get("metric"), metric)


def _is_observer_object(document: Mapping[str, object]) -> bool:
    return {"type", "metric"} <= document.keys() or "custom_output" in document or not FIELDS.isdisjoint(document)


def _read_tree(document: Mapping[str, object], observed: Observed, bad: list[str]) -> None:
    """Read names and numbers at any depth, in the order they are written."""
    pending: list[tuple[tuple[str, ...], object]] = [((name,), node) for name, node in document.items()]
    pending.reverse()
    while pending:
        path, node = pending.pop()
        if isinstance(node, dict) and _ENTRY.isdisjoint(node):
            pending.extend(((*path, name), child) for name, child in reversed(node.items()))
            continue
        try:
            _read_leaf(".".join(path[:-1]) or _TOP, path[-1], node, observed)
        except BadObservation as error:
            bad.append(f"{'.'.join(path)}: {error}")


def _read_leaf(type_: str, name: str, node: object, observed: Observed) -> None:
    metric, unit = _split_unit(name)
    if isinstance(node, dict):
        explicit = "unit" in node
        observed.add_entry(type_, name if explicit else metric, node if explicit else {**node, "unit": unit})
    elif isinstance(node, (str, bool)) and not unit:
        observed.add_info(type_, name, "", node)
    elif isinstance(node, list):
        observed.add_samples(type_, metric, unit, node)
    else:
        observed.add_sample(type_, metric, unit, node)


def _split_unit(name: str) -> tuple[str, str]:
    """`latency_ms` is a latency in ms; `tokens_per_s` is a rate."""
    found = _WITH_UNIT.fullmatch(name)
    if found is None:
        return name, ""
    metric, unit = found.groups()
    return (name, f"/{unit}") if metric.endswith("_per") else (metric, unit)
