"""The platform `android`: phones that the adb server sees and that allow access, each used by one job at a time."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from harness import shell
from harness.config.settings import Settings
from harness.core.device import READY, Device, DeviceStatus
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.power import PowerMethod
from harness.core.protocols import Finding, Progress
from platforms import machine_lock
from platforms.android.devices import PhoneStarting, describe_phone, serialno_of
from platforms.android.files.workdir import session_folder, workdir_in
from platforms.android.launch.app import check_installed, check_unlocked
from platforms.android.link.adb import AdbServer, ListedPhone, adb_program, is_network_serial
from platforms.android.link.device_lock import DeviceLock, owner_of
from platforms.android.link.liveness import PROBE_TIMES, ProbeTimes
from platforms.android.link.phone import Phone
from platforms.android.link.reconnect import is_reachable, restart, wait_for_return, wait_until_usable
from platforms.android.link.root import ALLOW_ROOT, root_prefix
from platforms.android.link.states import BOOTING, UNNAMED, UNRESPONSIVE, unusable_status
from platforms.android.options import AndroidOptions
from platforms.android.session import AndroidSession, PreparedPhone
from platforms.android.settings.clocks import check_frequency
from platforms.android.settings.preparation import Preparation
from platforms.android.settings.settings_log import SettingsLog
from platforms.android.state.readiness import ReadinessGate, ReadinessLimits, check_without_waiting
from platforms.android.state.state import StateCache
from platforms.cpu_kinds import choose_kind
from platforms.phone_options import PhoneOptions

_AT_ONCE: Final = 32
"""Phones that are described at the same time."""
_NO_SERIAL: Final = "(no serial number)"
"""Stands in the list of an adb server for a serial number that a phone does not have."""


_LIMIT_OPTIONS: Final = ("override", "min_battery", "min_battery_charging", "max_skin", "max_battery_temperature")


class Android:
    """Phones behind one adb server.

    Args:
        settings: Settings of the run.
        server: The adb server.
        locks: Folder of lock files; None takes the machine's.
        probe_times: When to ask whether a phone hangs, while something is waited for.

    Raises:
        UsageError: An invalid setting.
    """

    name = "android"
    app_suffix = ".apk"
    device_options = ("reboot", "set_freq", "wipe_cache", "airplane", "screen", *_LIMIT_OPTIONS)

    def __init__(
        self,
        settings: Settings,
        server: AdbServer,
        *,
        locks: Path | None = None,
        probe_times: ProbeTimes = PROBE_TIMES,
    ) -> None:
        self.settings = settings
        self._server = server
        self._locks = locks
        self._probe_times = probe_times
        self._options = settings.of(AndroidOptions)
        self._workdir = workdir_in(self._options.android_dir)
        self._limits = ReadinessLimits.from_options(
            settings.of(PhoneOptions), settings.cool_timeout, max_skin_c=self._options.max_skin
        )
        if self._options.set_freq is not None:
            check_frequency(self._options.set_freq)

    def devices(self) -> Sequence[Device]:
        """List all phones that can be used, by identity. `list_devices` has those that cannot, too."""
        return tuple(status.device for status in self.list_devices() if status.device is not None)

    def list_devices(self, wanted: Collection[str] = (), known: Collection[Device] = ()) -> Sequence[DeviceStatus]:
        """List every phone that the adb server sees; those that cannot be used come last, by serial number.

        Phones on the network that are wanted by their address are looked for.
        """
        listed = self._server.list_phones()
        for name in wanted:
            if is_network_serial(name) and all(phone.serial != name for phone in listed):
                with contextlib.suppress(EnvironmentProblem):
                    self._server.connect(name)
        by_name = {device.name: device for device in known}
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            statuses = list(pool.map(lambda phone: self._examine(phone, by_name.get(phone.serial)), listed))
        usable = unique_devices([status.device for status in statuses if status.device is not None], wanted)
        names = {name for device in usable for name in (device.identity, device.name)}
        unusable = [status for status in statuses if status.device is None and status.name not in names]
        ready = (DeviceStatus(name=device.name, state=READY, device=device) for device in usable)
        return (*ready, *sorted(unusable, key=lambda status: status.name))

    def diagnose(self) -> Sequence[Finding]:
        """Check adb and every phone. Never raises; limited in time, because the check of each phone is."""
        program = adb_program()
        version = (shell.read_output((str(program), "version"), timeout_s=10.0) or "").splitlines() if program else []
        described = f"{program} ({version[0]})" if version else str(program)
        findings = [Finding("adb", bool(version), described, "install Android's platform-tools")]
        was_running = self._server.answers()
        try:
            phones = self._server.list_phones()
            end = f"`adb -P {self._server.port} kill-server` ends it"
            origin = "" if was_running else f", started by this command ({end})"
            name = f"{self._server.name}, protocol {self._server.version()}{origin}"
            findings.append(Finding("adb server", True, name))
        except EnvironmentProblem as error:
            return (*findings, Finding("adb server", False, error.message, error.hint or ""))
        if not phones:
            remedy = "plug one in and allow USB debugging in its developer options"
            findings.append(Finding("phones", None, "none", remedy))
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            findings.extend(pool.map(self._diagnose_phone, phones))
        return tuple(findings)

    def find_meter_obstacle(self, device: Device, method: PowerMethod | None) -> str | None:
        """Return why the energy of programs cannot be metered; whether it has rails is seen at the first launch."""
        if method in {None, PowerMethod.SOFTWARE}:
            return None
        return f"method `{method}` counts processors of hosts: {device.name} has rails or a battery (`software`)"

    def preflight(self, device: Device, package: str | None = None) -> None:
        """Check the battery of a phone, or that an app is installed and no lock screen hides it."""
        phone = Phone(self._server, device.name, probe_times=self._probe_times)
        if package is not None:
            check_installed(phone, package)
            check_unlocked(phone)
            return
        check_without_waiting(device.name, StateCache(phone).read(), self._limits)

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[AndroidSession]:
        """Lock a phone, prepare it, and restore everything at the end."""
        phone = Phone(self._server, device.name, probe_times=self._probe_times)
        path = machine_lock.lock_path(f"android-{re.sub(r'[^A-Za-z0-9_.-]', '-', device.identity)}")
        path = path if self._locks is None else self._locks / path.name
        timeout_s = self.settings.lock_timeout
        with machine_lock.hold(path, timeout_s, progress, device.name), contextlib.ExitStack() as stack:
            self._check(phone, device, progress)
            lock = DeviceLock(phone, owner_of(path), timeout_s, progress)
            yield self._open_locked(phone, device, progress, lock, stack)

    def _open_locked(
        self, phone: Phone, device: Device, progress: Progress, lock: DeviceLock, stack: contextlib.ExitStack
    ) -> AndroidSession:
        settings = self.settings
        stack.callback(lock.release)
        lock.acquire()
        log = SettingsLog.of(settings.cache_dir, device.identity)
        preparation = Preparation(phone, self._options, log, progress, lock.ensure, overridden=self._limits.overridden)
        gate = ReadinessGate(device.name, self._limits, progress)
        folder = contextlib.ExitStack()
        stack.enter_context(_cleaned_up(phone, preparation, folder))

        def prepare() -> PreparedPhone:
            if self._options.set_freq is not None:  # heat lowers the very limits that are read, and restored at the end
                gate.wait_until_ready(StateCache(phone).read)
            preparation.prepare()
            folder.close()
            entered = folder.enter_context(session_folder(phone, self._workdir))
            prefix = _require_root(phone) if self._options.wipe_cache else None
            cpus = settings.cpus
            if isinstance(cpus, str):
                cpus = choose_kind(entered.cpus.kinds, cpus, device.name, progress.say)
            return PreparedPhone(entered, preparation.attributes, prefix, cpus)

        def prepare_again() -> PreparedPhone:
            wait_for_return(phone, serialno_of(device), settings.return_timeout, progress)
            try:
                lock.acquire()
                return prepare()
            except DeviceLost:
                raise
            except EnvironmentProblem as error:  # the phone has returned, but cannot be used: as good as lost
                raise DeviceLost(error.message, hint=error.hint) from error

        if settings.of(PhoneOptions).reboot:
            restart(phone, serialno_of(device), settings.return_timeout, progress)
            lock.acquire()
        return AndroidSession(phone, device, prepare(), prepare_again, gate, check_locked=lock.check)

    def _check(self, phone: Phone, device: Device, progress: Progress) -> None:
        """Wait until the phone is there, and check that it is the one that was listed."""
        wait_until_usable(phone, serialno_of(device), self.settings.return_timeout, progress)
        if describe_phone(phone).identity != device.identity:
            raise DeviceLost(f"{phone.serial} is another phone now", hint="list the devices again")

    def _examine(self, listed: ListedPhone, known: Device | None = None) -> DeviceStatus:
        """Return the state of a phone, and its description; one that does not answer must not stop the others."""
        if listed.state != "device":
            return unusable_status(listed.serial, listed.state)
        if listed.serial == _NO_SERIAL:
            return unusable_status(listed.serial, UNNAMED)
        try:
            device = known or describe_phone(Phone(self._server, listed.serial))
        except PhoneStarting:
            return unusable_status(listed.serial, BOOTING)
        except DeviceLost:
            return unusable_status(listed.serial, UNRESPONSIVE)
        except EnvironmentProblem as error:
            return DeviceStatus(name=listed.serial, state=error.message, remedy=error.hint or "", may_return=False)
        return DeviceStatus(name=listed.serial, state=READY, device=device)

    def _diagnose_phone(self, listed: ListedPhone) -> Finding:
        status = self._examine(listed)
        if status.device is None:
            return Finding(status.name, False, status.state, status.remedy)
        device = status.device
        return Finding(status.name, True, f"{device.kind}, {device.os}, {device.abi}")


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


def unique_devices(devices: Sequence[Device], wanted: Collection[str] = ()) -> tuple[Device, ...]:
    """Return each phone once, by identity; by its cable where it is also reached over the network.

    Args:
        devices: The phones.
        wanted: Names by which a user asks for phones, and which prevail.
    """
    by_identity: dict[str, Device] = {}
    for device in sorted(
        devices, key=lambda device: (device.name not in wanted, is_network_serial(device.name), device.name)
    ):
        by_identity.setdefault(device.identity, device)
    return tuple(by_identity[identity] for identity in sorted(by_identity))


def _require_root(phone: Phone) -> str:
    prefix = root_prefix(phone)
    if prefix is None:
        raise EnvironmentProblem(
            f"the page cache of {phone.name} cannot be dropped: it is not rooted",
            hint=f"{ALLOW_ROOT}; or leave out --wipe-cache",
        )
    return prefix
