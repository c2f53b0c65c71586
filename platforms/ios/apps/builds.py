"""Builds of apps on a phone: which one is installed, and which one ran.

An app is known by its bundle identifier, and two builds of one app cannot be installed at the same time. So the
harness asks the app itself: the digest of its program (`AppResult.executable_sha256`) tells which build ran. Frameworks
in the bundle are code, too, that this digest does not cover: of such a package only an installation by us is believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported
from harness.core.note import Note
from platforms.ios.apps.packages import PackageInfo, read_package
from platforms.ios.link.client import InstalledApp, PhoneClient

PREFIX: Final = "app:"
"""Begins the path of an app, where a program of another platform has a path in a file system."""


class PackagedApp(Struct, frozen=True):
    """A runner app.

    Attributes:
        bundle: Its bundle identifier.
        executable: Name of its process.
        path: What commands call it: `app:BUNDLE`, with the beginning of the package's digest where two builds of it
            are used.
        package: Its package; None for an app that somebody else installed.
    """

    bundle: str
    executable: str
    path: str
    package: PackageInfo | None = None


class InstalledBuilds:
    """What is installed on one phone, as far as a session knows.

    Args:
        client: Reaches it.
        udid: Its UDID.
    """

    def __init__(self, client: PhoneClient, udid: str) -> None:
        self._client = client
        self._udid = udid
        self._apps: dict[str, PackagedApp] = {}
        self._running: dict[str, str] = {}
        self._installed: dict[str, str] = {}
        self._listed: dict[str, InstalledApp] | None = None
        self._swapped: set[str] = set()

    def add(self, path: Path) -> PackagedApp:
        """Read a package that commands will start.

        Raises:
            BenchmarkFailed: It is none.
        """
        package = read_package(path)
        name = f"{PREFIX}{package.bundle}"
        known = self._apps.get(name)
        if known is not None and known.package is not None:
            if known.package.sha256 == package.sha256:
                return known
            self._swapped.add(package.bundle)
            name = f"{name}@{package.sha256[:12]}"
        app = PackagedApp(package.bundle, package.executable, name, package)
        self._apps[name] = app
        return app

    def find(self, word: str) -> PackagedApp | None:
        """Return the app that a command's first word names; None if it names none."""
        return self._apps.get(word)

    def apps_of(self, paths: Iterable[str]) -> Sequence[PackagedApp]:
        """Return the apps among the programs of a benchmark, the first build of each."""
        return tuple({app.bundle: app for path in paths if (app := self._apps.get(path)) is not None}.values())

    def some_app(self) -> PackagedApp | None:
        """Return an app that can tell the state of the phone; None before any is known."""
        return next((app for app in reversed(self._apps.values()) if self._is_there(app)), None)

    def installed_app(self, bundle: str) -> PackagedApp:
        """Return a runner app that somebody installed.

        Raises:
            BenchmarkUnsupported: It is not installed.
            DeviceLost: The phone became unreachable.
        """
        name = f"{PREFIX}{bundle}"
        if name not in self._apps:
            self._apps[name] = PackagedApp(bundle, self.find_installed(bundle).executable, name)
        return self._apps[name]

    def find_installed(self, bundle: str) -> InstalledApp:
        """Return what the phone says of an app.

        Raises:
            BenchmarkUnsupported: It is not installed.
            DeviceLost: The phone became unreachable.
        """
        listed = self._list().get(bundle)
        if listed is None:
            raise BenchmarkUnsupported(
                f"the app {bundle} is not installed on {self._udid}", hint="install it, or give its .ipa (--program)"
            )
        return listed

    def is_current(self, app: PackagedApp) -> bool:
        """Return whether this very build is installed, as far as is known."""
        package = app.package
        if package is None or self._running.get(app.bundle) != package.executable_sha256:
            return False
        if app.bundle in self._installed:
            return self._installed[app.bundle] == package.sha256
        return not package.has_frameworks

    def may_be_current(self, app: PackagedApp) -> bool:
        """Return whether this build may be installed: nobody has asked, and the version is the same."""
        if app.package is None or app.package.has_frameworks or app.bundle in self._running:
            return False
        listed = self._list().get(app.bundle)
        return listed is not None and listed.version == app.package.version

    def install(self, app: PackagedApp) -> None:
        """Install a package.

        Raises:
            DeviceLost: The phone became unreachable.
            OutOfSpace: It has no room.
            EnvironmentProblem: It refuses the package.
        """
        if app.package is None:
            return
        self._client.install(self._udid, app.package.path)
        self._running[app.bundle] = app.package.executable_sha256
        self._installed[app.bundle] = app.package.sha256
        self._listed = None

    def note(self, app: PackagedApp, executable_sha256: str) -> None:
        """Keep which build ran, as the app itself says."""
        if executable_sha256:
            self._running[app.bundle] = executable_sha256

    def notes(self) -> Iterator[Note]:
        """Yield a note on apps that are installed in turns."""
        for bundle in sorted(self._swapped):
            yield Note(
                code="installed_in_turns",
                message=f"two builds of {bundle} were installed in turns, one before each change of sides",
                hint="build each side with a bundle identifier of its own: then both stay installed",
            )

    def wrong_build_error(self, app: PackagedApp) -> BenchmarkFailed:
        """Return the error of an app that is not the one that was installed."""
        ran = self._running.get(app.bundle, "")[:12] or "none"
        wanted = app.package.executable_sha256[:12] if app.package is not None else ""
        return BenchmarkFailed(
            f"another build of {app.bundle} ran than was given: its program has the digest {ran}, not {wanted}",
            hint="remove the app from the phone, and let the app tell the digest of its own program",
        )

    def _is_there(self, app: PackagedApp) -> bool:
        return app.package is None or self.is_current(app)

    def _list(self) -> dict[str, InstalledApp]:
        if self._listed is None:
            self._listed = {listed.bundle: listed for listed in self._client.list_apps(self._udid)}
        return self._listed
