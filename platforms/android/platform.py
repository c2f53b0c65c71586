"""The platform `android`: phones that the adb server sees and that allow access, each used by one job at a time."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from harness import shell
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Finding, Progress
from platforms import machine_lock
from platforms.android.devices import describe_phone, serialno_of
from platforms.android.files.workdir import session_folder, workdir_in
from platforms.android.link.adb import AdbServer, ListedPhone, adb_program, is_network_serial
from platforms.android.link.device_lock import DeviceLock, owner_of
from platforms.android.link.phone import Phone
from platforms.android.link.reconnect import is_reachable, restart, wait_for_return
from platforms.android.link.root import ALLOW_ROOT, root_prefix
from platforms.android.options import AndroidOptions
from platforms.android.session import AndroidSession, PreparedPhone
from platforms.android.settings.clocks import check_frequency
from platforms.android.settings.preparation import Preparation
from platforms.android.settings.settings_log import SettingsLog
from platforms.android.state.readiness import ReadinessGate, ReadinessLimits
from platforms.android.state.state import StateCache

_AT_ONCE: Final = 32
"""Phones that are described at the same time."""
_REMEDIES: Final = {
    "unauthorized": 'unlock it and answer "Allow USB debugging?" with yes',
    "offline": "plug it in again, or restart it",
    "no permissions": "add udev rules for it (Debian: apt install android-sdk-platform-tools-common); plug it in again",
    "recovery": "restart it into Android",
    "sideload": "restart it into Android",
    "bootloader": "restart it into Android",
    "absent": "check the cable; `adb devices` lists what it sees",
}
"""By the beginning of a state: some continue with details in brackets."""


class Android:
    """Phones behind one adb server.

    Args:
        settings: Settings of the run.
        server: The adb server.
        locks: Folder of lock files; None takes the machine's.

    Raises:
        UsageError: An invalid setting.
    """

    name = "android"
    app_suffix = ".apk"
    device_options = ("reboot", "set_freq", "wipe_cache", "airplane", "screen")

    def __init__(self, settings: Settings, server: AdbServer, *, locks: Path | None = None) -> None:
        self._settings = settings
        self._server = server
        self._locks = locks
        self._options = settings.of(AndroidOptions)
        self._workdir = workdir_in(self._options.android_dir)
        if self._options.set_freq is not None:
            check_frequency(self._options.set_freq)

    def devices(self) -> Sequence[Device]:
        """List all phones that can be used, by identity. `diagnose` reports those that cannot."""
        serials = [listed.serial for listed in self._server.list_phones() if listed.state == "device"]
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            return unique_devices([device for device in pool.map(self._try_describe, serials) if device is not None])

    def diagnose(self) -> Sequence[Finding]:
        """Check adb and every phone. Never raises; limited in time, because the check of each phone is."""
        program = adb_program()
        version = (shell.read_output((str(program), "version"), timeout_s=10.0) or "").splitlines() if program else []
        described = f"{program} ({version[0]})" if version else str(program)
        findings = [Finding("adb", bool(version), described, "install Android's platform-tools")]
        try:
            phones = self._server.list_phones()
            findings.append(Finding("adb server", True, f"{self._server.name}, protocol {self._server.version()}"))
        except EnvironmentProblem as error:
            return (*findings, Finding("adb server", False, error.message, error.hint or ""))
        if not phones:
            remedy = "plug one in and allow USB debugging in its developer options"
            findings.append(Finding("phones", None, "none", remedy))
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            findings.extend(pool.map(self._diagnose_phone, phones))
        return tuple(findings)

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[AndroidSession]:
        """Lock a phone, prepare it, and restore everything at the end."""
        phone = Phone(self._server, device.name)
        path = machine_lock.lock_path(f"android-{re.sub(r'[^A-Za-z0-9_.-]', '-', device.identity)}")
        path = path if self._locks is None else self._locks / path.name
        timeout_s = self._settings.lock_timeout
        with machine_lock.hold(path, timeout_s, progress, device.name), contextlib.ExitStack() as stack:
            self._check(phone, device)
            lock = DeviceLock(phone, owner_of(path), timeout_s, progress)
            yield self._open_locked(phone, device, progress, lock, stack)

    def _open_locked(
        self, phone: Phone, device: Device, progress: Progress, lock: DeviceLock, stack: contextlib.ExitStack
    ) -> AndroidSession:
        settings = self._settings
        stack.callback(lock.release)
        lock.acquire()
        log = SettingsLog.of(settings.cache_dir, device.identity)
        preparation = Preparation(phone, self._options, log, progress, lock.ensure)
        gate = ReadinessGate(device.name, ReadinessLimits(timeout_s=settings.cool_timeout), progress)
        folder = contextlib.ExitStack()
        stack.enter_context(_cleaned_up(phone, preparation, folder))

        def prepare() -> PreparedPhone:
            if self._options.set_freq is not None:  # heat lowers the very limits that are read, and restored at the end
                gate.wait_until_ready(StateCache(phone).read)
            preparation.prepare()
            folder.close()
            entered = folder.enter_context(session_folder(phone, self._workdir))
            prefix = _require_root(phone) if self._options.wipe_cache else None
            return PreparedPhone(entered, preparation.attributes, prefix)

        def prepare_again() -> PreparedPhone:
            wait_for_return(phone, serialno_of(device), settings.return_timeout, progress)
            try:
                lock.acquire()
                return prepare()
            except DeviceLost:
                raise
            except EnvironmentProblem as error:  # the phone has returned, but cannot be used: as good as lost
                raise DeviceLost(error.message, hint=error.hint) from error

        if self._options.reboot:
            restart(phone, serialno_of(device), settings.return_timeout, progress)
            lock.acquire()
        return AndroidSession(
            phone, device, prepare(), prepare_again, gate, check_locked=lock.check, cpus=settings.cpus
        )

    def _check(self, phone: Phone, device: Device) -> None:
        """Check that the phone is there, and is the one that was listed."""
        state = self._server.state(phone.serial)
        if state != "device":
            raise unusable_error(phone.serial, state)
        if describe_phone(phone).identity != device.identity:
            raise DeviceLost(f"{phone.serial} is another phone now", hint="list the devices again")

    def _try_describe(self, serial: str) -> Device | None:
        """Describe a phone; None for one that does not answer, which must not stop the others."""
        try:
            return describe_phone(Phone(self._server, serial))
        except EnvironmentProblem:
            return None

    def _diagnose_phone(self, listed: ListedPhone) -> Finding:
        if listed.state != "device":
            return Finding(listed.serial, False, listed.state, _remedy(listed.state))
        try:
            device = describe_phone(Phone(self._server, listed.serial))
        except EnvironmentProblem as error:
            return Finding(listed.serial, False, error.message, error.hint or "")
        return Finding(listed.serial, True, f"{device.kind}, {device.os}, {device.abi}")


@contextlib.contextmanager
def _cleaned_up(phone: Phone, preparation: Preparation, folder: contextlib.ExitStack) -> Iterator[None]:
    """Restore a phone at the end, also while the harness is being stopped; one that is gone is not asked repeatedly."""
    is_lost = False
    try:
        yield
    except DeviceLost:
        is_lost = True
        raise
    finally:
        phone.ignore_stopping()
        is_gone = is_lost and not is_reachable(phone)
        with phone.limit_time(0.0 if is_gone else math.inf), folder:
            preparation.restore()


def unique_devices(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Return each phone once, by identity; by its cable where it is also reached over the network."""
    by_identity: dict[str, Device] = {}
    for device in sorted(devices, key=lambda device: (is_network_serial(device.name), device.name)):
        by_identity.setdefault(device.identity, device)
    return tuple(by_identity[identity] for identity in sorted(by_identity))


def unusable_error(serial: str, state: str) -> EnvironmentProblem:
    """Return the error of a phone that cannot be used in this state (of `adb devices`)."""
    if state == "absent":
        return DeviceLost(f"{serial} is no longer connected", hint=_remedy(state))
    return EnvironmentProblem(f"{serial} cannot be used: {state}", hint=_remedy(state))


def _remedy(state: str) -> str:
    return next((remedy for start, remedy in _REMEDIES.items() if state.startswith(start)), "see `adb devices`")


def _require_root(phone: Phone) -> str:
    prefix = root_prefix(phone)
    if prefix is None:
        raise EnvironmentProblem(
            f"the page cache of {phone.name} cannot be dropped: it is not rooted",
            hint=f"{ALLOW_ROOT}; or leave out --wipe-cache",
        )
    return prefix
