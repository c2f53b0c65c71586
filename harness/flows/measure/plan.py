"""The plan of a run: benchmarks assigned to devices, and the assignments that cannot be measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from harness import plugins
from harness.core.benchmark import Benchmark, ModelFile
from harness.core.device import Device
from harness.core.errors import UsageError
from harness.core.outcome import Outcome
from harness.core.power import LaunchMeter
from harness.core.probe import ProbePass
from harness.core.protocols import AppStarting, Framework, Platform, Probe
from harness.flows.measure.metering import NO_METERS, Meters, choose_meter
from harness.flows.measure.probing import choose_probes

if TYPE_CHECKING:  # a plan that is only shown loads no result
    from harness.core.build import Build
    from harness.core.cached_files import CachedFile
    from harness.core.measurement import References


class Assignment(Struct, frozen=True):
    """One benchmark on one device.

    Attributes:
        benchmark: The benchmark.
        device: The device to measure it on.
        obstacle: Reason why the device cannot run the benchmark; None when it can.
        failure: Reason why it cannot now, as far as was found before runners were built.
        meter: External meter of its energy, where it wants one.
        unmetered: Reason why its energy, one of several kinds, is left out; None where it is not.
        probes: What observes it in launches of its own, or the passes that are skipped.
    """

    benchmark: Benchmark
    device: Device
    obstacle: str | None = None
    failure: Failure | None = None
    meter: LaunchMeter | None = None
    unmetered: str | None = None
    probes: tuple[Probe | ProbePass, ...] = ()

    @property
    def is_possible(self) -> bool:
        """Return whether nothing is known that stands in the way."""
        return self.obstacle is None and self.failure is None


class Plan(Struct, frozen=True):
    """Benchmarks assigned to devices, and the plug-ins that measure them.

    Attributes:
        platform: The kind of device.
        assignments: Every benchmark on every device.
        frameworks: The frameworks that are needed, by name.
        spread: Whether each benchmark is measured once, on whichever of its devices is free, and not on all of them.
        recipe_variant: Recipe to build with, among those of the platform; empty for the usual one.
    """

    platform: Platform
    assignments: tuple[Assignment, ...]
    frameworks: Mapping[str, Framework]
    spread: bool = False
    recipe_variant: str = ""

    @property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """Every benchmark once, in the order of the specifications."""
        return tuple({id(assignment.benchmark): assignment.benchmark for assignment in self.assignments}.values())

    @property
    def devices(self) -> tuple[Device, ...]:
        """Every device once."""
        return tuple({assignment.device.identity: assignment.device for assignment in self.assignments}.values())

    def keep_possible(self, files: Files) -> Plan:
        """Return the plan of the assignments that are possible, and of which no file could not be fetched."""
        return replace(
            self,
            assignments=tuple(
                assignment
                for assignment in self.assignments
                if assignment.is_possible
                and not any(
                    isinstance(files.get(file_key(file, assignment.benchmark)), Failure)
                    for file in assignment.benchmark.required_files()
                )
            ),
        )


class Failure(Struct, frozen=True):
    """Something that a benchmark needs and that could not be had.

    Attributes:
        outcome: Outcome of the benchmarks that need it.
        reason: What went wrong.
        hint: What to do about it.
        is_environment_problem: Whether the machine is to blame and not the specification.
        is_transient: Whether trying again later may help: network, disk or a lock stood in the way.
    """

    outcome: Outcome
    reason: str
    hint: str | None = None
    is_environment_problem: bool = False
    is_transient: bool = False


Files: TypeAlias = "Mapping[str, CachedFile | Failure]"
"""By `file_key`."""
Builds: TypeAlias = "Mapping[tuple[str, str], Build | Failure]"
"""By framework and device identity."""
PreparedReferences: TypeAlias = "Mapping[str, References | Failure]"
"""What outputs are compared with, by digest of the benchmark; those whose outputs are not evaluated are missing."""


def file_key(file: ModelFile, benchmark: Benchmark) -> str:
    """Return the key under which equal entries of specifications share one file."""
    content = file.model_dump_json(exclude={"key", "origin"})
    return f"{benchmark.framework}|{benchmark.model.format}|{benchmark.model.name}|{content}"


def assign(
    benchmarks: Sequence[Benchmark], devices: Sequence[Device], platform: Platform, meters: Meters = NO_METERS
) -> tuple[Assignment, ...]:
    """Assign every benchmark to every device of a platform, and note the assignments that cannot be measured.

    Args:
        benchmarks: The benchmarks.
        devices: The devices.
        platform: Their kind.
        meters: The meters beside them.
    """
    return tuple(_assign(benchmark, device, platform, meters) for device in devices for benchmark in benchmarks)


def _assign(benchmark: Benchmark, device: Device, platform: Platform, meters: Meters) -> Assignment:
    obstacle = _obstacle(benchmark, device, platform)
    if obstacle is not None:
        return Assignment(benchmark, device, obstacle)
    probes = choose_probes(benchmark, device)
    metering = choose_meter(benchmark, device, platform, meters)
    return Assignment(
        benchmark,
        device,
        metering.obstacle,
        meter=metering.meter,
        unmetered=metering.unmetered,
        probes=probes,
    )


def distribute(assignments: Sequence[Assignment]) -> tuple[Assignment, ...]:
    """Give each benchmark to one device, in turn among the devices that can run it.

    A comparison stays on the device where it began, because the launches of a pair belong together.
    """
    by_benchmark: dict[int, list[Assignment]] = {}
    for assignment in assignments:
        by_benchmark.setdefault(id(assignment.benchmark), []).append(assignment)
    distributed: list[Assignment] = []
    for number, candidates in enumerate(by_benchmark.values()):
        possible = [assignment for assignment in candidates if assignment.obstacle is None] or candidates
        distributed.append(possible[number % len(possible)])
    return tuple(distributed)


def _obstacle(benchmark: Benchmark, device: Device, platform: Platform) -> str | None:
    if benchmark.platform is not None and plugins.platform_name(benchmark.platform) != device.platform:
        return f"needs a device of platform {benchmark.platform}, and {device.name} is of platform {device.platform}"
    if benchmark.obstacle is not None:
        return benchmark.obstacle
    if benchmark.app is not None and not isinstance(platform, AppStarting):
        return f"needs a device that starts apps, and {device.name} is of platform {device.platform}"
    if benchmark.threads is not None and benchmark.threads > device.cores:
        return f"needs {benchmark.threads} threads, and {device.name} has {device.cores} CPUs"
    return None


def reject_recipe_variant(platform: str, variant: str) -> None:
    """Reject a recipe where nothing is built.

    Raises:
        UsageError: There is one.
    """
    if variant:
        raise UsageError(
            f"--platform {platform}/{variant} names a recipe, and nothing is built",
            hint=f"leave out `/{variant}`, or name a commit to build (--repo-dir, --commit)",
        )
