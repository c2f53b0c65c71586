"""`--reporter xnnpack_table=FILE.md`: the table of XNNPACK's README, with the figures of this run above its own.

Average latency in milliseconds of MobileNets in one thread: ExecuTorch's portable kernels, its XNNPACK delegate in
floating point and quantised, and PyTorch's Lite Interpreter as reference. `harness run xnnpack_table` measures them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from harness.config.settings import Settings
from harness.core.metric import Metric, convert, main_metric
from harness.core.result import Result
from harness.presentation.text import make_printable
from reporters.exports.reporter import ExportedRun, ExportReporter, create_export_reporter

_MODELS: Final = MappingProxyType(
    {"mv2": "MobileNet V2 1.0", "mv3_large": "MobileNet V3 Large", "mv3_small": "MobileNet V3 Small"}
)
"""Rows: names by model definition."""

_COLUMNS: Final = MappingProxyType(
    {
        "portable": "portable",
        "xnnpack_fp32": "XNNPACK fp32",
        "xnnpack_q8": "XNNPACK q8",
        "lite_interpreter": "Lite Interpreter (reference)",
    }
)
"""Columns: titles by recipe."""

_PUBLISHED: Final = MappingProxyType(
    {
        "mv2": {"Pixel": 49, "Pixel 2": 53, "Pixel 3a": 55},
        "mv3_large": {"Pixel": 39, "Pixel 2": 42, "Pixel 3a": 44},
        "mv3_small": {"Pixel": 12, "Pixel 2": 14, "Pixel 3a": 14},
    }
)
"""Milliseconds, single-threaded, in floating point (github.com/google/XNNPACK, README.md, section Performance)."""

_PUBLISHED_HOW: Final = (
    "XNNPACK's README: benchmarked on March 27, 2020 with `end2end_bench --benchmark_min_time=5`, an Android/ARM64 "
    "build with NDK r21, randomised weights and inputs, one thread. It has no portable kernels, no quantised models "
    "in this table, and no reference column."
)


class _Cell(Struct, frozen=True):
    """Average of one benchmark.

    Attributes:
        result: The result.
        average_ms: Mean latency in milliseconds; None where there is none.
    """

    result: Result
    average_ms: float | None

    @property
    def text(self) -> str:
        """The average with three digits, marked where it is not to be trusted; else what happened."""
        if self.average_ms is None:
            return self.result.outcome.words
        differs = self.result.same_work is not None and not self.result.same_work.is_same
        marks = ("" if self.result.trusted else " !") + (" ≠" if differs else "")
        return f"{self.average_ms:.{0 if self.average_ms >= 100 else 1 if self.average_ms >= 10 else 2}f}" + marks


def create(settings: Settings) -> ExportReporter | None:
    """Create the reporter where `--reporter xnnpack_table=FILE.md` asks for it."""
    return create_export_reporter("xnnpack_table", settings, render)


def render(results: Sequence[Result]) -> ExportedRun:
    """Render the table; of several results of one cell the last counts."""
    cells = _place(results)
    lines = [
        "# MobileNets with XNNPACK",
        "",
        "Average latency in ms, one thread.",
        "",
        f"| model | device | {' | '.join(_COLUMNS.values())} |",
        f"| --- | --- |{' ---: |' * len(_COLUMNS)}",
        *_rows(cells),
        "",
        *_explain(tuple(cell.result for cell in cells.values())),
        "",
    ]
    others = len(results) - sum(_find_place(result) is not None for result in results)
    return ExportedRun(("\n".join(lines),), f"{others} other results" if others else "")


def _place(results: Sequence[Result]) -> Mapping[tuple[str, str, str], _Cell]:
    """Return the cells by model, device and recipe."""
    cells: dict[tuple[str, str, str], _Cell] = {}
    for result in results:
        place = _find_place(result)
        if place is not None:
            device = result.device.name if result.device is not None else "no device"
            cells[place[0], make_printable(device), place[1]] = _Cell(result, _average_ms(main_metric(result.metrics)))
    return cells


def _find_place(result: Result) -> tuple[str, str] | None:
    """Return definition and recipe of what was measured in one thread; None where it has no place in the table."""
    if result.benchmark.threads != 1:
        return None
    axes, model = result.benchmark.axes, result.benchmark.model.removeprefix("xnnpack_")
    exports = [file.export.export for file in result.files.values() if file.export is not None]
    definition, recipe = (exports[0].definition, exports[0].recipe) if exports else (model, str(axes.get("backend")))
    return (definition, recipe) if definition in _MODELS and recipe in _COLUMNS else None


def _average_ms(metric: Metric | None) -> float | None:
    """Return the mean of all samples in milliseconds."""
    if metric is None or not metric.samples:
        return None
    return convert(sum(metric.samples) / len(metric.samples), metric.unit, "ms")


def _rows(cells: Mapping[tuple[str, str, str], _Cell]) -> Iterator[str]:
    for definition, name in _MODELS.items():
        devices = dict.fromkeys(device for model, device, _ in cells if model == definition)
        for device in devices:
            texts = [
                cells[definition, device, recipe].text if (definition, device, recipe) in cells else ""
                for recipe in _COLUMNS
            ]
            yield f"| {name} | {_escape(device)} | {' | '.join(texts)} |"
        if devices:
            for phone, average in _PUBLISHED[definition].items():
                texts = [str(average) if recipe == "xnnpack_fp32" else "" for recipe in _COLUMNS]
                yield f"| {name} | *{phone} (XNNPACK's README)* | {' | '.join(texts)} |"


def _explain(results: Sequence[Result]) -> Iterator[str]:
    """Yield what was measured where, and what differs from the README."""
    devices = {result.device.identity: result.device for result in results if result.device is not None}
    for device in devices.values():
        words = ", ".join(filter(None, (device.kind, device.microarchitecture, device.os, device.abi)))
        yield f"- {_escape(make_printable(device.name))}: {_escape(make_printable(words))}."
    versions = sorted({_describe_runtime(result) for result in results if result.ok})
    if versions:
        yield f"- Measured with {', '.join(versions)}; {_describe_iterations(results)}."
    yield f"- {_PUBLISHED_HOW}"
    if any(not result.trusted for result in results if result.ok):
        yield "- `!`: something speaks against this number; `harness report -v` tells what."
    if any(result.same_work is not None and not result.same_work.is_same for result in results):
        yield "- `≠`: its outputs were not shown to be those of the eager model of the same weights."


def _describe_runtime(result: Result) -> str:
    """Name the runtime as it named itself, else its build."""
    infos = (metric.info for metric in result.metrics if metric.name == "RUN runtime")
    runtime = next((info for info in infos if info), None)
    return make_printable(
        runtime or f"{result.benchmark.framework} {result.build.commit if result.build else ''}"
    ).strip()


def _describe_iterations(results: Sequence[Result]) -> str:
    counts = {(result.benchmark.warmup, result.benchmark.iterations, result.benchmark.launches) for result in results}
    return " or ".join(
        f"{warmup} warm-up and {iterations} measured iterations in each of {launches} launches"
        for warmup, iterations, launches in sorted(counts)
    )


def _escape(text: str) -> str:
    """Escape what ends a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
