"""What will be measured where: benchmarks paired with devices, and the pairs that cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from harness import plugins
from harness.core.benchmark import Benchmark, ModelFile
from harness.core.build import Build
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.files import CachedFile
from harness.core.protocols import Framework, Platform
from harness.core.result import Outcome
from harness.core.values import format_scalar


@dataclass(frozen=True, slots=True)
class Assignment:
    """One benchmark on one device.

    Attributes:
        benchmark: What to measure.
        device: Where.
        obstacle: Why it cannot be; None when it can.
    """

    benchmark: Benchmark
    device: Device
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run will do.

    Attributes:
        platform: The kind of device.
        assignments: Every benchmark on every device.
        frameworks: The frameworks that are needed, by name.
        spread: Whether each benchmark is measured once, on whichever of its devices is free, and not on all of them.
    """

    platform: Platform
    assignments: tuple[Assignment, ...]
    frameworks: Mapping[str, Framework]
    spread: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something that a benchmark needs is not there.

    Attributes:
        outcome: How the benchmarks that need it end.
        reason: Why.
        hint: What to do about it.
        environment: Whether the machine is to blame and not the specification.
        passing: Whether it may be there in an hour: network, disk or a lock stood in the way.
    """

    outcome: Outcome
    reason: str
    hint: str | None = None
    environment: bool = False
    passing: bool = False


ALL: Final = "all"
"""In place of a device's name."""

Files = Mapping[str, CachedFile | Failure]
"""By `file_key`."""
Builds = Mapping[tuple[str, str], Build | Failure]
"""By framework and device identity."""


def file_key(file: ModelFile, benchmark: Benchmark) -> str:
    """What makes two entries of specifications the same file."""
    content = file.model_dump_json(exclude={"key", "origin"})
    return f"{benchmark.framework}|{benchmark.model.format}|{benchmark.model.name}|{content}"


def select(benchmarks: Sequence[Benchmark], only: Sequence[str], skip: Sequence[str]) -> tuple[Benchmark, ...]:
    """The benchmarks that the patterns leave: of names, or `tag:NAME`, `model:NAME` and `AXIS:VALUE`.

    Raises:
        UsageError: None is left, or a pattern matches nothing.
    """
    for pattern in (*only, *skip):
        if not any(_matches(benchmark, pattern) for benchmark in benchmarks):
            known = ", ".join(benchmark.title for benchmark in benchmarks[:8])
            raise UsageError(f"no benchmark matches `{pattern}`", hint=f"there are: {known}")
    kept = tuple(
        benchmark
        for benchmark in benchmarks
        if (not only or any(_matches(benchmark, pattern) for pattern in only))
        and not any(_matches(benchmark, pattern) for pattern in skip)
    )
    if not kept:
        raise UsageError("no benchmark is left to measure", hint="look at --only and --skip")
    return kept


def _matches(benchmark: Benchmark, pattern: str) -> bool:
    what, colon, wanted = pattern.partition(":")
    values: dict[str, tuple[str, ...]] = {axis: (format_scalar(value),) for axis, value in benchmark.axes.items()}
    values |= {"model": (benchmark.model.name,), "tag": benchmark.tags}
    found = any(fnmatchcase(value, wanted) for value in values.get(what, ())) if colon else False
    return found or fnmatchcase(benchmark.title, pattern)


def choose(
    found: Sequence[Device], wanted: Sequence[str], excluded: Sequence[str], *, every: bool = False
) -> tuple[Device, ...]:
    """The devices that were asked for; when none was named the first one, or every one.

    Args:
        found: What there is.
        wanted: Identities or names; `all` means every one.
        excluded: Identities or names that are not to be used.
        every: Whether to use every one when none was named.

    Raises:
        EnvironmentProblem: A device that was named is not there, or none is left.
    """
    if ALL in wanted:
        wanted, every = (), True
    for name in wanted:
        if not any(name in {device.identity, device.name} for device in found):
            there = ", ".join(f"{device.name} ({device.identity})" for device in found) or "none"
            raise EnvironmentProblem(f"no device `{name}`", hint=f"there are: {there}")
    left = tuple(
        device
        for device in found
        if not {device.identity, device.name} & set(excluded)
        and (not wanted or {device.identity, device.name} & set(wanted))
    )
    if not left:
        raise EnvironmentProblem("no device to measure on", hint="`harness devices` lists what can be reached")
    return left if wanted or every else left[:1]


def assign(benchmarks: Sequence[Benchmark], devices: Sequence[Device]) -> tuple[Assignment, ...]:
    """Every benchmark on every device, with what stands against it."""
    return tuple(
        Assignment(benchmark, device, _obstacle(benchmark, device)) for device in devices for benchmark in benchmarks
    )


def distribute(assignments: Sequence[Assignment]) -> tuple[Assignment, ...]:
    """Assign each benchmark to one device, in turn among those that can run it.

    Pairs of launches belong together, so that a comparison stays on the device where it began.
    """
    by_benchmark: dict[int, list[Assignment]] = {}
    for one in assignments:
        by_benchmark.setdefault(id(one.benchmark), []).append(one)
    distributed: list[Assignment] = []
    for number, places in enumerate(by_benchmark.values()):
        fit = [place for place in places if place.obstacle is None] or places
        distributed.append(fit[number % len(fit)])
    return tuple(distributed)


def _obstacle(benchmark: Benchmark, device: Device) -> str | None:
    if benchmark.platform is not None and plugins.platform_name(benchmark.platform) != device.platform:
        return f"needs a device of platform {benchmark.platform}, and {device.name} is of platform {device.platform}"
    if benchmark.threads is not None and benchmark.threads > device.cores:
        return f"needs {benchmark.threads} threads, and {device.name} has {device.cores} CPUs"
    return None
