"""`validate`, `--dry-run` and `devices`: everything that looks and touches nothing."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from harness import plugins
from harness.core.benchmark import Benchmark, ModelFile
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed
from harness.core.protocols import Exporter
from harness.flows.plan import Pair, Plan
from harness.models.cache import ModelCache
from harness.settings import Settings


def show_plan(plan: Plan, settings: Settings, console: Console) -> None:
    """What a run would do: every benchmark, where, with which files."""
    cache = ModelCache(settings.model_cache)
    table = Table(title="Plan", title_justify="left", header_style="bold", pad_edge=False)
    for name in ("id", "benchmark", "framework", "device", "threads", "launches × iterations", "limit", "files"):
        table.add_column(name)
    for one in plan.pairs:
        table.add_row(*_row(one, plan, cache))
    console.print(table)


def show_benchmarks(benchmarks: tuple[Benchmark, ...], console: Console) -> None:
    """What a valid specification expands to."""
    table = Table(header_style="bold", pad_edge=False)
    for name in ("id", "benchmark", "metric", "framework", "matrix", "inputs"):
        table.add_column(name)
    for one in benchmarks:
        axes = ", ".join(f"{name}={value}" for name, value in one.axes.items())
        inputs = ", ".join(f"{tensor.name} {'x'.join(map(str, tensor.shape))}" for tensor in one.inputs)
        table.add_row(str(one.id), one.title, one.metric, one.framework, axes, inputs)
    console.print(table)


def show_devices(settings: Settings, console: Console) -> None:
    """Every device that any platform can reach."""
    for name in plugins.names("platform"):
        for device in plugins.platform(name, settings).devices():
            console.print(_device_table(device))


def _device_table(device: Device) -> Table:
    table = Table(title=f"{device.platform}: {device.name}", title_justify="left", show_header=False, pad_edge=False)
    table.add_row("identity", device.identity)
    table.add_row("processor", device.kind)
    table.add_row("system", f"{device.os}, {device.abi}")
    table.add_row("CPUs", str(device.cores))
    table.add_row("memory", f"{device.memory_bytes / 2**30:.1f} GiB")
    for key, value in device.attributes.items():
        table.add_row(key, value)
    return table


def _row(one: Pair, plan: Plan, cache: ModelCache) -> tuple[str, ...]:
    benchmark = one.benchmark
    files = [f"{file.filename} ({_state(file, benchmark, plan, cache)})" for file in benchmark.cached_files()]
    iterations = "" if benchmark.iterations < 0 else f" × {benchmark.iterations}"
    return (
        str(benchmark.id),
        benchmark.title,
        benchmark.framework,
        one.device.name,
        "" if benchmark.threads is None else str(benchmark.threads),
        f"{benchmark.launches}{iterations}",
        "" if benchmark.time_limit_s is None else f"{benchmark.time_limit_s:g} s",
        f"skipped: {one.obstacle}" if one.obstacle else ", ".join(files),
    )


def _state(file: ModelFile, benchmark: Benchmark, plan: Plan, cache: ModelCache) -> str:
    framework = plan.frameworks[benchmark.framework]
    exporter = framework if isinstance(framework, Exporter) else None
    try:
        cached = cache.peek(file, model=benchmark.model, exporter=exporter)
    except BenchmarkFailed as error:
        return f"cannot be had: {error.message}"
    if cached is not None:
        return "cached"
    return "to export" if file.export else "to fetch"
