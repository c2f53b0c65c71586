"""The platform `host`: one device, this machine, used by one job at a time."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from harness.core.percent import in_percent
from harness.core.power import PowerMethod
from harness.core.protocols import Finding, Progress
from platforms import machine_lock
from platforms.host import placement
from platforms.host.energy import RaplMeter
from platforms.host.identity import allowed_cpus, describe_host, read_text
from platforms.host.session import HostSession, session_folder
from platforms.host.speed import SpeedGauge

_CPU = Path("/sys/devices/system/cpu")
_BUSY = 0.2
"""Share of a CPU's time above which another program visibly runs on it."""


class Host:
    """This machine.

    Args:
        work: Folder for session folders and the generated identity.
        name: Name to report instead of the host name.
        cpus: CPUs to choose from; None means all that are allowed, `()` forbids pinning.
        lock_timeout_s: How long to wait while another job measures.
        keep: Leave session folders for a person to inspect.
        lock_path: Lock file; None takes the machine's.
        remarks: What to say when it is opened.
        meter: Meter of the energy of its processors.
    """

    name = "host"
    runs_on_this_machine: Literal[True] = True
    device_options = ("platform_sig",)

    def __init__(
        self,
        work: Path,
        *,
        name: str | None = None,
        cpus: tuple[int, ...] | None = None,
        lock_timeout_s: float = 600.0,
        keep: bool = False,
        lock_path: Path | None = None,
        remarks: Sequence[str] = (),
        meter: RaplMeter | None = None,
    ) -> None:
        self._meter = meter or RaplMeter()
        self._remarks = remarks
        self._work = work
        self._display_name = name
        self._cpus = cpus
        self._lock_timeout_s = lock_timeout_s
        self._keep = keep
        self._lock_path = lock_path or machine_lock.lock_path("host")

    def devices(self) -> Sequence[Device]:
        """Return this machine. It has only the CPUs to choose from."""
        return (describe_host(self._display_name, self._work / "identity", self._cpus or ()),)

    def find_meter_obstacle(self, device: Device, method: PowerMethod | None) -> str | None:  # noqa: ARG002 - there is one
        """Return why the energy of its processors cannot be metered."""
        return self._meter.find_obstacle(method)

    def diagnose(self) -> Sequence[Finding]:
        """Check what steadies measurements on this machine. Nothing here stops a measurement."""
        return (*_diagnose_tools(), *_diagnose_frequency(), _diagnose_load(), _diagnose_cpus(allowed_cpus()))

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[HostSession]:
        """Lock the machine, rank its CPUs, and give the session a folder of its own."""
        for remark in self._remarks:
            progress.say(remark)
        with contextlib.ExitStack() as stack:
            yield self._open_locked(device, progress, stack)

    def _open_locked(self, device: Device, progress: Progress, stack: contextlib.ExitStack) -> HostSession:
        try:
            stack.enter_context(machine_lock.hold(self._lock_path, self._lock_timeout_s, progress))
            folder = stack.enter_context(session_folder(self._work, keep=self._keep))
            ranked = placement.rank_cpus(self._cpus)
            is_placed = self._pins and placement.can_pin()
            attributes = {**device.attributes, "placement": ranked.describe()} if is_placed else device.attributes
            speed = SpeedGauge(self._work / "speed.json", device.kind or "")
            stack.callback(speed.save)
            return HostSession(
                device.model_copy(update={"attributes": attributes}),
                folder,
                ranked,
                pin=self._pins,
                meter=self._meter,
                speed=speed,
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot prepare this machine: {error.filename or self._work}: {error.strerror or error}",
                hint="check space and permissions, or use another --cache-dir",
            ) from error
        except BenchmarkUnsupported as error:  # the CPUs existed when the platform was created
            raise EnvironmentProblem(error.message, hint=error.hint) from error

    @property
    def _pins(self) -> bool:
        return self._cpus != ()


def _diagnose_tools() -> Iterator[Finding]:
    if sys.platform != "linux":
        text = "by the system's own call" if placement.can_pin() else "this system cannot pin programs to CPUs"
        yield Finding("pinning", placement.can_pin() or None, text, "")
        return
    purposes = {"taskset": "pins programs to CPUs", "setpriv": "ends programs with a killed harness"}
    for tool, purpose in purposes.items():
        path = shutil.which(tool)
        yield Finding(tool, True if path else None, path or f"missing: it {purpose}", "apt install util-linux")


def _diagnose_frequency() -> Iterator[Finding]:
    governor = read_text(_CPU / "cpu0" / "cpufreq" / "scaling_governor")
    if governor is None:
        yield Finding("governor", None, "not visible (a virtual machine?)", "")
    else:
        steady = governor == "performance"
        yield Finding("governor", steady or None, governor, "cpupower frequency-set --governor performance")
    boost = read_text(_CPU / "cpufreq" / "boost")
    if boost is not None:
        yield Finding("turbo", boost == "0" or None, "off" if boost == "0" else "on: clocks depend on heat", "")


def _diagnose_load() -> Finding:
    busy = {cpu.number: cpu.busy for cpu in placement.rank_cpus().cpus}
    occupied = [f"CPU {number}: {in_percent(share)}" for number, share in sorted(busy.items()) if share > _BUSY]
    text = f"in use now: {', '.join(occupied)}" if occupied else "idle"
    return Finding("load", None if occupied else True, text, "close other programs before measuring")


def _diagnose_cpus(cpus: Sequence[int]) -> Finding:
    remedy = "with a single CPU the harness itself disturbs what it measures"
    return Finding("CPUs", len(cpus) > 1 or None, f"{len(cpus)} may be used", remedy)
