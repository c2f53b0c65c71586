"""All calls of go-ios: `GoIos`, the client of iPhones on any host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem
from harness.core.protocols import Finding
from platforms.ios.link.client import InstalledApp, Launch, ListedPhone, PhoneProperties
from platforms.ios.link.go_ios.documents import (
    APPS,
    DeveloperMode,
    LockdownValues,
    PhoneList,
    parse_answer,
    parse_document,
)
from platforms.ios.link.go_ios.files import ContainerFiles
from platforms.ios.link.go_ios.messages import shorten
from platforms.ios.link.go_ios.program import GoIosProgram
from platforms.ios.link.go_ios.refusals import map_failure
from platforms.ios.link.go_ios.words import check_bundle, launch_words

_ANSWER_S: Final = 60.0
"""Limit of a call that asks for a few values: 100 times what it takes on a machine that is idle."""
_INSTALL_S: Final = 300.0
_SLOWEST_BYTES_PER_S: Final = 1 << 20
_FIRST_WITH_DEVELOPER_MODE: Final = 16
_NOT_RUNNING: Final = ("process not found", "not installed")


class GoIos:
    """Client of iPhones that runs go-ios once for each call (`platforms.ios.link.client.PhoneClient`).

    Args:
        program: Its path; None for `HARNESS_GO_IOS`, or `ios` or `go-ios` in PATH.
        usbmuxd: `HOST:PORT` or path of the socket of usbmuxd; None for the system's.
        tunnel: `HOST:PORT` at which `ios tunnel start` lists its tunnels; None for go-ios's own.
        environment: Variables added to its environment.

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
    ) -> None:
        self._program = GoIosProgram(program, usbmuxd=usbmuxd, tunnel=tunnel, environment=environment)
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

    def list_phones(self) -> Sequence[ListedPhone]:
        """List the phones that usbmuxd sees, each once. go-ios lists their connections only if it may ask all."""
        doing = "phones were listed"
        output = self._program.ask_all("list", doing=doing, timeout_s=_ANSWER_S)
        udids = parse_document(PhoneList, output.stdout, doing).deviceList or ()
        return tuple(ListedPhone(udid) for udid in dict.fromkeys(udids) if udid)

    def read_properties(self, udid: str) -> PhoneProperties:
        """Read properties."""
        doing = "its properties were read"
        output = self._program.ask(udid, "lockdown", "get", doing=doing, timeout_s=_ANSWER_S)
        values = parse_document(LockdownValues, output.stdout, doing)
        if not values.ProductVersion:
            raise EnvironmentProblem(f"{udid} does not say which version of iOS it runs", hint="restart it")
        return values.properties(udid, developer_mode=self._read_developer_mode(udid, values.ProductVersion))

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        """List the apps that users installed."""
        doing = "its apps were listed"
        output = self._program.ask(udid, "apps", doing=doing, timeout_s=_ANSWER_S)
        apps = parse_answer(APPS, output.stdout, doing) or ()
        return tuple(app.app() for app in apps if app is not None and app.CFBundleIdentifier)

    def install(self, udid: str, package: Path) -> None:
        """Install an .ipa, in place of an older build of the same app."""
        if not package.is_file():
            raise EnvironmentProblem(f"there is no package {package}")
        timeout_s = _INSTALL_S + package.stat().st_size / _SLOWEST_BYTES_PER_S
        doing = f"{shorten(package.name)} was installed"
        self._program.ask(udid, "install", f"--path={package.resolve()}", doing=doing, timeout_s=timeout_s)

    def uninstall(self, udid: str, bundle: str) -> None:
        """Remove an app and its container; no error if it is not installed."""
        doing = f"{check_bundle(bundle)} was removed"
        output = self._program.call(udid, "uninstall", bundle, doing=doing, timeout_s=_INSTALL_S)
        if output.failure and any(app.bundle == bundle for app in self.list_apps(udid)):
            raise map_failure(udid, doing, output.failure)

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

    def launch(self, udid: str, launch: Launch) -> int | None:
        """Start an app in the foreground, in place of one that runs; return its process id.

        Raises:
            BenchmarkUnsupported: go-ios cannot pass one of the variables: its value contains `=`.
        """
        doing = f"{check_bundle(launch.bundle)} was started"
        words = ("launch", launch.bundle, "--kill-existing", *launch_words(launch.arguments, launch.env))
        output = self._program.ask(udid, *words, doing=doing, timeout_s=_ANSWER_S)
        return next((record.pid for record in output.log if record.msg == "Process launched"), None)

    def kill(self, udid: str, bundle: str) -> None:
        """End an app and its process; no error if it does not run."""
        doing = f"{check_bundle(bundle)} was ended"
        output = self._program.call(udid, "kill", bundle, doing=doing, timeout_s=_ANSWER_S)
        if output.failure and output.failure not in _NOT_RUNNING:
            raise map_failure(udid, doing, output.failure)

    def _read_developer_mode(self, udid: str, version: str) -> bool | None:
        """Return whether developer mode is on. go-ios says that it is off, too, where the phone did not answer."""
        major = version.partition(".")[0]
        if not major.isdecimal() or int(major) < _FIRST_WITH_DEVELOPER_MODE:
            return None
        doing = "its developer mode was read"
        output = self._program.ask(udid, "devmode", "get", doing=doing, timeout_s=_ANSWER_S)
        return parse_document(DeveloperMode, output.stdout, doing).DeveloperModeEnabled
