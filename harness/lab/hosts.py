"""`harness lab join`: a process for each device of a host, which is started again when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import math
import pickle
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness import plugins
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import EnvironmentProblem, ExitCode, HarnessError
from harness.lab.builds.host import build_environment, build_resources, process_name
from harness.lab.configuration import (
    DASK_CONFIG,
    configure,
    local_addresses,
    require_packages,
    scheduler_address,
)
from harness.lab.health import (
    WITHOUT_SHELL,
    DeviceHealth,
    health_file,
    judge,
    read_health,
    reference_job,
    write_health,
)
from harness.lab.host_files import prune_files
from harness.lab.jobs import JobReport, class_of, class_resource, device_resource, slug
from harness.lab.pool import (
    Absence,
    PersonalAction,
    PoolAction,
    explain_absence,
    list_actions,
    read_withdrawal,
    remove_withdrawal,
    write_withdrawal,
)
from harness.lab.processes import VARIABLE, ServedDevice
from harness.lab.quiet_hours import QuietHours, quiet_until
from harness.lab.scheduler import stop_event
from harness.lab.tasks import check_health, finish_job

if TYPE_CHECKING:
    from distributed import Nanny, Security

_AGAIN_S: Final = 5.0
"""How long to wait for a scheduler that went away, before the next attempt."""
_RESCAN_S: Final = 60.0
"""How often to look for devices that were connected since."""
_RETURN_S: Final = 15.0
"""The same while a device that had joined is away: adb lists a phone for some seconds after it was unplugged."""
_LEAST_S: Final = 900.0
"""Least time between two checks of a device by one process."""
_PRUNE_S: Final = 3600.0
"""How often files of earlier jobs are removed that are too many."""
_LOOK_S: Final = 1.0
"""How soon it is noticed that the process of a device ended; until then it may measure for nobody."""


@dataclass(slots=True)
class LabHost:
    """This machine, as it joins a lab.

    Args:
        address: Address of the scheduler.
        platforms: Names of the platforms whose devices join.
        names: Names of the only devices to join; none for all.
        device_class: Class of all its devices; empty takes the kind of each.
        settings: Settings of this host.
        security: Certificates; None for none.
        say: Shows a line to whoever started it.
        check_every_s: Seconds between checks of the health of each device; None for no checks.
        quiet_hours: Hours in which its devices get no jobs.
        builds: Names of the platforms that it builds runners for.
    """

    address: str
    platforms: Sequence[str]
    names: Sequence[str]
    device_class: str
    settings: Settings
    security: Security | None
    say: Callable[[str], None]
    check_every_s: float | None = None
    quiet_hours: tuple[QuietHours, ...] = ()
    builds: Sequence[str] = ()
    _builder: Nanny | None = None
    """Process that builds for others."""
    _nannies: dict[str, Nanny] = field(default_factory=dict)
    _joined: dict[str, str] = field(default_factory=dict)
    """Names of devices by their identities."""
    _devices: dict[str, Device] = field(default_factory=dict)
    _in_pool: dict[str, bool] = field(default_factory=dict)
    """Whether jobs reach the process of a device, by identities."""
    _moving: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """Processes that end what they measure, to leave the pool or to come back, by identities."""
    _checking: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """Checks that run, by identities."""
    _checked_at: dict[str, float] = field(default_factory=dict)
    """When checks of this process ended, by the clock of the event loop, which nobody sets."""
    _pruned_at: float = -math.inf
    """When files were pruned last, by the same clock."""

    def join(self) -> ExitCode:
        """Serve devices until a signal ends it.

        Raises:
            UsageError: It cannot build for any of the platforms.
            EnvironmentProblem: There is no device, and nothing to build for.
        """
        require_packages()
        configure(as_host=True)
        resources = build_resources(self.builds, self.settings)
        if not self._find_devices() and not resources:
            raise EnvironmentProblem(
                f"no device of {', '.join(self.platforms)} is connected",
                hint="`harness devices` says why; `--platforms host` lets this machine itself be measured",
            )
        return asyncio.run(self._serve(resources))

    async def _serve(self, building: Mapping[str, float]) -> ExitCode:
        stop = stop_event()
        while not stop.is_set():
            await _unless(stop, self._prune())
            await _unless(stop, self._start_builder(building))
            await _unless(stop, self._start_missing())
            await self._wait(stop)
        running = (*self._checking.values(), *self._moving.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        nannies = (*self._nannies.values(), *([self._builder] if self._builder is not None else []))
        await asyncio.gather(*(nanny.close() for nanny in nannies), return_exceptions=True)
        return ExitCode.OK

    async def _prune(self) -> None:
        """Remove files of earlier jobs that are too many, now and then."""
        now = asyncio.get_running_loop().time()
        if now - self._pruned_at < _PRUNE_S:
            return
        self._pruned_at = now
        count, size = await asyncio.to_thread(prune_files, self.settings.cache_dir)
        if count:
            self.say(f"{count} files and builds of earlier jobs were removed: {size / 1e9:.1f} GB")

    async def _wait(self, stop: asyncio.Event) -> None:
        """Wait until it is time to look for devices, sooner where processes end: as they do without a lab."""
        now = asyncio.get_running_loop().time
        began = now()
        while not stop.is_set() and now() - began < self._next_look_s():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _LOOK_S)
            if await self._close_ended():
                began = now()
            self._begin_checks(self._carry_out_actions())
            self._move_into_and_out_of_pool()

    async def _close_ended(self) -> bool:
        """End what processes left running that ended or have left the lab, and return whether there were any."""
        ended = [identity for identity, nanny in self._nannies.items() if _has_ended(nanny)]
        for identity in ended:
            self.say(f"! {self._joined[identity]} left the lab: it joins again when both are there")
        closing = (self._nannies.pop(identity).close() for identity in ended)
        await asyncio.gather(*closing, return_exceptions=True)
        if self._builder is not None and _has_ended(self._builder):
            self.say("! builds left the lab: they join again when it is there")
            builder, self._builder = self._builder, None
            await asyncio.gather(builder.close(), return_exceptions=True)
            return True
        return bool(ended)

    def _next_look_s(self) -> float:
        if not self._nannies and not (self.builds and self._builder is not None):
            return _AGAIN_S
        return _RETURN_S if self._joined.keys() - self._nannies else _RESCAN_S

    async def _start_missing(self) -> None:
        """Start a process for each device that has none: those that are new or back."""
        devices = await asyncio.to_thread(self._find_devices)
        busy = self._nannies.keys() | self._moving.keys() | self._checking.keys()
        await asyncio.gather(*(self._start(device) for device in devices if device.identity not in busy))

    async def _start_builder(self, resources: Mapping[str, float]) -> None:
        """Start the process that builds for others, if there is to be one."""
        if not resources or self._builder is not None:
            return
        environment = build_environment(self.settings)
        name = process_name(self.settings)
        self._builder = await self._start_process("builds", name, "harness.lab.builds.tasks", resources, environment)
        if self._builder is not None:
            self.say(f"builds for {', '.join(self.builds)}")

    async def _start_process(
        self, title: str, name: str, module: str, resources: Mapping[str, float], environment: Mapping[str, str]
    ) -> Nanny | None:
        """Start a process of this host, with a module; return None, and say why, where it cannot join."""
        from distributed import Nanny  # noqa: PLC0415 - an extra

        nanny = Nanny(
            scheduler_address(self.address, encrypted=self.security is not None),
            nthreads=1,
            name=name,
            resources=dict(resources),
            preload=[module],  # before it joins: its first job would wait for it, at once with those of all others
            memory_limit=0,
            security=self.security,
            env=dict(environment),
            config=DASK_CONFIG,
            local_directory=str(_scratch(self.settings)),
            dashboard=False,
            **local_addresses(self.security),
        )
        try:
            await nanny
        except asyncio.CancelledError:
            await nanny.close()
            raise
        except Exception as error:  # noqa: BLE001 - of any kind, and the next device may do better
            self.say(f"✗ {title} cannot join: {error.__cause__ or error}")
            await nanny.close()
            return None
        return nanny

    async def _start(self, device: Device) -> None:
        """Start the process of a device."""
        served = ServedDevice(
            device=device,
            device_class=self._class_of(device),
            cache_dir=self.settings.cache_dir.absolute(),
            settings=pickle.dumps(self.settings),
            is_checked=self._is_checked(device),
            quiet_hours=self.quiet_hours,
        )
        absence = self._explain_absence(device)
        resources = {class_resource(served.device_class): 1, device_resource(device.identity): 1}
        if absence is not None:
            resources = {}  # no job reaches it
        environment = {VARIABLE: served.model_dump_json()}
        name = device_resource(device.identity)
        nanny = await self._start_process(device.name, name, "harness.lab.tasks", resources, environment)
        if nanny is None:
            return
        self._nannies[device.identity] = nanny
        self._joined[device.identity] = device.name
        self._devices[device.identity] = device
        self._in_pool[device.identity] = absence is None
        self.say(f"{device.name} joined as {served.device_class}" + ("" if absence is None else ", out of the pool"))

    def _explain_absence(self, device: Device) -> Absence | None:
        """Return why a device gets no jobs; None where it gets some."""
        is_checked = self._is_checked(device)
        return explain_absence(self.settings.cache_dir, device, self.quiet_hours, time.time(), is_checked=is_checked)

    def _move_into_and_out_of_pool(self) -> None:
        """Start those processes anew whose devices have to leave the pool or may come back."""
        self._moving = {identity: move for identity, move in self._moving.items() if not move.done()}
        for identity, nanny in self._nannies.items():
            if identity in self._moving or identity in self._checking:
                continue
            absence = self._explain_absence(self._devices[identity])
            if (absence is None) is not self._in_pool[identity]:
                move = self._start_anew(self._devices[identity], nanny, absence)
                self._moving[identity] = asyncio.create_task(move)

    async def _start_anew(self, device: Device, nanny: Nanny, absence: Absence | None) -> None:
        """End a process after what it measures, and start another one: what the scheduler gave it goes to others."""
        from distributed.protocol.pickle import dumps  # noqa: PLC0415 - an extra

        self.say(f"{device.name}: " + ("back in the pool" if absence is None else absence.words))
        with contextlib.suppress(OSError):  # its process has ended, or left the lab
            await nanny.rpc(nanny.worker_address).run(function=dumps(finish_job))
        await self._restart(device, nanny)

    async def _restart(self, device: Device, nanny: Nanny) -> None:
        """Start the process of a device anew, unless it ended meanwhile."""
        if nanny in self._nannies.values():
            del self._nannies[device.identity]
            await nanny.close()
            await self._start(device)

    def _carry_out_actions(self) -> frozenset[str]:
        """Carry out what persons did with devices, and return the identities of those to check now."""
        to_check = set()
        for identity, device in self._devices.items():
            for file, action in list_actions(self.settings.cache_dir, device):
                if action.action is PoolAction.CHECK and device.platform not in WITHOUT_SHELL:
                    to_check.add(identity)
                    continue  # its file is removed when the check has ended
                try:
                    self._carry_out(device, action)
                    file.unlink()
                except OSError as error:
                    self.say(f"! {device.name}: {action.action} failed: {error.strerror or error}")
        return frozenset(to_check)

    def _carry_out(self, device: Device, action: PersonalAction) -> None:
        """Withdraw a device or return it.

        Raises:
            OSError: That cannot be kept.
        """
        cache_dir = self.settings.cache_dir
        if action.action is PoolAction.WITHDRAW:
            write_withdrawal(cache_dir, device, action)
        elif action.action is PoolAction.RETURN:
            self.say(f"{device.name}: returned by {action.person}")
            if read_withdrawal(cache_dir, device) is not None:
                remove_withdrawal(cache_dir, device)
            elif not (health := self._read_health(device)).is_good:
                write_health(health_file(cache_dir, device), health.accept(time.time()))

    def _begin_checks(self, wanted: Collection[str]) -> None:
        """Begin the checks that are due or wanted, and forget those that ended."""
        self._checking = {identity: check for identity, check in self._checking.items() if not check.done()}
        for identity, nanny in self._nannies.items():
            if identity in self._checking or identity in self._moving:
                continue
            if identity in wanted or self._is_due(identity):
                check = self._check(self._devices[identity], nanny)
                self._checking[identity] = asyncio.create_task(check)

    def _is_checked(self, device: Device) -> bool:
        return self.check_every_s is not None and device.platform not in WITHOUT_SHELL

    def _is_due(self, identity: str) -> bool:
        """Return whether to check a device, by the clock of the day, and never in a loop, wherever that jumps to."""
        device, every_s = self._devices[identity], self.check_every_s or 0.0
        if not self._is_checked(device) or read_withdrawal(self.settings.cache_dir, device) is not None:
            return False
        if quiet_until(self.quiet_hours, datetime.now()) is not None:  # noqa: DTZ005 - local time, as on the wall
            return False
        last = self._checked_at.get(identity)
        if last is not None and asyncio.get_running_loop().time() - last < min(every_s, _LEAST_S):
            return False
        return self._read_health(device).is_due(time.time(), every_s)

    def _read_health(self, device: Device) -> DeviceHealth:
        health, problem = read_health(health_file(self.settings.cache_dir, device))
        if problem:
            self.say(f"! {device.name}: {problem}")
        return health

    async def _check(self, device: Device, nanny: Nanny) -> None:
        """Check a device in its process, and let it into the pool or take it out of that."""
        before = self._read_health(device)
        self.say(f"{device.name}: its health is checked")
        try:
            health = await self._measure_health(device, nanny, before)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - its process ended, or the disk is full: it stays as it was
            self.say(f"! {device.name} could not be checked: {type(error).__name__}: {error}")
            health = before
        self._checked_at[device.identity] = asyncio.get_running_loop().time()
        self._forget_wanted_check(device)
        if health is before:
            return
        outcome = f"out of the pool: {health.reason}" if self._is_checked(device) else f"bad: {health.reason}"
        self.say(f"{device.name}: " + (outcome if health.reason else "healthy"))
        if not health.is_good and before.is_good:
            for doubt in health.doubts(device, self._class_of(device)):
                if doubt.since == health.last_good:
                    self.say(f"! {doubt.note.message}: its results since then are in doubt")
        if (self._explain_absence(device) is None) is not self._in_pool[device.identity]:
            await self._restart(device, nanny)  # at once: what began since would be measured in vain

    async def _measure_health(self, device: Device, nanny: Nanny, before: DeviceHealth) -> DeviceHealth:
        """Return the health of a device after a check; as it was where the device is not there."""
        from distributed.protocol.pickle import dumps  # noqa: PLC0415 - an extra

        job = await asyncio.to_thread(reference_job, self.settings)
        process = nanny.rpc(nanny.worker_address)
        answer = await process.run(function=dumps(check_health), args=dumps((job.model_dump_json(),)))
        report = JobReport.model_validate_json(str(answer.get("result"))).report
        if report is None:
            self.say(f"! {device.name} is not there: it was not checked")
            return before
        health = before.with_check(judge(report.result, before, time.time()))
        write_health(health_file(self.settings.cache_dir, device), health)
        return health

    def _forget_wanted_check(self, device: Device) -> None:
        """Remove what persons left who wanted a check."""
        for file, action in list_actions(self.settings.cache_dir, device):
            if action.action is PoolAction.CHECK:
                with contextlib.suppress(OSError):
                    file.unlink()

    def _find_devices(self) -> Sequence[Device]:
        devices: list[Device] = []
        for name in self.platforms:
            try:
                devices += plugins.platform(name, self.settings).devices()
            except HarnessError as error:
                self.say(f"! {name}: {error.message}")
        return [device for device in devices if not self.names or not device.names.isdisjoint(self.names)]

    def _class_of(self, device: Device) -> str:
        return slug(self.device_class) if self.device_class else class_of(device)


def _has_ended(nanny: Nanny) -> bool:
    from distributed.core import Status  # noqa: PLC0415 - an extra

    return nanny.status in {Status.closed, Status.failed, Status.closing, Status.closing_gracefully}


async def _unless(stop: asyncio.Event, action: Coroutine[None, None, None]) -> None:
    """Do something until it is done, or cancel it when a signal ends everything: a scheduler may be waited for."""
    doing, stopping = asyncio.create_task(action), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({doing, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        if not doing.done():
            doing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await doing


def _scratch(settings: Settings) -> Path:
    folder = settings.cache_dir / "lab" / "scratch"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
