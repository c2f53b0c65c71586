"""Protocol of the programs that reach iPhones, and the values that they exchange with the platform.

Every call names its phone by UDID, is limited in time, and raises errors of the harness only:

- `DeviceLost`: the phone is gone, or does not answer in time.
- `EnvironmentProblem`: the program is missing, the phone refuses (not paired, locked, no developer mode, no developer
  image), or a file of this machine cannot be used. The hint says what helps.
- `OutOfSpace`: the phone has no room.
- `BenchmarkUnsupported`: this program cannot do that, or not with this phone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from harness.core.protocols import Finding


class ListedIPhone(Struct, frozen=True):
    """A phone as the list of a client shows it, before it is asked anything.

    Attributes:
        udid: Its UDID.
        connection: `usb` or `network`; empty where the client does not say.
    """

    udid: str
    connection: str = ""


class PhoneProperties(Struct, frozen=True):
    """Properties of a phone.

    Attributes:
        udid: Its UDID: unique, and stable for its life.
        name: Name that its owner gave it.
        product: Product identifier, for example `iPhone15,4`.
        model: Model number for people, for example `D37AP`; empty if unknown.
        version: Version of the system, for example `18.5`.
        build: Build of the system, for example `22F76`.
        system: `iOS` or `iPadOS`.
        abi: Architecture, for example `arm64e`.
        developer_mode: Whether developer mode is on; None where the system has none (before iOS 16) or does not say.
    """

    udid: str
    name: str
    product: str
    version: str
    build: str = ""
    model: str = ""
    system: str = "iOS"
    abi: str = "arm64"
    developer_mode: bool | None = None


class Battery(Struct, frozen=True):
    """State of a phone's battery. None: the phone does not say.

    Attributes:
        percent: Charge.
        plugged: Whether external power is connected.
        temperature_c: Degrees Celsius.
        voltage_mv: Millivolts.
        charge_uah: Charge left in microampere hours.
    """

    percent: float | None = None
    plugged: bool | None = None
    temperature_c: float | None = None
    voltage_mv: int | None = None
    charge_uah: int | None = None


class InstalledApp(Struct, frozen=True):
    """An app on a phone.

    Attributes:
        bundle: Its bundle identifier.
        version: Its `CFBundleVersion`.
        name: Name for people.
        executable: Name of its program inside the bundle; empty where the client does not tell it.
    """

    bundle: str
    version: str = ""
    name: str = ""
    executable: str = ""


class CrashReport(Struct, frozen=True):
    """A crash report on a phone.

    Attributes:
        name: Its path there, for example `EdgeRunner-2026-11-23-101500.ips`.
        process: Name of the process, as the file name begins.
    """

    name: str
    process: str


class AppLaunch(Struct, frozen=True):
    """What an app is started with.

    Attributes:
        bundle: Its bundle identifier.
        arguments: Its arguments, which arrive unchanged.
        env: Variables added to its environment.
    """

    bundle: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


class XCTestStart(Struct, frozen=True):
    """Tests of Xcode to run.

    Attributes:
        bundle: Bundle identifier of the app that hosts or is driven by the tests.
        runner: Bundle identifier of the app that the tests run in; the same where they are hosted by the app itself.
        tests: Name of the test bundle, for example `Tests.xctest`.
        env: Variables added to the environment of the tests.
        timeout_s: Wall-clock limit.
    """

    bundle: str
    runner: str
    tests: str
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 300.0


class XCTestEnd(Struct, frozen=True):
    """Tests of Xcode that have ended. Whether they passed is judged by `apps/xctest.py`, never by an exit status.

    Attributes:
        log: Everything that the tests wrote, with lines `Test Case '-[...]' measured ...`.
        timed_out: Whether they were ended because their time was over.
        failed: Names of tests that failed, as far as the client says.
        passed: Names of tests that passed, as far as the client says.
        problem: What the client says of a run that did not come to its end; empty if it did.
    """

    log: str
    timed_out: bool = False
    failed: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    problem: str = ""


class PhoneLog(Protocol):
    """System log of a phone while a context is open."""

    def lines(self, process: str = "") -> Sequence[str]:
        """Return the lines so far, oldest first, without those of other processes if one is named."""


class PhoneClient(Protocol):
    """A program on this machine that reaches iPhones. Any thread may use it."""

    name: str
    """`go-ios` or `devicectl`."""

    def diagnose(self) -> Sequence[Finding]:
        """Check the program and what it needs on this machine. Never raises."""

    def list_phones(self) -> Sequence[ListedIPhone]:
        """List the phones that are connected, usable or not."""

    def read_properties(self, udid: str) -> PhoneProperties:
        """Read properties. A phone that does not trust this computer raises `PhoneNotPaired` (link/errors.py)."""

    def read_battery(self, udid: str) -> Battery:
        """Read the state of the battery; unknown members are None."""

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        """List the apps that users installed."""

    def install(self, udid: str, package: Path) -> None:
        """Install an .ipa, in place of an older build of the same app, whose container stays."""

    def uninstall(self, udid: str, bundle: str) -> None:
        """Remove an app and its container; no error if it is not installed."""

    def push(self, udid: str, bundle: str, local: Path, remote: str) -> None:
        """Copy a file into the container of an app; folders are made. `remote` is relative: `Documents/a/b`."""

    def pull(self, udid: str, bundle: str, remote: str, local: Path) -> None:
        """Copy a file from there. `local` exists only when the whole file arrived.

        Raises:
            FileNotFoundError: There is no such file.
        """

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        """Remove a file or a folder with everything in it; no error if there is none.

        Raises:
            BenchmarkUnsupported: The client cannot remove files (devicectl).
        """

    def list_files(self, udid: str, bundle: str, folder: str) -> Sequence[str]:
        """List the paths of all files below a folder of the container, relative to it; empty if there is none."""

    def launch(self, udid: str, launch: AppLaunch) -> int | None:
        """Start an app in the foreground, in place of one that runs; return its process id if known."""

    def kill(self, udid: str, bundle: str) -> None:
        """End an app and its process; no error if it does not run."""

    def is_running(self, udid: str, process: str) -> bool | None:
        """Return whether a process of this name runs; None where the client cannot say."""

    def list_crash_reports(self, udid: str) -> Sequence[CrashReport]:
        """List the crash reports on the phone."""

    def read_crash_report(self, udid: str, report: CrashReport) -> str:
        """Return the text of one."""

    def open_log(self, udid: str) -> AbstractContextManager[PhoneLog]:
        """Read its system log while the context is open.

        Raises:
            BenchmarkUnsupported: The client cannot read it (devicectl). Raised by this call.
        """

    def run_tests(self, udid: str, start: XCTestStart) -> XCTestEnd:
        """Run tests of Xcode to their end."""

    def reboot(self, udid: str) -> None:
        """Restart the phone; returns at once."""
