"""The workload of a command: benchmarks and the plug-ins that they need, loaded once, and the devices to use."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import UsageError
from harness.core.patterns import matches_pattern
from harness.core.protocols import Framework, Platform, Progress, device_options
from harness.core.reproduction import SHORT_DIGEST
from harness.core.scalars import format_scalar
from harness.flows.measure.devices import DeviceRequest, find_devices
from harness.flows.measure.given_programs import reject_unexecutable
from harness.flows.measure.metering import NO_METERS, Meters
from harness.flows.measure.named_parts import find_problems, load_frameworks
from harness.flows.measure.plan import Plan, assign
from harness.presentation.text import make_printable
from harness.probes.options import read_probe
from harness.specification.document import SpecificationDocument
from harness.specification.load import load
from harness.specification.load_options import LoadOptions
from harness.store.known_devices import was_measured_on

_FEW: Final = 8
"""Benchmarks that a hint lists."""


class BenchmarkSelection(Struct, frozen=True):
    """A part of a workload.

    Attributes:
        title: Title of the only benchmark to measure.
        device: Identity of the only device to measure on; None takes those that were asked for.
    """

    title: str
    device: str | None = None


class Workload(Struct, frozen=True):
    """Everything that a command measures: benchmarks and the plug-ins that they need, loaded once per command.

    A command that lasts for weeks makes a new plan for each comparison: devices come, go and change their addresses.

    Attributes:
        benchmarks: The selected benchmarks of the specifications.
        platform: The kind of device.
        frameworks: The frameworks that are needed, by name.
        devices: Identities or names of the devices to use; empty means the first (or only) device.
        excluded_devices: Identities or names never to use.
        spread: Whether each benchmark is measured once, on whichever of its devices is free, and not on all of them.
        loaded: Every benchmark of the specifications, also those that were not selected.
        load_framework: Loads a framework that only benchmarks need that were not selected.
        recipe_variant: Recipe to build with, among those of the platform; empty for the usual one.
        return_timeout_s: How long to wait for devices that cannot be used yet.
        is_known: Whether a device of this name was measured before.
        meters: The meters beside devices.
    """

    benchmarks: tuple[Benchmark, ...]
    platform: Platform
    frameworks: Mapping[str, Framework]
    devices: tuple[str, ...] = ()
    excluded_devices: tuple[str, ...] = ()
    spread: bool = False
    loaded: tuple[Benchmark, ...] = ()
    load_framework: Callable[[str], Framework] | None = None
    recipe_variant: str = ""
    return_timeout_s: float = 0.0
    is_known: Callable[[str], bool] = lambda _: True
    meters: Meters = NO_METERS

    def plan(self, progress: Progress) -> Plan:
        """Look for the devices, wait for those that cannot be used yet, and assign every benchmark to each of them.

        Args:
            progress: Shows what is waited for, and which devices are left out.

        Raises:
            EnvironmentProblem: No device can be used, or a named one cannot.
            Interrupted: The harness is being stopped.
        """
        request = DeviceRequest(self.devices, self.excluded_devices, self.spread, self.return_timeout_s, self.is_known)
        devices = find_devices(self.platform, request, progress)
        assignments = assign(self.benchmarks, devices, self.platform, self.meters)
        return Plan(self.platform, assignments, self.frameworks, self.spread, self.recipe_variant)

    def restrict(self, selection: BenchmarkSelection) -> Workload:
        """Return the workload of one benchmark, on one device if the selection names one.

        The benchmark need not be among the selected ones: an alarm outlives the patterns that were given when it was
        raised.

        Raises:
            UsageError: No benchmark has the title.
        """
        benchmarks = select(self.loaded or self.benchmarks, (glob.escape(selection.title),), ())
        devices = self.devices if selection.device is None else (selection.device,)
        frameworks = dict(self.frameworks)
        for name in {benchmark.framework for benchmark in benchmarks} - frameworks.keys():
            if self.load_framework is not None:
                frameworks[name] = self.load_framework(name)
        part = replace(self, benchmarks=benchmarks, frameworks=frameworks, devices=devices, spread=False)
        return part if selection.device is None else replace(part, is_known=lambda _: True)


def load_workload(
    settings: Settings, benchmarks: Sequence[Benchmark] | None = None, platforms: Sequence[str] = ()
) -> Workload:
    """Load the specifications and the plug-ins that they need.

    Args:
        settings: Which specifications, which of their benchmarks, and which devices.
        benchmarks: The benchmarks of the specifications, where they have been loaded already.
        platforms: Names of all platforms that the command measures on; none means that of the settings alone.

    Raises:
        UsageError: Wrong specifications, patterns or names, a program that cannot be executed, or an option that no
            platform can carry out.
        EnvironmentProblem: A plug-in cannot be loaded.
    """
    if settings.lab is not None:
        raise UsageError("--lab: this command does not measure in a lab yet", hint="leave it out")
    platform = plugins.platform(settings.platform, settings)
    others = (plugins.platform(name, settings) for name in platforms if name != settings.platform)
    _reject_unsupported_options((platform, *others), settings)
    reject_unexecutable(settings.program, platform)
    loaded = load_benchmarks(settings) if benchmarks is None else benchmarks
    selected = select_requested(loaded, settings)
    load_framework = partial(plugins.framework, settings=settings)
    return Workload(
        selected,
        platform,
        load_frameworks(selected, settings),
        settings.devices,
        settings.excluded_devices,
        settings.spread,
        tuple(loaded),
        load_framework,
        plugins.recipe_variant(settings.platform),
        0.0 if settings.dry_run else settings.return_timeout,
        lambda name: "return_timeout" in settings.requested or was_measured_on(settings.local_reporter, name),
        Meters(settings.monsoon_map),
    )


def _reject_unsupported_options(platforms: Sequence[Platform], settings: Settings) -> None:
    """Reject options that ask for something that none of the platforms can do to its devices.

    Raises:
        UsageError: There is one.
    """
    heeded = {name for platform in platforms for name in device_options(platform)}
    options = plugins.load_options(lambda _: None).options
    unsupported = [
        option
        for option in options
        if option.option.of_device and option.name in settings.requested and option.name not in heeded
        if getattr(settings.of(option.owner) if option.owner is not Settings else settings, option.name)
        != option.default
    ]
    if unsupported:
        flags, headings = (
            ", ".join(dict.fromkeys(names)) for names in zip(*((o.flag, o.heading) for o in unsupported), strict=True)
        )
        names = list(dict.fromkeys(f"`{platform.name}`" for platform in platforms))
        cannot = f"platform {names[0]} cannot" if len(names) == 1 else f"none of the platforms {', '.join(names)} can"
        raise UsageError(
            f"{flags}: {cannot} do that to its devices",
            hint=f"leave it out; `harness run --help` has it below `{headings}`",
        )


def load_benchmarks(settings: Settings, documents: Sequence[SpecificationDocument] = ()) -> tuple[Benchmark, ...]:
    """Load every benchmark of the specifications, expanded.

    Args:
        settings: Which specifications, and options of loading.
        documents: Further specifications, which are in no file.

    Raises:
        SpecificationError: Everything that is wrong with them.
    """
    table = plugins.load_options(lambda _: None)  # the command line has reported what cannot be loaded
    options = LoadOptions(
        string_map=settings.string_map,
        root_model_dir=settings.root_model_dir,
        framework=settings.framework,
        env=settings.env,
        timeout_s=settings.timeout,
        cooldown_s=settings.cooldown,
        command_args=settings.command_args,
        meta=settings.meta,
        operators=settings.operators,
        probes=tuple(read_probe(text) for text in settings.probe),
        precision=settings.precision,
        programs=frozenset({*settings.program, *settings.later}),
        protected_flags=table.protected_keys,
    )
    examine = partial(find_problems, settings=settings)
    return load((*settings.benchmark_file, *documents), options, examine).benchmarks


def select(
    benchmarks: Sequence[Benchmark], only: Sequence[str], skip: Sequence[str], digests: Sequence[str] = ()
) -> tuple[Benchmark, ...]:
    """Return the benchmarks that patterns select: by title, `tag:NAME`, `model:NAME` or `AXIS:VALUE`.

    Args:
        benchmarks: The benchmarks to select from.
        only: Patterns of which one must match; none: all.
        skip: Patterns of which none may match.
        digests: Beginnings of the digests of the only benchmarks to keep; none: any.

    Raises:
        UsageError: No benchmark is left, a pattern matches none, or none has one of the digests.
    """
    _reject_unmatched(benchmarks, (*only, *skip))
    kept = tuple(
        benchmark
        for benchmark in benchmarks
        if (not only or any(_matches(benchmark, pattern) for pattern in only))
        and not any(_matches(benchmark, pattern) for pattern in skip)
    )
    if not kept:
        raise UsageError("no benchmark is left to measure", hint="look at --only and --skip")
    return _select_defined(kept, digests) if digests else kept


def select_requested(benchmarks: Sequence[Benchmark], settings: Settings) -> tuple[Benchmark, ...]:
    """Return the benchmarks that the settings select.

    Raises:
        UsageError: As `select`, with the file or the variable where a pattern without a match stands.
    """
    for option, patterns in (("only", settings.only), ("skip", settings.skip)):
        _reject_unmatched(benchmarks, patterns, settings.places.get(option))
    return select(benchmarks, settings.only, settings.skip, settings.benchmark_digest)


def _reject_unmatched(benchmarks: Sequence[Benchmark], patterns: Sequence[str], place: str | None = None) -> None:
    for pattern in patterns:
        if not any(_matches(benchmark, pattern) for benchmark in benchmarks):
            known = make_printable(", ".join(benchmark.title for benchmark in benchmarks[:_FEW]))
            more = len(benchmarks) - _FEW
            others = f", and {more} more (`--dry-run` lists them)" if more > 0 else ""
            problem = f"no benchmark matches `{pattern}`"
            part = f"*{pattern}*"
            meant = f"did you mean `{part}`? " if any(_matches(benchmark, part) for benchmark in benchmarks) else ""
            raise UsageError(f"{place}: {problem}" if place else problem, hint=f"{meant}there are: {known}{others}")


def _select_defined(benchmarks: Sequence[Benchmark], digests: Sequence[str]) -> tuple[Benchmark, ...]:
    """Return the benchmarks with these digests, of which the beginnings may be given.

    Raises:
        UsageError: One is missing: the specification has changed.
    """
    missing = [digest for digest in digests if not any(each.digest.startswith(digest) for each in benchmarks)]
    if missing:
        now = ", ".join(f"{benchmark.title} ({benchmark.digest[:SHORT_DIGEST]})" for benchmark in benchmarks[:8])
        raise UsageError(
            f"the specification has changed: --benchmark-digest asks for {', '.join(missing)}, and there is now {now}",
            hint="the file, or a flag such as --env, differs; leave out --benchmark-digest to measure what it says now",
        )
    return tuple(benchmark for benchmark in benchmarks if benchmark.digest.startswith(tuple(digests)))


def _matches(benchmark: Benchmark, pattern: str) -> bool:
    properties: dict[str, tuple[str, ...]] = {axis: (format_scalar(value),) for axis, value in benchmark.axes.items()}
    properties |= {"model": (benchmark.model.name,), "tag": benchmark.tags}
    return matches_pattern(pattern, benchmark.model.name, benchmark.identifier, properties)
