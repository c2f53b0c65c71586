"""All calls of devicectl: `Devicectl`, the client of iPhones on Macs without go-ios."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from harness.core.protocols import Finding
from platforms.ios.link.client import (
    AppLaunch,
    Battery,
    CrashReport,
    InstalledApp,
    ListedIPhone,
    PhoneLog,
    PhoneProperties,
    XCTestEnd,
    XCTestStart,
)
from platforms.ios.link.devicectl import files, processes
from platforms.ios.link.devicectl.causes import ask, find_cause, read_details
from platforms.ios.link.devicectl.documents import AnyResult, DeviceListResult
from platforms.ios.link.devicectl.failures import map_failure
from platforms.ios.link.devicectl.program import DevicectlProgram
from platforms.ios.link.devicectl.xctests import run_tests
from platforms.ios.link.words import check_bundle, check_remote, check_udid, shorten

_INSTALL_S: Final = 300.0
_SLOWEST_BYTES_PER_S: Final = 1 << 20


class Devicectl:
    """Client of iPhones that runs `xcrun devicectl` once for each call (`platforms.ios.link.client.PhoneClient`).

    Args:
        xcrun: Path of `xcrun`; None for that in PATH.
    """

    name = "devicectl"

    def __init__(self, xcrun: Path | None = None) -> None:
        self._program = DevicectlProgram(xcrun)

    def diagnose(self) -> Sequence[Finding]:
        """Check that devicectl answers. Never raises."""
        return self._program.diagnose()

    def list_phones(self) -> Sequence[ListedIPhone]:
        """List the phones that are connected by cable or network, each once."""
        doing = "phones were listed"
        answer = self._program.call("list", "devices", doing=doing)
        if answer.failure is not None:
            raise map_failure("", doing, answer.failure)
        devices = answer.parse(DeviceListResult, doing).devices
        phones = (device.listed() for device in devices if device.is_connected_phone and device.udid)
        return tuple({phone.udid: phone for phone in phones}.values())

    def read_properties(self, udid: str) -> PhoneProperties:
        """Read properties.

        Raises:
            PhoneNotPaired: It does not trust this Mac.
        """
        properties = read_details(self._program, udid, "its properties were read").describe(udid)
        if not properties.version:
            raise EnvironmentProblem(
                f"{udid} does not say which version of iOS it runs (osVersionNumber)", hint="unlock it, or restart it"
            )
        return properties

    def read_battery(self, udid: str) -> Battery:
        """Return a battery of which nothing is known: devicectl does not tell."""
        check_udid(udid)
        return Battery()

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        """List the apps that users installed. devicectl does not tell the names of their programs."""
        return tuple(app.app() for app in processes.list_apps(self._program, udid))

    def install(self, udid: str, package: Path) -> None:
        """Install an .ipa, in place of an older build of the same app."""
        if not package.is_file():
            raise EnvironmentProblem(f"there is no package {package}")
        timeout_s = _INSTALL_S + package.stat().st_size / _SLOWEST_BYTES_PER_S
        doing = f"{shorten(package.name)} was installed"
        last = (str(package.resolve()),)
        ask(self._program, AnyResult, udid, "device", "install", "app", last=last, doing=doing, timeout_s=timeout_s)

    def uninstall(self, udid: str, bundle: str) -> None:
        """Remove an app and its container; no error if it is not installed."""
        doing = f"{check_bundle(bundle)} was removed"
        words = ("device", "uninstall", "app")
        answer = self._program.call(*words, udid=udid, last=(bundle,), doing=doing, timeout_s=_INSTALL_S)
        if answer.failure is not None and processes.find_app(self._program, udid, bundle, doing) is not None:
            raise find_cause(self._program, udid, doing, answer.failure)

    def push(self, udid: str, bundle: str, local: Path, remote: str) -> None:
        """Copy a file into the container of an app."""
        files.push(self._program, udid, bundle, local, remote)

    def pull(self, udid: str, bundle: str, remote: str, local: Path) -> None:
        """Copy a file from there.

        Raises:
            FileNotFoundError: There is no such file.
        """
        files.pull(self._program, udid, bundle, remote, local)

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        """Refuse: devicectl cannot remove files.

        Its `copy to --remove-existing-content` is never used: where people tried it for a folder, everything in
        `Documents` was gone.

        Raises:
            BenchmarkUnsupported: Always, unless there is no such file or folder.
        """
        check_bundle(bundle)
        if not files.exists(self._program, udid, bundle, check_remote(remote)):
            return
        raise BenchmarkUnsupported(
            f"devicectl cannot remove {shorten(remote)} from {bundle} on {udid}",
            hint="use go-ios (--ios-client go-ios), or remove the app, which takes all of its files along",
        )

    def list_files(self, udid: str, bundle: str, folder: str) -> Sequence[str]:
        """List the paths of all files below a folder of the container, relative to it; empty if there is none."""
        return files.list_files(self._program, udid, bundle, folder)

    def launch(self, udid: str, launch: AppLaunch) -> int | None:
        """Start an app in the foreground, in place of one that runs; return its process id if known."""
        return processes.launch(self._program, udid, launch)

    def kill(self, udid: str, bundle: str) -> None:
        """End an app and its process; no error if it does not run."""
        processes.kill(self._program, udid, bundle)

    def is_running(self, udid: str, process: str) -> bool | None:
        """Return whether a process of this name runs; None for the empty name of a program that `list_apps` lacks."""
        return processes.is_running(self._program, udid, process)

    def list_crash_reports(self, udid: str) -> Sequence[CrashReport]:
        """List the crash reports on the phone."""
        return files.list_crash_reports(self._program, udid)

    def read_crash_report(self, udid: str, report: CrashReport) -> str:
        """Return the text of one."""
        return files.read_crash_report(self._program, udid, report)

    def open_log(self, udid: str) -> AbstractContextManager[PhoneLog]:
        """Refuse: devicectl has no system log.

        `device process launch --console` shows what the app itself writes, and ends the app with it.

        Raises:
            BenchmarkUnsupported: Always.
        """
        raise BenchmarkUnsupported(
            f"devicectl cannot read the system log of {check_udid(udid)}",
            hint=f"use go-ios, or collect it afterwards: `sudo log collect --device-udid {udid} --last 5m`",
        )

    def run_tests(self, udid: str, start: XCTestStart) -> XCTestEnd:
        """Run tests of Xcode to their end, by xcodebuild; an app whose time is over is ended."""
        end = run_tests(self._program, udid, start)
        if end.timed_out:
            with contextlib.suppress(EnvironmentProblem):
                self.kill(udid, start.runner)
        return end

    def reboot(self, udid: str) -> None:
        """Restart the phone."""
        ask(self._program, AnyResult, udid, "device", "reboot", doing="it was restarted")
