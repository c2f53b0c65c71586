"""`--reporter pytorch_v3=FILE.json`: records of PyTorch's benchmark database, version 3, with every sample.

What its loader and dashboard do shapes the records (pytorch/test-infra): a `workflow_id` or `job_id` of zero is dropped
silently, values are 32-bit floats of which two decimals are shown, `benchmark.name` selects the dashboard, the name of
the first runner is its column of devices and the type that of platforms. `docs/formats.md` has the fields.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from pydantic import JsonValue

from harness.config.settings import Settings
from harness.core.metric import convert
from harness.core.outcome import Outcome
from harness.core.result import Result
from reporters.exports.figures import ExportedFigure, Omissions, select_figures
from reporters.exports.reporter import ExportedRun, ExportReporter, create_export_reporter

JsonRecord = dict[str, JsonValue]
_Ladder = tuple[tuple[str, float], ...]
"""Units, largest first, with the factors from the smallest of all."""

_FRAMEWORKS: Final = {"executorch": "ExecuTorch"}
_NAMES: Final = {
    "NET latency": "avg_inference_latency",
    "NET trimmed_latency": "trimmean_inference_latency",
    "NET load_time": "model_load_time",
    "RUN load_time": "model_load_time",
    "RUN peak_memory": "peak_inference_mem_usage",
    "RUN peak_load_memory": "peak_load_mem_usage",
    "LLM decode_rate": "token_per_sec",
    "LLM generate_time": "generate_time",
    "LLM time_to_first_token": "time_to_first_token",
}
"""Names that ExecuTorch's dashboard knows; with the unit behind them, but for a rate."""
_METHODS: Final = {
    "load_time": "load",
    "peak_load_memory": "load",
    "decode_rate": "generate",
    "generate_time": "generate",
}
_TIMES: Final[_Ladder] = (("ms", 1e-6), ("us", 1e-3))
_SIZES: Final[_Ladder] = (("mb", 1e-6), ("kb", 1e-3), ("bytes", 1.0))
_BYTES: Final = {
    "bytes": 1.0,
    "B": 1.0,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
_FLOAT32: Final = 3.4e38
_CONCLUSIONS: Final = {Outcome.TIMEOUT: "timed_out", Outcome.INTERRUPTED: "cancelled"}
"""As GitHub calls ends of jobs; all others are failures."""
_REPOSITORY: Final = re.compile(r"https?://[^/]+/(?P<name>[^/]+/[^/]+?)(/-)?/commit/.*")
_LONGEST_INFO: Final = 2000


def create(settings: Settings) -> ExportReporter | None:
    """Create the reporter where `--reporter pytorch_v3=FILE.json` asks for it."""
    return create_export_reporter("pytorch_v3", settings, render)


def render(results: Sequence[Result]) -> ExportedRun:
    """Render results as a list, a record on each line."""
    omissions = Omissions()
    workflow = min((_epoch(result) for result in results), default=1)
    records = chain.from_iterable(_convert(result, workflow, index, omissions) for index, result in enumerate(results))
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in records)
    return ExportedRun((f"[\n{lines}\n]\n" if lines else "[]\n",), omissions.describe())


def _convert(result: Result, workflow: int, index: int, omissions: Omissions) -> Iterator[JsonRecord]:
    shared = _describe_measurement(result, workflow, index)
    if result.ok:
        for figure in select_figures([result], omissions, failures=True):
            metric = _convert_figure(figure)
            if metric is None:
                omissions.add("metric without a value of 32 bits", "metrics without a value of 32 bits")
            else:
                yield {**shared, "benchmark": _benchmark(result, {}), "metric": metric}
    elif result.outcome.is_skipped:  # nothing failed, and the dashboard would say so
        omissions.add("skipped result")
    else:
        started = bool(result.launches) or result.outcome is Outcome.DEVICE_LOST
        failure = {
            "failure_type": "DEVICE_JOB" if started else "GIT_JOB",
            "job_conclusion": _CONCLUSIONS.get(result.outcome, "failure"),
        }
        facts = _strings({"outcome": result.outcome.value, "reason": result.reason, "hint": result.hint})
        metric = {"name": "FAILURE_REPORT", "benchmark_values": [0], "extra_info": facts}
        yield {**shared, "benchmark": _benchmark(result, failure), "metric": metric}


def _describe_measurement(result: Result, workflow: int, index: int) -> JsonRecord:
    """Return what all records of a result share."""
    build, benchmark = result.build, result.benchmark
    match = _REPOSITORY.fullmatch(build.commit_url) if build is not None else None
    source = "unknown" if build is None else build.source.replace("/", "_") or "unknown"
    configuration = benchmark.identifier.removeprefix(benchmark.model).lstrip("-") or result.backend
    model = _strings({"backend": result.backend, "category": benchmark.category, "group": benchmark.group})
    return {
        "timestamp": _epoch(result),
        "schema_version": "v3",
        "name": "edge-harness",
        "repo": match["name"] if match else f"local/{source}",
        "head_branch": (build.commit_name if build is not None else "") or "unknown",
        "head_sha": (build.commit if build is not None else "") or "unknown",
        "workflow_id": workflow,
        "run_attempt": 1,
        "job_id": _epoch(result) + index,
        "model": {
            "name": benchmark.model,
            **({"backend": configuration} if configuration else {}),  # the dashboard averages what has one name
            "extra_info": model,
        },
        "runners": [_describe_runner(result)],
    }


def _benchmark(result: Result, failure: Mapping[str, str]) -> JsonRecord:
    benchmark, origin = result.benchmark, result.origin
    dtype = benchmark.axes.get("dtype")
    facts = {
        "benchmark": benchmark.identifier,
        "uid": result.uid,
        "run": result.run,
        "digest": benchmark.digest,
        "specification": benchmark.specification,
        "threads": benchmark.threads,
        "harness_version": result.harness_version,
        "trusted": str(result.trusted).lower(),
        "notes": "; ".join(note.message for note in result.notes),
        "origin": None if origin is None else origin.words,
        "origin_format": None if origin is None else origin.format,
        "origin_file": None if origin is None else origin.file,
    }
    return {
        "name": _FRAMEWORKS.get(benchmark.framework, benchmark.framework),
        "mode": "inference",
        **({"dtype": str(dtype)} if dtype else {}),
        "extra_info": {**_strings(facts), **failure},
    }


def _describe_runner(result: Result) -> JsonRecord:
    device = result.device
    if device is None:
        return {"name": "unknown", "type": "unknown"}
    facts = {
        "identity": device.identity,
        "platform": device.platform,
        "abi": device.abi,
        "microarchitecture": device.microarchitecture,
    }
    return {
        "name": device.name or "unknown",
        "type": device.os or device.platform,
        "cpu_info": device.kind,
        "cpu_count": max(0, device.cores),
        "avail_mem_in_gb": max(0, device.memory_bytes) >> 30,
        "extra_info": _strings(facts),
    }


def _convert_figure(figure: ExportedFigure) -> JsonRecord | None:
    """Return the metric with its samples; None where 32 bits hold none of them."""
    metric = figure.metric
    samples = metric.samples or (figure.value,)
    values = [sample for sample in samples if math.isfinite(sample)]
    factor, unit = _choose_unit(values, metric.unit)
    scaled = [value * factor for value in values if abs(value * factor) <= _FLOAT32]
    if not scaled:
        return None
    ends = [None if number is None else f"{number * factor:.6g}" for number in (figure.value, figure.low, figure.high)]
    facts = {
        "method": _METHODS.get(metric.metric, "forward"),
        "metric": metric.name,
        "unit": unit,
        "direction": metric.direction.value if metric.direction is not None else None,
        figure.statistic: ends[0],
        "interval_low": ends[1],
        "interval_high": ends[2],
        "launches": len(set(metric.launches)) or None,
        "values_left_out": len(samples) - len(scaled) or None,
    }
    known = _NAMES.get(metric.name)
    name = known or (metric.metric if metric.type == "NET" else metric.name)
    bare = not unit or known == _NAMES["LLM decode_rate"]
    return {
        "name": name if bare else f"{name}({unit})",
        "benchmark_values": list(scaled),
        "extra_info": _strings({**facts, **_describe_comparison(figure)}),
    }


def _choose_unit(values: Sequence[float], unit: str) -> tuple[float, str]:
    """Return the factor into the largest unit in which every value is at least 1, else into the smallest; never ns."""
    nanoseconds = convert(1.0, unit, "ns")
    base = _BYTES.get(unit) if nanoseconds is None else nanoseconds
    if base is None:
        return 1.0, unit
    ladder = _SIZES if nanoseconds is None else _TIMES
    least = min((abs(value) for value in values if value), default=math.inf)
    name, factor = next((step for step in ladder if least * base * step[1] >= 1), ladder[-1])
    return base * factor, name


def _describe_comparison(figure: ExportedFigure) -> Mapping[str, object]:
    comparison = figure.result.comparison
    if comparison is None or comparison.metric != figure.metric.name:
        return {}
    return {
        "verdict": comparison.effective_verdict.value,
        "control_sha": comparison.control.commit,
        "difference": comparison.difference,
        "difference_low": comparison.low,
        "difference_high": comparison.high,
    }


def _strings(facts: Mapping[str, object]) -> dict[str, JsonValue]:
    """Return the facts that are known, as the texts that `extra_info` takes."""
    return {name: str(fact)[:_LONGEST_INFO] for name, fact in facts.items() if fact is not None and fact != ""}


def _epoch(result: Result) -> int:
    """Return the second in which it began: never zero, which the loader drops, and always an integer of 64 bits."""
    return int(min(max(1.0, result.started), 2.0**53)) if math.isfinite(result.started) else 1
