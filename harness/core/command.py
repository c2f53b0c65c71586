"""Commands to start, and what became of them."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.core.values import Value


class App(Value):
    """An installed application that is started in place of a program.

    Attributes:
        package: Its name, for example `org.pytorch.minibench`.
        activity: What of it is started, for example `.BenchmarkActivity`.
        result: File in its own folder that it writes at its end, and that then counts as its standard output; empty for
            an app that says `BENCHMARK_DONE` in the system's log, whose lines there count (FAI-PEP's protocol).
    """

    package: str
    activity: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """One program start. Never a shell line: arguments arrive as they are.

    Attributes:
        argv: Program and arguments, as paths on the device where it runs. For an app its extras, as name and value in
            turn: whole numbers, decimal numbers, `true` and `false` are given as such.
        env: Variables added to the environment of this one start.
        timeout_s: Wall-clock limit; the whole process group is ended on expiry.
        threads: How many CPUs it may use; None leaves placement alone.
        cpus: The CPUs to pin it to; None leaves the choice to the session, `()` forbids pinning.
        cwd: Working directory; None inherits.
        app: The application to start instead of a program.
        energy: Whether its energy is wanted too.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 300.0
    threads: int | None = None
    cpus: tuple[int, ...] | None = None
    cwd: Path | None = None
    app: App | None = None
    energy: bool = False

    def replace_argv(self, argv: tuple[str, ...]) -> Command:
        """The same start with other words."""
        return replace(self, argv=argv)


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that ended, one way or another.

    Attributes:
        command: What was started, with every prefix (pinning and the like).
        exit_code: Exit status; None when a signal ended it.
        signal: Number of the signal that ended it.
        timed_out: Whether we ended it because its time was over.
        flooded: Whether we ended it because it wrote more than is kept.
        stdout: Everything it wrote there.
        stderr: Everything it wrote there.
        wall_s: Seconds from start to end.
        cpu_s: CPU seconds of the process and its waited-for children.
        peak_memory_bytes: Peak resident memory of its largest process; None where it cannot be told.
        cpus: The CPUs it was pinned to, if any.
        files: Files fetched after it ended, by key.
        energy_mj: Millijoules that were spent from its start to its end, by what measured them: `battery`,
            `rail S2M_VDD_CPUCL2`, `package-0`. Of everything that these feed, not of this program alone. Empty where
            it was not asked for, or cannot be told.
        energy_unavailable: Why its energy, which was asked for, cannot be told.
    """

    command: Command
    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    flooded: bool = False
    stdout: str = ""
    stderr: str = ""
    wall_s: float = 0.0
    cpu_s: float | None = None
    peak_memory_bytes: int | None = None
    cpus: tuple[int, ...] | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    energy_mj: Mapping[str, float] = field(default_factory=dict)
    energy_unavailable: str | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with status 0."""
        return self.exit_code == 0 and not self.timed_out

    def describe(self) -> str:
        """In words why it is not ok, ending with the last thing it said."""
        if self.timed_out:
            fate = f"did not end within {self.command.timeout_s:g} s and was killed"
        elif self.flooded:
            fate = "was killed because it said too much"
        elif self.signal is not None:
            fate = f"was ended by {_signal_name(self.signal)}"
            if self.signal == signal.SIGKILL:
                fate += " (often the kernel's out-of-memory killer: see `dmesg`)"
        else:
            fate = f"ended with exit status {self.exit_code}"
        said = _last_line(self.stderr) or _last_line(self.stdout)
        return fate + (f": {said}" if said else " and said nothing")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""
