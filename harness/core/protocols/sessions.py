"""Locked devices and the programs that run on them, and the clock that times both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from harness.core.command import Command, Completed
from harness.core.device import Device, DeviceState

Clock = Callable[[], float]
"""Unix seconds."""


class Staged(Struct, frozen=True):
    """Files of one benchmark on the device.

    Attributes:
        folder: `{TGTDIR}`, without a trailing separator.
        files: Path on the device by name.
        programs: Path on the device by placeholder.
    """

    folder: str
    files: Mapping[str, str]
    programs: Mapping[str, str]


class Session(Protocol):
    """Exclusive use of one device, by one thread."""

    device: Device

    def stage(self, files: Mapping[str, Path], programs: Mapping[str, Path]) -> Staged:
        """Create a fresh folder for one benchmark, with these files in it under the given names.

        A file whose content is already on the device is not transferred again. Programs are made executable.
        Folders are removed at the end of the session at the latest.

        Raises:
            OutOfSpace: The device has no room for them.
        """

    def run(self, command: Command) -> Completed:
        """Run one program to its end, limited by its own wall clock: on expiry its process group is killed there.

        Raises:
            DeviceLost: The device became unreachable.
        """

    def pull(self, remote: str, local: Path) -> None:
        """Fetch a file and remove it on the device, so that no later launch can be credited with it.

        `local` exists only when the whole file arrived.

        Raises:
            FileNotFoundError: The device has no such file.
            BenchmarkFailed: What is there is no file, or cannot be read.
            DeviceLost: The device became unreachable.
        """

    def state(self) -> DeviceState:
        """Read what may disturb a measurement now: temperature, clocks, load, battery."""


class InteractiveProcess(Protocol):
    """A running program on a device that is controlled line by line."""

    def write_line(self, line: str) -> None:
        """Write a line to its standard input; ignored when the program has ended."""

    def wait_for_line(self, line: str) -> bool:
        """Wait for exactly this line of its standard output; False when it ended without it, or its time is over."""

    def finish(self) -> Completed:
        """Close its standard input, wait for its end, and return how it ended. Called once."""


@runtime_checkable
class Interactive(Session, Protocol):
    """A session that can also run several interactive programs at the same time."""

    def start(self, command: Command) -> AbstractContextManager[InteractiveProcess]:
        """Start a program as `Session.run` would, on the same CPUs.

        Its time limit counts only while somebody waits for it, never while it idles. Its process group is killed on
        expiry, on interruption, and when the context ends.
        """


@runtime_checkable
class Gated(Session, Protocol):
    """A session on a device that is not always ready to be measured on."""

    def wait_until_ready(self) -> None:
        """Wait until the device is cool and charged enough. Called before each launch; returns at once when it is.

        Raises:
            EnvironmentProblem: It is not ready in time; the message says what is wrong, the hint what helps.
            DeviceLost: The device became unreachable.
        """


@runtime_checkable
class Reconnectable(Session, Protocol):
    """A session on a device that can become unreachable and return."""

    def reconnect(self) -> None:
        """After `DeviceLost`: wait for the device and prepare it as `Platform.open` did. Files must be staged again.

        Raises:
            DeviceLost: It does not return in time.
        """


@runtime_checkable
class Releasing(Session, Protocol):
    """A session that can remove the files of a benchmark before its end, to make room."""

    def release(self, staged: Staged, names: Collection[str]) -> None:
        """Remove a folder with everything that programs wrote to it.

        Args:
            staged: The folder.
            names: Files of it whose content is not needed again either, in this session or later: it is removed unless
                it was also staged in another folder.

        Raises:
            DeviceLost: The device became unreachable.
        """
