"""Client that uses a stand-in iPhone directly: its files and processes, without go-ios, usbmuxd or a network."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from harness.core.protocols import Finding
from harness.testing.phones.ios.model import StandInApp
from harness.testing.phones.ios.phone import StandInIPhone
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
from platforms.ios.link.errors import lost_error, out_of_space_error, unpaired_error


@dataclass(frozen=True, slots=True)
class LocalLog:
    """Lines of a stand-in's system log since it was opened."""

    phone: StandInIPhone
    begin: int

    def lines(self, process: str = "") -> Sequence[str]:
        return tuple(line for line in self.phone.log[self.begin :] if f" {process}[" in line or not process)


@dataclass(slots=True)
class LocalClient:
    """A `PhoneClient` of one stand-in iPhone.

    Attributes:
        phone: The phone.
        pushed: Paths that were pushed.
        installed: Names of packages that were installed.
        logs: How often the system log was opened.
        swallowed: Installations that the phone accepts, and does not do.
    """

    phone: StandInIPhone
    pushed: list[str] = field(default_factory=list)
    installed: list[str] = field(default_factory=list)
    launched: list[AppLaunch] = field(default_factory=list)
    logs: int = 0
    swallowed: int = 0
    name: str = "local"

    def diagnose(self) -> Sequence[Finding]:
        return (Finding("local", True, "1"),)

    def list_phones(self) -> Sequence[ListedIPhone]:
        return (ListedIPhone(self.phone.model.udid, "usb"),) if self.phone.conditions.plugged_in else ()

    def read_properties(self, udid: str) -> PhoneProperties:
        self._check(udid)
        if not self.phone.conditions.trusted:
            raise unpaired_error(udid)
        model = self.phone.model
        return PhoneProperties(udid, model.name, model.product, model.version, model.build, model.model, abi=model.abi)

    def read_battery(self, udid: str) -> Battery:
        self._check(udid)
        conditions = self.phone.conditions
        return Battery(conditions.battery_percent, conditions.charging, conditions.battery_c)

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        self._check(udid)
        return tuple(
            InstalledApp(app.bundle, str(app.info["CFBundleVersion"]), executable=str(app.info["CFBundleExecutable"]))
            for app in self.phone.installed_apps()
        )

    def install(self, udid: str, package: Path) -> None:
        self._check(udid)
        self.installed.append(package.name)
        if self.swallowed:
            self.swallowed -= 1
        else:
            self.phone.install(package)

    def uninstall(self, udid: str, bundle: str) -> None:
        self._check(udid)
        self.phone.uninstall(bundle)

    def push(self, udid: str, bundle: str, local: Path, remote: str) -> None:
        path = self._path(udid, bundle, remote)
        try:
            self.phone.take_room(local.stat().st_size)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise out_of_space_error(udid, str(error)) from error
        self.pushed.append(remote)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(local, path)

    def pull(self, udid: str, bundle: str, remote: str, local: Path) -> None:
        shutil.copyfile(self._path(udid, bundle, remote), local)

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        path = self._path(udid, bundle, remote)
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            self.phone.give_room(path.stat().st_size)
            path.unlink()

    def list_files(self, udid: str, bundle: str, folder: str) -> Sequence[str]:
        root = self._path(udid, bundle, folder)
        return tuple(str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file())

    def launch(self, udid: str, launch: AppLaunch) -> int | None:
        app = self._app(udid, launch.bundle)
        self.launched.append(launch)
        return self.phone.start(app, launch.arguments, launch.env).pid

    def kill(self, udid: str, bundle: str) -> None:
        self._check(udid)
        self.phone.kill(bundle)

    def is_running(self, udid: str, process: str) -> bool | None:
        self._check(udid)
        return any(running.name == process for running in self.phone.processes())

    def list_crash_reports(self, udid: str) -> Sequence[CrashReport]:
        self._check(udid)
        names = sorted(path.name for path in self.phone.crash_reports.rglob("*.ips"))
        return tuple(CrashReport(name, name.split("-", 1)[0]) for name in names)

    def read_crash_report(self, udid: str, report: CrashReport) -> str:
        self._check(udid)
        return (self.phone.crash_reports / report.name).read_text()

    def open_log(self, udid: str) -> AbstractContextManager[PhoneLog]:
        self._check(udid)
        self.logs += 1
        return self._log()

    def run_tests(self, udid: str, start: XCTestStart) -> XCTestEnd:
        raise NotImplementedError

    def reboot(self, udid: str) -> None:
        self._check(udid)
        self.phone.restart()

    @contextlib.contextmanager
    def _log(self) -> Iterator[LocalLog]:
        yield LocalLog(self.phone, len(self.phone.log))

    def _check(self, udid: str) -> None:
        if udid != self.phone.model.udid or not self.phone.conditions.plugged_in:
            raise lost_error(udid, "it was asked")

    def _app(self, udid: str, bundle: str) -> StandInApp:
        self._check(udid)
        return self.phone.apps[bundle]

    def _path(self, udid: str, bundle: str, remote: str) -> Path:
        return self._app(udid, bundle).container / remote
