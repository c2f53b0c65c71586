"""A made-up laboratory: models, backends, devices and commits, with levels that planted commits change.

Everything is computed from a seed: the same laboratory gives the same results, on any machine.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from harness.core.build import BuildInfo
from harness.core.commit import Commit
from harness.core.device import Device

START = 1_760_000_000
"""Time of the first commit: 2025-10-09."""

SOURCE = "git:/src/executorch"
MODELS = {
    "mv2": 8.1,
    "mv3_large": 11.4,
    "resnet18": 21.0,
    "resnet50": 48.0,
    "efficientnet_lite0": 14.2,
    "llama_1b": 410.0,
}
BACKENDS = {
    "xnnpack_fp32": 1.0,
    "xnnpack_q8": 0.46,
    "portable": 9.5,
    "vulkan_fp16": 0.7,
    "qnn_q8": 0.22,
    "coreml_fp16": 0.3,
}
HOSTS = {"Xeon 8481C": 1.0, "EPYC 7B13": 1.15, "Ryzen 7950X": 0.6}
PHONES = {"Pixel 8": 2.4, "Galaxy S24": 1.8, "Pixel 6a": 3.6}
HOSTILE = "<script>alert('x')</script> \"quoted\" & \u202egnp.exe\n../../etc/passwd % _"
_SUBJECTS = (
    "Add a test for dynamic shapes",
    "Tidy the partitioner",
    "Update a submodule",
    "Fix a typing error in the exporter",
    "Mention quantised models in the tutorial",
    "Reuse the arena of the method",
    "Bump the version of the runner",
)
_AUTHORS = ("Ada Lovelace", "Grace Hopper", "Alan Turing", "Katherine Johnson")


@dataclass(frozen=True, slots=True)
class Step:
    """Planted change of levels.

    Attributes:
        commit: Number of the commit from which on it holds.
        model: Model that it changes; empty for all.
        backend: Backend that it changes; empty for all.
        log_ratio: Its size; positive is slower.
    """

    commit: int
    model: str
    backend: str
    log_ratio: float

    def changes(self, place: Place) -> bool:
        """Return whether it changes the level of a cell."""
        return self.model in {"", place.model} and self.backend in {"", place.backend}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A cell of the laboratory: one benchmark on one device."""

    number: int
    model: str
    backend: str
    device: Device
    level_ms: float

    @property
    def identifier(self) -> str:
        """Name of the benchmark within its model."""
        return f"{self.model}-{self.backend}-t1"

    @property
    def digest(self) -> str:
        """Digest of its definition."""
        return sha256(self.identifier.encode()).hexdigest()

    @property
    def is_impossible(self) -> bool:
        """Whether the backend needs another platform: such results are unsupported, with a reason."""
        return self.backend == "coreml_fp16" or (self.backend == "qnn_q8" and self.device.platform == "host")


@dataclass(frozen=True)
class Laboratory:
    """Extent of a made-up store.

    Attributes:
        commits: Number of commits, one an hour.
        models: Number of models, at most those of `MODELS`, and then copies of them.
        backends: Number of backends.
        devices: Number of devices, at most those of `HOSTS` and `PHONES`, and then copies of them.
        samples: Samples of the main metric in each launch.
        launches: Launches of each result.
        hostile: Whether the last model, device and a commit have names that attack pages.
        seed: Seed of all noise.
    """

    commits: int = 60
    models: int = 3
    backends: int = 3
    devices: int = 3
    samples: int = 8
    launches: int = 3
    hostile: bool = False
    seed: int = 1
    steps: tuple[Step, ...] = field(default=())

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """All cells."""
        models = _extend(MODELS, self.models)
        if self.hostile:
            models[-1] = (HOSTILE, models[-1][1])
        return tuple(
            Place(number, model, backend, device, level * factor * speed)
            for number, (model, level, backend, factor, device, speed) in enumerate(
                (model, level, backend, factor, device, speed)
                for model, level in models
                for backend, factor in _extend(BACKENDS, self.backends)
                for device, speed in self._list_devices()
            )
        )

    def _list_devices(self) -> list[tuple[Device, float]]:
        names = [name for pair in zip(HOSTS, PHONES, strict=True) for name in pair]
        listed = _extend({name: {**HOSTS, **PHONES}[name] for name in names}, self.devices)
        devices = []
        for number, (name, speed) in enumerate(listed):
            is_phone = name.rstrip("0123456789# ").strip() in PHONES or any(name.startswith(phone) for phone in PHONES)
            device = Device(
                platform="android" if is_phone else "host",
                identity=sha256(f"{name}{number}".encode()).hexdigest()[:12],
                name=HOSTILE if self.hostile and number == len(listed) - 1 else name,
                kind=name,
                os="Android 15" if is_phone else "Linux 6.1",
                abi="arm64-v8a" if is_phone else "x86_64",
                cores=8,
                memory_bytes=8 << 30,
            )
            devices.append((device, speed))
        return devices

    @cached_property
    def all_steps(self) -> tuple[Step, ...]:
        """Planted changes: those that were asked for, else about one in 40 commits, and at least two."""
        if self.steps:
            return self.steps
        chance = random.Random(self.seed)
        count = min(max(2, self.commits // 40), 60)
        models, backends = list(dict(_extend(MODELS, self.models))), list(dict(_extend(BACKENDS, self.backends)))
        return tuple(
            Step(
                commit=(number + 1) * self.commits // (count + 1),
                model=chance.choice(models),
                backend=chance.choice(backends),
                log_ratio=math.log1p(chance.choice((0.031, 0.052, 0.12, -0.04, -0.08))),
            )
            for number in range(count)
        )

    def level_of(self, place: Place, commit: int) -> float:
        """Return ln(level / first level) of a cell at a commit."""
        return sum(step.log_ratio for step in self._steps_of(place) if step.commit <= commit)

    def _steps_of(self, place: Place) -> tuple[Step, ...]:
        return self._steps_by_place[place.number]

    @cached_property
    def _steps_by_place(self) -> tuple[tuple[Step, ...], ...]:
        return tuple(tuple(step for step in self.all_steps if step.changes(place)) for place in self.places)

    def commit(self, number: int) -> Commit:
        """Return a commit."""
        subject = HOSTILE if self.hostile and number == self.commits - 1 else _SUBJECTS[number % len(_SUBJECTS)]
        return Commit(
            source=SOURCE,
            id=sha256(f"{self.seed}:{number}".encode()).hexdigest()[:40],
            time=START + 3600 * number,
            author=_AUTHORS[number % len(_AUTHORS)],
            subject=subject,
        )

    @cached_property
    def _builds(self) -> dict[int, BuildInfo]:
        return {}

    def build(self, number: int) -> BuildInfo:
        """Return the build of a commit."""
        return self._builds.setdefault(number, self._builds.get(number) or self._make_build(number))

    def _make_build(self, number: int) -> BuildInfo:
        commit = self.commit(number)
        return BuildInfo(
            source=commit.source,
            commit=commit.id,
            commit_time=commit.time,
            recipe="native",
            flags={"compiler": "g++ 12.2"},
            digest=sha256(commit.id.encode()).hexdigest(),
            commit_name=f"v1.{number // 100}.0" if number % 100 == 0 else "",
        )


def _extend(names: dict[str, float], count: int) -> list[tuple[str, float]]:
    """Return so many entries: those that there are, and then copies with a number."""
    entries = list(names.items())
    return [
        (name if number < len(entries) else f"{name} #{number // len(entries) + 1}", value)
        for number in range(count)
        for name, value in [entries[number % len(entries)]]
    ]
