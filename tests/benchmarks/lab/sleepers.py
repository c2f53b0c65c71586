"""Platform of stand-in devices that run programs of this machine, many at a time, and write down when each was used.

Its devices are those of one host: `RIG_HOST` is its name, `RIG_DEVICES` their number, `RIG_CLASSES` the number of
classes, and `RIG_DIARY` the file that both ends of each program are written to.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from harness import shell
from harness.config.settings import Settings
from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState
from harness.core.protocols import Progress, Staged


def write_diary(event: str, device: str) -> None:
    """Append an event of a device, whole: the time is that of the machine since it started."""
    line = f"{time.clock_gettime(time.CLOCK_MONOTONIC):.4f} {event} {device} {os.getpid()}\n"
    with open(os.environ["RIG_DIARY"], "ab", buffering=0) as diary:  # noqa: PTH123 - one write, appended whole
        diary.write(line.encode())


class Sleepers:
    """Stand-in devices of a host."""

    name = "sleepers"

    def devices(self) -> Sequence[Device]:
        host, classes = os.environ["RIG_HOST"], int(os.environ["RIG_CLASSES"])
        return [
            Device(
                platform=self.name,
                identity=f"{host}-{number}",
                name=f"{host}-{number}",
                kind=f"class {(int(host.lstrip('h')) + number) % classes}",
            )
            for number in range(int(os.environ["RIG_DEVICES"]))
        ]

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[SleeperSession]:
        with tempfile.TemporaryDirectory(prefix="sleepers-") as folder:
            yield SleeperSession(device, Path(folder))


class SleeperSession:
    """Use of one stand-in device."""

    def __init__(self, device: Device, folder: Path) -> None:
        self.device = device
        self._folder = folder

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        for name, path in {**files, **programs}.items():
            shutil.copy(path, self._folder / name)
        return Staged(
            str(self._folder),
            {name: str(self._folder / name) for name in files},
            {name: str(self._folder / name) for name in programs},
        )

    def run(self, command: Command) -> Completed:
        write_diary("begin", self.device.name)
        completed = shell.run(replace(command, env={**command.env, "RIG_DEVICE": self.device.name}))
        write_diary("end", self.device.name)
        return completed

    def pull(self, remote: str, local: Path) -> None:
        shutil.move(remote, local)

    def state(self) -> DeviceState:
        return DeviceState(time=time.time())


def create(settings: Settings) -> Sleepers:
    """Return the platform (entry point)."""
    return Sleepers()
