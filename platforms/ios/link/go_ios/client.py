"""All calls of go-ios: `GoIos`, the client of iPhones on any host."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem
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
from platforms.ios.link.errors import PhoneNotPaired
from platforms.ios.link.go_ios.battery import read_battery
from platforms.ios.link.go_ios.causes import (
    ask,
    ask_to_trust,
    find_cause,
    read_developer_mode,
    read_values,
)
from platforms.ios.link.go_ios.crash_reports import list_crash_reports, read_crash_report
from platforms.ios.link.go_ios.documents import APPS, PROCESSES, PhoneList, parse_answer, parse_document
from platforms.ios.link.go_ios.files import ContainerFiles
from platforms.ios.link.go_ios.launch_words import launch_words
from platforms.ios.link.go_ios.program import LIMITS, GoIosProgram, TimeLimits
from platforms.ios.link.go_ios.refusals import map_failure
from platforms.ios.link.go_ios.system_log import open_log
from platforms.ios.link.go_ios.xctests import run_tests
from platforms.ios.link.words import check_bundle, shorten

_NOT_RUNNING: Final = ("process not found", "not installed")


class GoIos:
    """Client of iPhones that runs go-ios once for each call (`platforms.ios.link.client.PhoneClient`).

    Args:
        program: Its path; None for `HARNESS_GO_IOS`, or `ios` or `go-ios` in PATH.
        usbmuxd: `HOST:PORT` or path of the socket of usbmuxd; None for the system's.
        tunnel: `HOST:PORT` at which `ios tunnel start` lists its tunnels; None for go-ios's own.
        environment: Variables added to its environment.
        limits: When a phone is taken for lost.

    Raises:
        UsageError: `tunnel` is no address.
    """

    name = "go-ios"

    def __init__(
        self,
        program: Path | None = None,
        *,
        usbmuxd: str | None = None,
        tunnel: str | None = None,
        environment: Mapping[str, str] | None = None,
        limits: TimeLimits = LIMITS,
    ) -> None:
        self._program = GoIosProgram(program, usbmuxd=usbmuxd, tunnel=tunnel, environment=environment, limits=limits)
        self._files = ContainerFiles(self._program)

    def diagnose(self) -> Sequence[Finding]:
        """Check the program, and usbmuxd. Never raises."""
        finding = self._program.diagnose()
        if not finding.ok:
            return (finding,)
        try:
            count = len(self.list_phones())
        except EnvironmentProblem as error:
            return finding, Finding("usbmuxd", False, error.message, error.hint or "")
        return finding, Finding("usbmuxd", True, f"lists {count} phone{'s' if count != 1 else ''}")

    def list_phones(self) -> Sequence[ListedIPhone]:
        """List the phones that usbmuxd sees, each once. go-ios tells connections only where every phone is paired."""
        doing = "phones were listed"
        output = self._program.call_globally("list", doing=doing)
        if output.failure:
            raise map_failure("", doing, output.failure)
        udids = parse_document(PhoneList, output.stdout, doing).deviceList or ()
        return tuple(ListedIPhone(udid) for udid in dict.fromkeys(udids) if udid)

    def read_properties(self, udid: str) -> PhoneProperties:
        """Read properties. A phone that does not trust this computer is made to ask its owner.

        Raises:
            PhoneNotPaired: It does not trust this computer yet, or is locked.
        """
        doing = "its properties were read"
        try:
            values = read_values(self._program, udid, doing)
        except PhoneNotPaired:
            ask_to_trust(self._program, udid)
            values = read_values(self._program, udid, doing)
        if not values.ProductVersion:
            raise EnvironmentProblem(f"{udid} does not say which version of iOS it runs", hint="restart it")
        mode = read_developer_mode(self._program, udid, doing)
        return values.properties(udid, developer_mode=mode)

    def read_battery(self, udid: str) -> Battery:
        """Read the state of the battery; unknown members are None."""
        return read_battery(self._program, udid)

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        """List the apps that users installed."""
        doing = "its apps were listed"
        apps = parse_answer(APPS, ask(self._program, udid, "apps", doing=doing).stdout, doing) or ()
        return tuple(app.app() for app in apps if app is not None and app.CFBundleIdentifier)

    def install(self, udid: str, package: Path) -> None:
        """Install an .ipa, in place of an older build of the same app."""
        if not package.is_file():
            raise EnvironmentProblem(f"there is no package {package}")
        timeout_s = self._program.limits.install_s + self._program.limits.sending_s(package)
        doing = f"{shorten(package.name)} was installed"
        ask(self._program, udid, "install", f"--path={package.resolve()}", doing=doing, timeout_s=timeout_s)

    def uninstall(self, udid: str, bundle: str) -> None:
        """Remove an app and its container; no error if it is not installed."""
        doing = f"{check_bundle(bundle)} was removed"
        output = self._program.call(udid, "uninstall", bundle, doing=doing, timeout_s=self._program.limits.install_s)
        if output.failure and any(app.bundle == bundle for app in self.list_apps(udid)):
            raise find_cause(self._program, udid, doing, output)

    def push(self, udid: str, bundle: str, local: Path, remote: str) -> None:
        """Copy a file into the container of an app; folders are made."""
        self._files.push(udid, bundle, local, remote)

    def pull(self, udid: str, bundle: str, remote: str, local: Path) -> None:
        """Copy a file from there.

        Raises:
            FileNotFoundError: There is no such file.
        """
        self._files.pull(udid, bundle, remote, local)

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        """Remove a file or a folder with everything in it; no error if there is none."""
        self._files.remove(udid, bundle, remote)

    def list_files(self, udid: str, bundle: str, folder: str) -> Sequence[str]:
        """List the paths of all files below a folder of the container, relative to it."""
        return self._files.list(udid, bundle, folder)

    def launch(self, udid: str, launch: AppLaunch) -> int | None:
        """Start an app in the foreground, in place of one that runs; return its process id.

        Raises:
            BenchmarkUnsupported: go-ios cannot pass one of the variables: its value contains `=`.
        """
        doing = f"{check_bundle(launch.bundle)} was started"
        words = ("launch", launch.bundle, "--kill-existing", *launch_words(launch.arguments, launch.env))
        log = ask(self._program, udid, *words, doing=doing).log
        return next((record.pid for record in log if record.msg == "Process launched"), None)

    def kill(self, udid: str, bundle: str) -> None:
        """End an app and its process; no error if it does not run."""
        doing = f"{check_bundle(bundle)} was ended"
        output = self._program.call(udid, "kill", bundle, doing=doing)
        if output.failure and output.failure not in _NOT_RUNNING:
            raise find_cause(self._program, udid, doing, output)

    def is_running(self, udid: str, process: str) -> bool | None:
        """Return whether a process of this name runs; None where the phone did not list its processes."""
        doing = "its processes were listed"
        processes = parse_answer(PROCESSES, ask(self._program, udid, "ps", doing=doing).stdout, doing)
        return any(listed.is_called(process) for listed in processes) if processes else None

    def list_crash_reports(self, udid: str) -> Sequence[CrashReport]:
        """List the crash reports on the phone."""
        return list_crash_reports(self._program, udid)

    def read_crash_report(self, udid: str, report: CrashReport) -> str:
        """Return the text of one."""
        return read_crash_report(self._program, udid, report)

    def open_log(self, udid: str) -> AbstractContextManager[PhoneLog]:
        """Read its system log while the context is open. Lines of its first second are missing: go-ios connects."""
        return open_log(self._program, udid)

    def run_tests(self, udid: str, start: XCTestStart) -> XCTestEnd:
        """Run tests of Xcode to their end; an app whose time is over is ended."""
        end = run_tests(self._program, udid, start)
        if end.timed_out:
            with contextlib.suppress(EnvironmentProblem):
                self.kill(udid, start.runner)
        return end

    def reboot(self, udid: str) -> None:
        """Restart the phone; returns at once."""
        ask(self._program, udid, "reboot", doing="it was restarted")
