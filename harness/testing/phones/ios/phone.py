"""One stand-in iPhone: what a test does to it, and what it sees of it."""

from __future__ import annotations

import errno
import os
import plistlib
import shutil
import tempfile
import threading
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.testing.phones.ios.developer.processes import ProcessTable, StandInProcess
from harness.testing.phones.ios.model import IPhoneModel, PhoneConditions, StandInApp
from harness.testing.phones.ios.usbmux.connection import UNREADABLE_PLIST, Cable
from harness.testing.phones.ios.usbmux.pairing import Pairings
from harness.testing.phones.ios.usbmux.ports import ServicePorts

BOOT_S: Final = 0.5
"""Seconds for which a phone that restarts is away."""
_PROGRAM_STARTS: Final = (b"\x7fELF", b"#!", b"\xcf\xfa\xed\xfe")
"""First bytes of files that are programs: the protocol of installation carries no modes."""
_BUNDLE_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_")
_OUT_OF_ROOM: Final = "No space left on device"


class InvalidPackage(ValueError):
    """A package that an iPhone does not install; the message says why."""


@dataclass(slots=True)
class StandInIPhone:
    """A stand-in iPhone. Any thread may use it; services read it at each request.

    Attributes:
        model: What it says of itself.
        folder: Its files on this machine: `apps`, `containers`, `crash_reports`, `media`.
        pairings: Computers that it trusts.
        conditions: What a test changes.
        apps: Installed apps by bundle identifier.
        log: Lines of its system log.
        cable: Its connections, and the faults of the cable.
        ports: Ports of services that lockdown started.
        restarts: How often it restarted.
        process_table: Processes of its apps.
    """

    model: IPhoneModel
    folder: Path
    pairings: Pairings
    conditions: PhoneConditions = field(default_factory=PhoneConditions)
    apps: dict[str, StandInApp] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    cable: Cable = field(init=False)
    process_table: ProcessTable = field(init=False)
    ports: ServicePorts = field(default_factory=ServicePorts)
    restarts: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self.cable = Cable(self.conditions)
        self.process_table = ProcessTable(self)
        for name in ("apps", "containers", "crash_reports", "media", "staging"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    @property
    def crash_reports(self) -> Path:
        """Folder of its crash reports."""
        return self.folder / "crash_reports"

    @property
    def media(self) -> Path:
        """Folder that every computer sees, apart from the containers of apps."""
        return self.folder / "media"

    @property
    def wifi_address(self) -> str:
        """Address of its Wi-Fi."""
        digits = self.model.udid[-10:].lower()
        return ":".join(("a4", *(digits[at : at + 2] for at in range(0, 10, 2))))

    @property
    def serial_number(self) -> str:
        """Serial number, which is not its UDID."""
        return f"F{self.model.udid[-11:]}"

    def unplug(self) -> None:
        """Pull the cable out."""
        self.cable.unplug()

    def plug(self) -> None:
        """Put the cable in again."""
        self.conditions.plugged_in = True

    def unplug_after(self, carried_bytes: int | None) -> None:
        """Pull the cable out when so many more bytes were carried, to the phone or from it; None leaves it in."""
        self.cable.unplug_after(carried_bytes)

    def trust(self) -> None:
        """Answer "Trust This Computer?" with Trust, now and from now on."""
        self.conditions.trusted = True

    def distrust(self) -> None:
        """Forget every computer, and answer the question with Don't Trust."""
        self.conditions.trusted = False
        self.pairings.clear()

    def leave_unanswered(self) -> None:
        """Forget every computer, and leave the question unanswered."""
        self.conditions.trusted = None
        self.pairings.clear()

    def lock(self) -> None:
        """Hide it behind its passcode."""
        self.conditions.locked = True

    def unlock(self) -> None:
        """Enter its passcode."""
        self.conditions.locked = False

    def freeze(self) -> None:
        """Let it answer nothing, with open connections."""
        self.conditions.frozen = True

    def thaw(self) -> None:
        """Let it answer again."""
        self.conditions.frozen = False

    def fill(self, bytes_left: int | None) -> None:
        """Leave so much room for apps and files; None for as much as there is."""
        with self._lock:
            self.conditions.bytes_left = bytes_left

    def heat(self, thermal_state: str, battery_c: float | None = None) -> None:
        """Set what its apps see of its heat: `nominal`, `fair`, `serious` or `critical`."""
        self.conditions.thermal_state = thermal_state
        if battery_c is not None:
            self.conditions.battery_c = battery_c
        self.process_table.save_conditions()

    def restart(self, boot_s: float = BOOT_S) -> None:
        """Restart it: it is away for some time, and then plugged in again."""
        self.ports.close()
        self.unplug()
        self.process_table.kill_all()
        booting = threading.Timer(boot_s, self._boot)
        booting.daemon = True
        booting.start()

    def _boot(self) -> None:
        self.restarts += 1
        self.write_log("kernel", 0, "system boot")
        self.plug()

    def mend(self) -> None:
        """Undo every fault: it is plugged in, trusted, unlocked, cool, with room. Apps and files stay."""
        self.unplug_after(None)
        defaults = PhoneConditions()
        for name in PhoneConditions.__dataclass_fields__:
            setattr(self.conditions, name, getattr(defaults, name))

    def erase(self) -> None:
        """Remove every app, file, crash report and line of the log."""
        for app in self.installed_apps():
            self.uninstall(app.bundle)
        for folder in (self.crash_reports, self.media):
            shutil.rmtree(folder)
            folder.mkdir()
        self.log.clear()

    def start(
        self, app: StandInApp, arguments: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> StandInProcess:
        """Start an app, in place of one that runs.

        Raises:
            OSError: Its program cannot be started.
        """
        return self.process_table.start(app, arguments, env)

    def kill(self, bundle: str) -> bool:
        """Kill an app, and wait for its end; return False if it does not run."""
        return self.process_table.kill(bundle)

    def processes(self) -> Sequence[StandInProcess]:
        """Return the processes of its apps, the oldest first."""
        return self.process_table.list_running()

    def take_room(self, wanted_bytes: int) -> None:
        """Count bytes that are written to its storage.

        Raises:
            OSError: ENOSPC, there is less room; nothing was counted.
        """
        with self._lock:
            left = self.conditions.bytes_left
            if left is None:
                return
            if wanted_bytes > left:
                raise OSError(errno.ENOSPC, _OUT_OF_ROOM)
            self.conditions.bytes_left = left - wanted_bytes

    def give_room(self, freed_bytes: int) -> None:
        """Count bytes that were removed from its storage."""
        with self._lock:
            if self.conditions.bytes_left is not None:
                self.conditions.bytes_left += freed_bytes

    def write_log(self, process: str, pid: int, message: str, level: str = "Notice") -> None:
        """Add a line to its system log."""
        now = time.gmtime()
        stamp = f"{time.strftime('%b', now)} {now.tm_mday:2d} {time.strftime('%H:%M:%S', now)}"
        text = message.replace("\0", " ").replace("\n", "\\n")
        self.log.append(f"{stamp} {self.model.name.replace(' ', '-')} {process}[{pid}] <{level}>: {text}")

    def installed_apps(self) -> Sequence[StandInApp]:
        """Return its apps, sorted by bundle identifier."""
        with self._lock:
            return tuple(self.apps[bundle] for bundle in sorted(self.apps))

    def install(self, ipa: Path) -> StandInApp:
        """Install a package in place of an older build of the same app, whose container stays.

        Raises:
            InvalidPackage: It is no package.
            OSError: ENOSPC, there is no room.
        """
        staging = self.new_staging_folder()
        try:
            with zipfile.ZipFile(ipa) as archive:
                for entry in archive.infolist():
                    self.take_room(entry.file_size)
                    archive.extract(entry, staging)
        except zipfile.BadZipFile as error:
            self.remove_staging_folder(staging)
            raise InvalidPackage(f"{ipa.name} is no zip file") from error
        except OSError:
            self.remove_staging_folder(staging)
            raise
        return self.adopt(staging)

    def new_staging_folder(self) -> Path:
        """Return a new folder in which a package is unpacked, for `adopt`."""
        return Path(tempfile.mkdtemp(dir=self.folder / "staging"))

    def remove_staging_folder(self, staging: Path) -> None:
        """Remove such a folder with everything in it; no error if `adopt` did."""
        if staging.exists():
            self._remove(staging)

    def adopt(self, staging: Path) -> StandInApp:
        """Install the package that was unpacked in a folder, which is removed.

        Raises:
            InvalidPackage: It contains no app.
        """
        try:
            unpacked, info, bundle = _find_app(staging)
            self.kill(bundle)
            with self._lock:
                older = self.apps.get(bundle)
                number = 1 if older is None else int(older.folder.parent.name) + 1
                folder = self.folder / "apps" / bundle / str(number) / unpacked.name
                folder.parent.mkdir(parents=True)
                unpacked.rename(folder)
                _make_programs_executable(folder)
                container = self.folder / "containers" / bundle
                for name in ("Documents", "Library", "tmp"):
                    (container / name).mkdir(parents=True, exist_ok=True)
                self.apps[bundle] = app = StandInApp(bundle, info, folder, container)
                if older is not None:
                    self._remove(older.folder.parent)
        finally:
            self.remove_staging_folder(staging)
        self.write_log("installd", 41, f"installed {bundle}")
        return app

    def uninstall(self, bundle: str) -> None:
        """Remove an app and its container; no error if it is not installed."""
        with self._lock:
            app = self.apps.pop(bundle, None)
        if app is None:
            return
        self.kill(bundle)
        with self._lock:
            self._remove(app.folder.parent.parent)
            self._remove(app.container)
        self.write_log("installd", 41, f"uninstalled {bundle}")

    def _remove(self, folder: Path) -> None:
        self.give_room(size_of(folder))
        shutil.rmtree(folder, ignore_errors=True)


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum((Path(folder) / name).lstat().st_size for folder, _, names in os.walk(path) for name in names)


def _find_app(staging: Path) -> tuple[Path, dict[str, object], str]:
    """Return the folder of the only app in an unpacked package, its `Info.plist`, and its bundle identifier."""
    folders = sorted(staging.glob("Payload/*.app"))
    if len(folders) != 1 or folders[0].is_symlink():
        raise InvalidPackage(f"{len(folders)} apps in the package")
    try:
        info = plistlib.loads((folders[0] / "Info.plist").read_bytes())
    except (OSError, *UNREADABLE_PLIST) as error:
        raise InvalidPackage("no Info.plist that can be read") from error
    bundle = info.get("CFBundleIdentifier") if isinstance(info, dict) else None
    executable = info.get("CFBundleExecutable") if isinstance(info, dict) else None
    if not isinstance(bundle, str) or not bundle or not set(bundle) <= _BUNDLE_CHARACTERS or bundle.startswith("."):
        raise InvalidPackage(f"{bundle!r} is no bundle identifier")
    if not isinstance(executable, str) or Path(executable).name != executable:
        raise InvalidPackage(f"{executable!r} is no executable")
    if not (folders[0] / executable).is_file():
        raise InvalidPackage(f"{executable} is missing in the package")
    return folders[0], info, bundle


def _make_programs_executable(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            file = Path(parent) / name
            if file.is_symlink() or not file.is_file():
                continue
            with file.open("rb") as content:
                start = content.read(4)
            if start.startswith(_PROGRAM_STARTS):
                file.chmod(0o755)
