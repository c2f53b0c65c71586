"""Log of `benchmark_model`, the benchmark tool of TensorFlow Lite and LiteRT, and of its relatives.

Source: tensorflow/lite/tools/benchmark/benchmark_model.cc and benchmark_performance_options.cc, from 2018 on. Android's
copy begins each line with a tag of the log, desktops' since 2.5 with `INFO: `.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from frameworks.tflite.operator_tables import OperatorTables
from harness.core.metric import Observation
from harness.core.note import Note

StatisticsByName = dict[str, float]

_MAX_LINE: Final = 4096
"""Longest line that is read: names of fused operators are long, and no other line is."""

_MAX_OPTIONS: Final = 100
"""Performance options that are read; the tool has about a dozen."""

_NUMBER = r"-?[\d.]{1,40}(?:e[+-]?\d{1,3})?"
_STATISTICS = re.compile(rf"\b(count|first|curr|min|max|avg|std|p5|median|p95)=({_NUMBER})")
_NAMES: Final = {
    "count": "n", "min": "p0", "max": "p100", "avg": "mean", "std": "stdev", "p5": "p5", "median": "p50", "p95": "p95",
}  # fmt: skip

_BEGIN = "Running benchmark for"
_OPTION = re.compile(r"(?P<option>\S.{0,120}?): {1,4}(?P<rest>failed!|count=.*)")
_SUMMARY_OF_OPTIONS = "Summary of All Runs"
_FAILED = "Benchmarking failed"
_TIMINGS = re.compile(r"(?:Inference|Average inference) timings in us: (?P<parts>.*)")
_PART = re.compile(rf"(Init|First inference|Warmup \(avg\)|Warmup|Inference \(avg\)|Inference|no stats): ({_NUMBER})")
_FOOTPRINT = re.compile(rf"emory footprint.{{0,60}}\(MB\).{{0,40}}: init=({_NUMBER}) overall=({_NUMBER})")
_PEAK = re.compile(rf"peak memory footprint \(MB\) via periodic monitoring: ({_NUMBER})")
_STATUS = re.compile(rf"[-+] (VmRSS|RssAnnon|RssAnon|RssFile \+ RssShmem) *: ({_NUMBER}) MB")
_SIZE = re.compile(rf"input model file size \(MB\): ({_NUMBER})")
_THREADS = re.compile(r"(?:Num threads|#threads used for CPU inference): \[(\d{1,6})\]")
_APPLIED = re.compile(
    r"Explicitly applied (?P<delegate>[\w .-]{1,60}) delegate, and the model graph will be "
    r"(?P<part>completely|partially) executed(?:.{0,60}w/ (?P<kernels>\d{1,6}) delegate kernels)?"
)
_CREATED = re.compile(r"Created TensorFlow Lite (?P<delegate>[\w -]{1,60}) delegate")

_MIB: Final = 1 << 20
_MEMORY: Final = {
    "VmRSS": "final_memory",
    "RssAnnon": "final_anonymous_memory",  # upstream's spelling
    "RssAnon": "final_anonymous_memory",
    "RssFile + RssShmem": "final_shared_memory",
}


@dataclass(slots=True)
class _Log:
    """What was read of a log."""

    phases: list[StatisticsByName] = field(default_factory=list)
    options: dict[str, StatisticsByName | None] = field(default_factory=dict)
    run: dict[tuple[str, str], float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    tables: OperatorTables = field(default_factory=OperatorTables)
    runs: int = 0
    failed: bool = False
    left_out: int = 0
    awaits_statistics: bool = False
    in_summary: bool = False


def is_log(text: str) -> bool:
    """Return whether a program printed a log of this tool."""
    return _BEGIN in text or "timings in us: " in text or "Operator-wise Profiling Info" in text


def parse_log(text: str) -> tuple[tuple[Observation, ...], tuple[Note, ...]]:
    """Parse the log of one launch in one pass. Never raises; what cannot be read is noted."""
    log = _Log()
    for line in text.split("\n"):
        if len(line) > _MAX_LINE:
            log.left_out += 1
        elif not log.tables.read(line):
            _read_line(line, log)
    if log.failed:
        reason = "the tool says `Benchmarking failed.`"
        return (), (Note(code="failed", message=reason, hint="see the log of the launch", trust=False),)
    return tuple(_observations(log)), tuple(_notes(log))


def _read_line(line: str, log: _Log) -> None:
    if _BEGIN in line:
        log.awaits_statistics = True
    elif log.awaits_statistics and "count=" in line:
        log.awaits_statistics = False
        log.phases.append(_statistics(line))
    elif _SUMMARY_OF_OPTIONS in line:
        log.in_summary = True
    elif log.in_summary and (match := _OPTION.search(line)) is not None:
        _read_option(match["option"].removeprefix("INFO: ").strip(), match["rest"], log)
    elif "Initialized session in" in line:
        log.runs += 1
        log.phases.clear()
    elif _FAILED in line:
        log.failed = True
    else:
        _read_facts(line, log)


def _read_option(option: str, rest: str, log: _Log) -> None:
    if len(log.options) >= _MAX_OPTIONS:
        log.left_out += 1
        return
    log.options[option] = None if rest == "failed!" else _statistics(rest)


def _read_facts(line: str, log: _Log) -> None:
    """Read a line that tells single figures."""
    if (match := _TIMINGS.search(line)) is not None:
        log.timings = {
            name: value for name, text in _PART.findall(match["parts"]) if (value := _finite(text)) is not None
        }
    elif (match := _FOOTPRINT.search(line)) is not None:
        _put(log, "load_memory", "bytes", match[1], _MIB)
        _put(log, "overall_memory", "bytes", match[2], _MIB)
    elif (match := _PEAK.search(line)) is not None:
        _put(log, "peak_memory", "bytes", match[1], _MIB)
    elif (match := _STATUS.search(line)) is not None:
        _put(log, _MEMORY[match[1]], "bytes", match[2], _MIB)
    elif (match := _SIZE.search(line)) is not None:
        _put(log, "model_size", "bytes", match[1], 1e6)
    elif (match := _THREADS.search(line)) is not None:
        _put(log, "threads", "", match[1])
    elif (match := _APPLIED.search(line)) is not None:
        kernels = f", {match['kernels']} kernels" if match["kernels"] else ""
        log.texts["delegate"] = f"{match['delegate']} ({match['part']}{kernels})"
    elif (match := _CREATED.search(line)) is not None:
        log.texts.setdefault("delegate", match["delegate"])


def _put(log: _Log, metric: str, unit: str, text: str, scale: float = 1) -> None:
    if (value := _finite(text)) is not None:
        log.run[metric, unit] = value * scale


def _statistics(line: str) -> StatisticsByName:
    """Parse `count=70 first=14941 curr=14066 min=13728 max=16145 avg=14290.9 std=452`, in microseconds.

    One sample, or equal ones, are printed as `count=1 curr=11409`.
    """
    printed = {name: value for name, text in _STATISTICS.findall(line) if (value := _finite(text)) is not None}
    if not printed.get("count"):
        return {}
    if "avg" not in printed and "curr" in printed:
        printed |= dict.fromkeys(("min", "max", "avg", "median"), printed["curr"]) | {"std": 0.0}
    return {usual: printed[name] for name, usual in _NAMES.items() if name in printed}


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _observations(log: _Log) -> Iterator[Observation]:
    if not log.options:
        yield from _inference(log)
        yield from _facts(log)
    for option, statistics in log.options.items():
        if statistics:
            yield Observation(type="NET", metric=f"latency {option}", unit="us", summary=statistics)
    for metric, text in log.texts.items():
        yield Observation(type="RUN", metric=metric, info=text)
    yield from log.tables.observations()


def _inference(log: _Log) -> Iterator[Observation]:
    """Yield the latency: the second phase is measured, the first one is warm-up, however short."""
    statistics = log.phases[1] if len(log.phases) > 1 else {}
    if not statistics:
        means = (log.timings.get(name, 0.0) for name in ("Inference (avg)", "Inference", "no stats"))
        mean = next((mean for mean in means if mean > 0), None)
        statistics = {"mean": mean} if mean is not None else {}
    if statistics:
        yield Observation(type="NET", metric="latency", unit="us", summary=statistics)
    if log.phases and log.phases[0]:
        yield Observation(type="RUN", metric="warmup_latency", unit="us", summary=log.phases[0])


def _facts(log: _Log) -> Iterator[Observation]:
    for name, metric in (("Init", "load_time"), ("First inference", "first_iteration")):
        if name in log.timings:
            yield Observation(type="RUN", metric=metric, unit="us", samples=(log.timings[name],))
    for (metric, unit), value in log.run.items():
        yield Observation(type="RUN", metric=metric, unit=unit, samples=(value,))


def _notes(log: _Log) -> Iterator[Note]:
    if log.options:
        failed = [option for option, statistics in log.options.items() if not statistics]
        if failed:
            message = f"no latency with these performance options: {', '.join(failed)[:500]}"
            yield Note(code="failed_options", message=message, hint="see the log of the launch", trust=False)
    elif len(log.phases) == 1 and not log.timings:
        yield Note(
            code="lost_metric",
            message="the log ends after the warm-up: there is no latency",
            hint="see the log of the launch; was it cut, or the tool killed?",
            trust=False,
        )
    lost = log.tables.bad + log.tables.left_out + log.left_out
    if lost:
        message = f"{lost} lines of the log could not be read, or are beyond what is read"
        yield Note(code="bad_lines", message=message, hint="see the log of the launch", trust=False)
