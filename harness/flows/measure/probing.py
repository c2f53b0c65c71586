"""Choice of the probes of a benchmark on a device."""

from __future__ import annotations

from collections.abc import Iterator

from harness import plugins
from harness.core.benchmark import Benchmark
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem
from harness.core.probe import ProbePass, ProbeRequest
from harness.core.protocols import Probe


def choose_probes(benchmark: Benchmark, device: Device) -> tuple[Probe | ProbePass, ...]:
    """Return what observes a benchmark on a device, or the passes that are skipped because nothing can.

    Raises:
        UsageError: A probe is not installed, or does not know its types or options.
    """
    return tuple(_choose(benchmark, device))


def name_probe(request: ProbeRequest, platform: str) -> str:
    """Return the name of a probe; FAI-PEP had a default for each kind of device, and a flag to count instead."""
    if request.name == "simpleperf" and request.stat:
        return "simpleperf-stat"
    if request.name:
        return request.name
    if platform == "ios":
        return "xctrace"
    if platform != "android":
        return "perf-stat" if request.stat else "perf-record"
    if request.stat:
        return "simpleperf-stat"
    return "simpleperf" if request.types == ("cpu",) else "perfetto"


def _choose(benchmark: Benchmark, device: Device) -> Iterator[Probe | ProbePass]:
    for request in benchmark.probes:
        name = name_probe(request, device.platform)
        if not request.name and name not in plugins.installed_names("probe"):
            yield ProbePass.skip(name, f"programs on {device.name} cannot be observed: there is no probe {name}", None)
            continue
        try:
            probe = plugins.probe(request.model_copy(update={"name": name}))
        except EnvironmentProblem as error:
            yield ProbePass.skip(name, error.message, error.hint)
            continue
        if device.platform in probe.platforms:
            yield probe
        else:
            where = " and ".join(probe.platforms)
            reason = f"{name} observes programs on {where}, and {device.name} is of platform {device.platform}"
            yield ProbePass.skip(name, reason, None)
