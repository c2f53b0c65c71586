"""What steadies measurements on this machine: tools, governor, turbo, how busy it is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.core.protocols import Finding
from platforms.host.placement import look

_CPU = Path("/sys/devices/system/cpu")
_BUSY = 0.2
"""Share of a CPU's time above which another program visibly runs on it."""


def findings(cpus: Sequence[int]) -> tuple[Finding, ...]:
    """Everything that is worth knowing before measuring. Nothing here stops a measurement."""
    return (*_tools(), *_frequency(), _load(), _cpus(cpus))


def _tools() -> Iterator[Finding]:
    purposes = {"taskset": "pins programs to CPUs", "setpriv": "ends programs with a killed harness"}
    for tool, purpose in purposes.items():
        path = shutil.which(tool)
        yield Finding(tool, True if path else None, path or f"missing: it {purpose}", "apt install util-linux")


def _frequency() -> Iterator[Finding]:
    governor = _read(_CPU / "cpu0" / "cpufreq" / "scaling_governor")
    if governor is None:
        yield Finding("governor", None, "not to be seen (a virtual machine?)", "")
    else:
        steady = governor == "performance"
        yield Finding("governor", steady or None, governor, "cpupower frequency-set --governor performance")
    boost = _read(_CPU / "cpufreq" / "boost")
    if boost is not None:
        yield Finding("turbo", boost == "0" or None, "off" if boost == "0" else "on: clocks depend on heat", "")


def _load() -> Finding:
    busy = {cpu.number: cpu.busy for cpu in look().cpus}
    occupied = [f"CPU {number}: {share:.0%}" for number, share in sorted(busy.items()) if share > _BUSY]
    found = f"in use now: {', '.join(occupied)}" if occupied else "idle"
    return Finding("load", None if occupied else True, found, "close other programs before measuring")


def _cpus(cpus: Sequence[int]) -> Finding:
    enough = len(cpus) > 1
    found = f"{len(cpus)} may be used"
    return Finding("CPUs", enough or None, found, "with a single CPU the harness itself disturbs what it measures")


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
