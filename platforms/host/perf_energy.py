"""Energy of this machine's processors by the kernel's events of RAPL's counters, which `perf stat` reads.

`kernel.perf_event_paranoid` may let users read them where only root may read the files of powercap.
Source: `perf list` (`power/energy-pkg/`, `power/energy-ram/`), perf-stat(1) on `-x` and `--all-cpus`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from harness.core.command import Command, Completed

EVENTS: Final = Path("/sys/bus/event_source/devices/power/events")
_PARANOID: Final = Path("/proc/sys/kernel/perf_event_paranoid")
_COUNTED: Final = {"energy-pkg": "package", "energy-ram": "dram"}
"""Events that add up, with the names of their meters."""


def is_readable(events: Path = EVENTS, paranoid: Path = _PARANOID) -> bool:
    """Return whether `perf` exists, the processors have the event, and this user may read it on all CPUs."""
    if not (events / "energy-pkg").is_file() or shutil.which("perf") is None:
        return False
    try:
        return (os.geteuid() if hasattr(os, "geteuid") else -1) == 0 or int(paranoid.read_text()) <= 0
    except (OSError, ValueError, AttributeError):
        return False


def measure(command: Command, run: Callable[[Command], Completed], events: Path = EVENTS) -> Completed:
    """Run a program under `perf stat` and return its result, with the energy of all processors meanwhile.

    Args:
        command: The program, with what pins it.
        run: Runs a program to its end.
        events: Folder of the kernel's events.
    """
    names = [name for name in _COUNTED if (events / name).is_file()]
    with tempfile.TemporaryDirectory(prefix="harness-perf-") as folder:
        output = Path(folder, "energy.csv")
        words = ("perf", "stat", "--all-cpus", "-x", ";", "-o", str(output))
        chosen = (word for name in names for word in ("-e", f"power/{name}/"))
        completed = replace(run(command.replace_argv((*words, *chosen, "--", *command.argv))), command=command)
        text = ""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = output.read_text()
    energy_mj = dict(_parse(text))
    if not energy_mj:
        return replace(completed, energy_unavailable="`perf` counted no energy")
    return replace(completed, energy_mj=energy_mj)


def _parse(text: str) -> Iterator[tuple[str, float]]:
    """Yield the millijoules of each meter: lines are `12.34;Joules;power/energy-pkg/;...`, or `<not counted>;...`."""
    for line in text.splitlines():
        fields = line.split(";")
        name = fields[2].strip().strip("/").removeprefix("power/") if len(fields) > 2 else ""
        if name in _COUNTED and fields[1] == "Joules":
            with contextlib.suppress(ValueError):
                yield _COUNTED[name], float(fields[0]) * 1000
