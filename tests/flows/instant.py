"""Simulated devices on which a launch takes no time, with the output of a real runner."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from frameworks.generic.framework import Generic
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.protocols import Progress, Staged
from harness.flows.measure.plan import Builds, Plan, assign

Watch = Callable[[str], None]


class Instant:
    """Platform with several simulated devices."""

    name = "instant"

    def __init__(self, names: Sequence[str], watch: Watch = lambda _: None) -> None:
        self._names = names
        self._watch = watch

    def devices(self) -> Sequence[Device]:
        return [Device(platform=self.name, identity=name, name=name, cores=4) for name in self._names]

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        yield InstantSession(device, self._watch)


class InstantSession:
    """Session whose launches give twelve samples near a thousand.

    The treatment takes 5 % longer on the devices in the name of the benchmark: `worse-on-A-B` on the devices A and B;
    and 5 % less where that name begins with `better`. Where it begins with `counts`, the samples are a count that never
    varies: one more of the treatment on those devices. Where it begins with `several`, a launch has a load time, too,
    which is the same on both sides.
    """

    def __init__(self, device: Device, watch: Watch) -> None:
        self.device = device
        self._watch = watch
        self._chance = random.Random(device.identity)
        self._folders = itertools.count()

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        folder = f"/{next(self._folders)}"
        return Staged(
            folder, {name: f"{folder}/{name}" for name in files}, {name: str(path) for name, path in programs.items()}
        )

    def run(self, command: Command) -> Completed:
        self._watch(f"{self.device.name} {command.argv[1]}")
        differs = command.argv[0] == "/treatment" and self.device.name in command.argv[1].split("-on-")[-1].split("-")
        if command.argv[1].startswith("counts"):
            return self._printed(command, [1000 + differs] * 12, {"type": "NET", "metric": "instructions", "unit": ""})
        factor = (0.95 if command.argv[1].startswith("better") else 1.05) if differs else 1.0
        values = [factor * (1000 + self._chance.gauss(0, 1)) for _ in range(12)]
        printed = self._printed(command, values, {"type": "NET", "metric": "latency", "unit": "us"})
        if not command.argv[1].startswith("several"):
            return printed
        loads = [1000 + self._chance.gauss(0, 1) for _ in range(12)]
        load_times = self._printed(command, loads, {"type": "NET", "metric": "load_time", "unit": "us"})
        return replace(printed, stdout=f"{printed.stdout}\n{load_times.stdout}")

    @staticmethod
    def _printed(command: Command, values: Sequence[float], metric: Mapping[str, str]) -> Completed:
        lines = [f"PyTorchObserver {json.dumps({**metric, 'value': str(value)})}" for value in values]
        return Completed(command, 0, stdout="\n".join(lines), wall_s=0.1)

    def pull(self, remote: str, local: Path) -> None:
        raise FileNotFoundError(remote)

    def state(self) -> DeviceState:
        return DeviceState(time=0.0)


def benchmark(name: str) -> Benchmark:
    """Return a benchmark with a name."""
    return Benchmark(
        id=0,
        model=Model(name="m", format="none"),
        identifier=name,
        metric="delay",
        framework="generic",
        commands=(f"{{program}} {name}",),
        origin=SpecificationPlace(file=Path("spec.json")),
        digest=name,
    )


def plan(platform: Instant, names: Sequence[str]) -> Plan:
    """Return a plan of each benchmark on each device."""
    assignments = assign([benchmark(name) for name in names], platform.devices(), platform)
    return Plan(platform, assignments, {"generic": Generic({})})


def builds(plan_: Plan, side: str) -> Builds:
    """Return the runner of a side for every device."""
    build = Build(source="prebuilt", commit=side, digest=side, programs={"program": Path(f"/{side}")})
    return {("generic", assignment.device.identity): build for assignment in plan_.assignments}
