"""The platform `ios`: iPhones that a client reaches and that trust this computer, each used by one job at a time."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Final

from harness import shell
from harness.config.settings import Settings
from harness.core.device import READY, Device, DeviceStatus
from harness.core.errors import BenchmarkUnsupported, DeviceLost, EnvironmentProblem, UsageError
from harness.core.power import PowerMethod
from harness.core.protocols import Finding, Progress
from platforms import machine_lock
from platforms.ios.apps.judging import NO_ENERGY
from platforms.ios.apps.signing import signing_words
from platforms.ios.devices import describe_phone
from platforms.ios.link.choice import choose_client, diagnose_missing, missing_client
from platforms.ios.link.client import PhoneClient
from platforms.ios.link.errors import PhoneLocked, PhoneNotPaired
from platforms.ios.options import IosOptions
from platforms.ios.session import IosSession, IPhone
from platforms.ios.state.phone_state import PhoneStateReader
from platforms.ios.state.readiness import IPhoneLimits, check_without_waiting
from platforms.phone_options import PhoneOptions

_AT_ONCE: Final = 16
"""Phones that are described at the same time."""
_POLL_S: Final = 2.0
_SHUTDOWN_S: Final = 60.0
_WRITABLE: Final = ("Documents", "Library", "tmp")
"""Folders of a container in which an app may write."""
_DEVELOPER_MODE: Final = "switch it on (Settings, Privacy & Security, Developer Mode), and restart the phone"


class Ios:
    """Phones that one client reaches.

    Args:
        settings: Settings of the run.
        client: The client; None takes the one that is installed.
        locks: Folder of lock files; None takes the machine's.

    Raises:
        UsageError: An invalid setting.
    """

    name = "ios"
    app_suffix = ".ipa"
    device_options = ("reboot", "override", "min_battery", "min_battery_charging", "max_battery_temperature")

    def __init__(self, settings: Settings, client: PhoneClient | None = None, *, locks: Path | None = None) -> None:
        self._settings = settings
        self._options = settings.of(IosOptions)
        self._folder = _folder_in(self._options.ios_dir)
        self._limits = IPhoneLimits.from_options(settings.of(PhoneOptions), settings.cool_timeout)
        if self._options.ios_sign is not None:
            signing_words(self._options.ios_sign)
        self._given = client
        self._locks = locks

    def devices(self) -> Sequence[Device]:
        """List all phones that can be used, by identity. `list_devices` has those that cannot, too."""
        return tuple(status.device for status in self.list_devices() if status.device is not None)

    def list_devices(self, wanted: Collection[str] = (), known: Collection[Device] = ()) -> Sequence[DeviceStatus]:  # noqa: ARG002 - part of the protocol
        """List every phone that the client sees; those that cannot be used come last, by UDID.

        Raises:
            EnvironmentProblem: The client cannot list phones.
        """
        client = self._client()
        if client is None:
            return ()
        by_identity = {device.identity: device for device in known}

        def examine(udid: str) -> DeviceStatus:
            known_device = by_identity.get(udid)
            return _ready(known_device) if known_device is not None else _examine(client, udid)

        udids = sorted({listed.udid for listed in client.list_phones()})
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            statuses = tuple(pool.map(examine, udids))
        return tuple(sorted(statuses, key=lambda status: status.device is None))

    def diagnose(self) -> Sequence[Finding]:
        """Check the client and every phone. Never raises."""
        client = self._client()
        if client is None:
            return diagnose_missing()
        findings = [
            finding if finding.ok or self._options.usbmuxd is not None else finding._replace(ok=None)
            for finding in client.diagnose()  # a machine without iPhones needs no usbmuxd
        ]
        if not all(finding.ok for finding in findings):
            return tuple(findings)
        try:
            statuses = self.list_devices()
        except EnvironmentProblem as error:
            return (*findings, Finding("iPhones", False, error.message, error.hint or ""))
        if not statuses:
            findings.append(Finding("iPhones", None, "none", 'plug one in, and answer "Trust This Computer?"'))
        findings.extend(map(_describe_status, statuses))
        return tuple(findings)

    def find_meter_obstacle(self, device: Device, method: PowerMethod | None) -> str | None:  # noqa: ARG002 - part of the protocol
        """Return why the energy of programs cannot be metered: no iPhone tells it."""
        return f"needs a device that meters its energy: {NO_ENERGY}"

    def preflight(self, device: Device, package: str | None = None) -> None:
        """Check the battery of a phone, or that an app is installed."""
        client = self._require_client()
        if package is None:
            check_without_waiting(
                device.kind or device.name, PhoneStateReader(client, device.identity).read(), self._limits
            )
        elif all(app.bundle != package for app in client.list_apps(device.identity)):
            raise BenchmarkUnsupported(
                f"the app {package} is not installed on {device.name}", hint="install it, or give its .ipa (--program)"
            )

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[IosSession]:
        """Lock a phone; at the end our apps are ended, and the session's files removed."""
        client = self._require_client()
        path = machine_lock.lock_path(f"ios-{re.sub(r'[^A-Za-z0-9_.-]', '-', device.identity)}")
        path = path if self._locks is None else self._locks / path.name
        timeout_s = self._settings.return_timeout

        def wait_for_return() -> None:
            _wait_for_return(client, device, timeout_s, progress)

        with machine_lock.hold(path, self._settings.lock_timeout, progress, device.name):
            if (status := _examine(client, device.identity)).device is None:
                progress.say(f"{status.explanation}: waiting at most {timeout_s:.0f} s for it")
                wait_for_return()
            if self._settings.of(PhoneOptions).reboot:
                _restart(client, device, timeout_s, progress)
            options = self._options
            phone = IPhone(client, device, self._folder, options.ios_app, options.ios_sign, self._limits, progress)
            with contextlib.closing(IosSession(phone, wait_for_return)) as session:
                yield session

    def _client(self) -> PhoneClient | None:
        if self._given is None:
            self._given = choose_client(self._options)
        return self._given

    def _require_client(self) -> PhoneClient:
        client = self._client()
        if client is None:
            raise missing_client()
        return client


def _folder_in(ios_dir: str) -> str:
    """Return our folder in each container.

    Raises:
        UsageError: It is no path below `Documents`, `Library` or `tmp`, which are the folders that an app may use.
    """
    path = PurePosixPath(ios_dir)
    is_inside = len(path.parts) > 1 and path.parts[0] in _WRITABLE and ".." not in path.parts
    if not is_inside or not ios_dir.isprintable():
        raise UsageError(
            f"--ios-dir {ios_dir!r} is no folder of an app", hint="below Documents: Documents/edge-harness is usual"
        )
    return str(path)


def _ready(device: Device) -> DeviceStatus:
    return DeviceStatus(name=device.name, state=READY, device=device)


def _examine(client: PhoneClient, udid: str) -> DeviceStatus:
    """Return the state of a phone, and its description; one that does not answer must not stop the others."""
    try:
        properties = client.read_properties(udid)
    except PhoneLocked as error:
        return DeviceStatus(name=udid, state="locked", remedy=error.hint or "")
    except PhoneNotPaired as error:
        return DeviceStatus(name=udid, state="not paired", remedy=error.hint or "")
    except DeviceLost as error:
        return DeviceStatus(name=udid, state="not answering", remedy=error.hint or "")
    except EnvironmentProblem as error:
        return DeviceStatus(name=udid, state=error.message, remedy=error.hint or "", may_return=False)
    if properties.developer_mode is False:
        return DeviceStatus(name=udid, state="developer mode is off", remedy=_DEVELOPER_MODE, may_return=False)
    return _ready(describe_phone(properties, client.name))


def _describe_status(status: DeviceStatus) -> Finding:
    if status.device is None:
        return Finding(status.name, False, status.state, status.remedy)
    return Finding(status.name, True, f"{status.device.kind}, {status.device.os}, {status.device.abi}")


def _wait_for_return(client: PhoneClient, device: Device, timeout_s: float, progress: Progress) -> None:
    """Wait until a phone is there again, and trusts this computer.

    Raises:
        DeviceLost: It does not return in time.
        Interrupted: The harness is being stopped.
    """
    started = time.monotonic()
    with progress.task(f"{device.name}: waiting for its return", timeout_s) as task:
        while (status := _find(client, device)).device is None:
            waited_s = time.monotonic() - started
            if waited_s >= timeout_s:
                raise DeviceLost(
                    f"{device.name} did not come back within {timeout_s:.0f} s: it is {status.state}",
                    hint=f"{status.remedy}; or give it more time (--return-timeout)",
                )
            task.update(completed=waited_s, text=f"{device.name}: waiting for its return, it is {status.state}")
            shell.pause(min(_POLL_S, timeout_s - waited_s))


def _find(client: PhoneClient, device: Device) -> DeviceStatus:
    """Return the state of a phone, also of one that is not listed."""
    absent = DeviceStatus(name=device.name, state="absent", remedy="check the cable")
    try:
        if all(listed.udid != device.identity for listed in client.list_phones()):
            return absent
    except EnvironmentProblem as error:
        return absent.model_copy(update={"state": error.message, "remedy": error.hint or absent.remedy})
    return _examine(client, device.identity)


def _restart(client: PhoneClient, device: Device, timeout_s: float, progress: Progress) -> None:
    """Restart a phone, and wait for its return.

    Raises:
        DeviceLost: It does not return in time.
        EnvironmentProblem: It does not restart.
    """
    client.reboot(device.identity)
    if not shell.poll_until(lambda: _find(client, device).device is None, _SHUTDOWN_S):
        raise EnvironmentProblem(f"{device.name} does not restart", hint="leave out --reboot")
    _wait_for_return(client, device, timeout_s, progress)
