"""The platform `android`: every phone that the adb server sees and that lets us in, each held by one job at a time."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem
from harness.core.protocols import Finding, Progress
from platforms import machine_lock
from platforms.android import checkup, devices
from platforms.android.files.workdir import own_folder, session_folder
from platforms.android.link import reconnect
from platforms.android.link.adb import AdbServer, over_network
from platforms.android.link.device_lock import Hold, owner_of
from platforms.android.link.phone import Phone
from platforms.android.link.root import ALLOW, as_root
from platforms.android.options import AndroidOptions
from platforms.android.session import AndroidSession, Prepared
from platforms.android.settings.journals import Journals
from platforms.android.settings.preparation import Preparation, Wishes
from platforms.android.state.readiness import Gate, Limits
from platforms.android.state.readings import Readings

_AT_ONCE: Final = 32
"""Phones that are asked at the same time."""


class Android:
    """Phones behind one adb server.

    Args:
        settings: What the run was asked to do.
        server: The adb server.
        locks: Folder of lock files; None takes the machine's.

    Raises:
        UsageError: A setting that cannot be meant.
    """

    name = "android"

    def __init__(self, settings: Settings, server: AdbServer, *, locks: Path | None = None) -> None:
        self._settings = settings
        self._server = server
        self._locks = locks
        self._options = settings.of(AndroidOptions)
        self._own = own_folder(self._options.android_dir)
        self._wishes = Wishes.of(self._options)

    def devices(self) -> Sequence[Device]:
        """All phones that can be used, by identity. Those that cannot are told by `diagnose`."""
        usable = [listed.serial for listed in self._server.listed() if listed.state == "device"]
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            found = [device for device in pool.map(self._described, usable) if device is not None]
        return distinct(found)

    def diagnose(self) -> Sequence[Finding]:
        """What of adb is there, and of every phone whether it can be used."""
        return checkup.findings(self._server)

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[AndroidSession]:
        """Hold a phone, prepare it, and put everything back at the end."""
        phone = Phone(self._server, device.name)
        path = machine_lock.lock_path(f"android-{re.sub(r'[^A-Za-z0-9_.-]', '-', device.identity)}")
        path = path if self._locks is None else self._locks / path.name
        with (
            machine_lock.held(path, self._settings.lock_timeout, progress, device.name),
            contextlib.ExitStack() as stack,
        ):
            self._check(phone, device)
            hold = Hold(phone, owner_of(path), self._settings.lock_timeout, progress)
            yield self._opened(phone, device, progress, hold, stack)

    def _opened(
        self, phone: Phone, device: Device, progress: Progress, hold: Hold, stack: contextlib.ExitStack
    ) -> AndroidSession:
        settings = self._settings
        stack.callback(hold.release)
        hold.take()
        journals = Journals.of(settings.cache_dir, device.identity)
        preparation = Preparation(phone, self._wishes, journals, progress, hold.ensure)
        gate = Gate(device.name, Limits(timeout_s=settings.cool_timeout), progress)
        folder = contextlib.ExitStack()
        stack.push(_Leaving(phone, preparation, folder))

        def begin() -> Prepared:
            if self._wishes.set_freq is not None:  # heat lowers the very limits that are read, and put back at the end
                gate.wait_until_ready(Readings(phone).now)
            preparation.prepare()
            folder.close()
            entered = folder.enter_context(session_folder(phone, self._own))
            wipe = _root(phone) if self._options.wipe_cache else None
            return Prepared(entered, preparation.attributes, wipe)

        def again() -> Prepared:
            reconnect.wait(phone, devices.serialno(device), settings.return_timeout, progress)
            try:
                hold.take()
                return begin()
            except DeviceLost:
                raise
            except EnvironmentProblem as error:  # the phone is back, and not ours or not as it must be: as good as lost
                raise DeviceLost(error.message, hint=error.hint) from error

        if self._options.reboot:
            reconnect.restart(phone, devices.serialno(device), settings.return_timeout, progress)
            hold.take()
        return AndroidSession(phone, device, begin(), again, gate, check_held=hold.check, cpus=settings.cpus)

    def _check(self, phone: Phone, device: Device) -> None:
        """That the phone is there, and the one that was found."""
        state = self._server.state(phone.serial)
        if state != "device":
            raise checkup.unusable(phone.serial, state)
        found = devices.describe(phone)
        if found.identity != device.identity:
            raise DeviceLost(f"{phone.serial} is another phone now", hint="ask for the devices again")

    def _described(self, serial: str) -> Device | None:
        """None for one that does not answer: it is told by `diagnose`, and does not hold up the others."""
        try:
            return devices.describe(Phone(self._server, serial))
        except EnvironmentProblem:
            return None


class _Leaving:
    """The way out of a phone, on which nothing interrupts. One that is gone is not asked once more for each step.

    Args:
        phone: The phone.
        preparation: What was fixed on it.
        folder: What was laid down there.
    """

    def __init__(self, phone: Phone, preparation: Preparation, folder: contextlib.ExitStack) -> None:
        self._phone = phone
        self._preparation = preparation
        self._folder = folder

    def __enter__(self) -> None:
        """Nothing is done yet."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._phone.finish()
        gone = isinstance(error, DeviceLost) and not reconnect.answers(self._phone)
        with self._phone.within(0.0 if gone else math.inf), self._folder:
            self._preparation.restore()


def distinct(found: Sequence[Device]) -> tuple[Device, ...]:
    """Each phone once, by identity; by its cable where it is also reached over the network."""
    by_identity: dict[str, Device] = {}
    for device in sorted(found, key=lambda device: (over_network(device.name), device.name)):
        by_identity.setdefault(device.identity, device)
    return tuple(by_identity[identity] for identity in sorted(by_identity))


def _root(phone: Phone) -> str:
    found = as_root(phone)
    if found is None:
        raise EnvironmentProblem(
            f"the page cache of {phone.name} cannot be dropped: it is not rooted",
            hint=f"{ALLOW}; or leave --wipe_cache out",
        )
    return found
