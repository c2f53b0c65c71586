"""Commands to start, and how they ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

if TYPE_CHECKING:  # command lines are parsed before pydantic is loaded (docs/decisions/0047)
    from harness.core.app import App
    from harness.core.note import Note

SIGKILL: Final = 9
"""Number of that signal, which Windows does not have; phones and programs do."""

_OBSERVATION: Final = re.compile(r"(?:PyTorch|Caffe2)Observer\s*\{")
"""Beginning of a line that reports what was measured, and no cause of a failure."""


class Command(Struct, frozen=True):
    """Start of one program. Never a shell line: arguments arrive unchanged.

    Attributes:
        argv: Program and arguments, as paths on the device where it runs. For an app its extras, names and values
            alternating: whole numbers, decimal numbers, `true` and `false` are passed with their types.
        env: Variables added to the environment of this one start.
        timeout_s: Wall-clock limit; the whole process group is killed on expiry.
        threads: Number of CPUs it may use; None leaves placement alone.
        cpus: CPUs to pin it to; None leaves the choice to the session, `()` forbids pinning.
        cwd: Working directory; None inherits.
        app: Application to start instead of a program.
        energy: Whether to measure its energy, too.
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
        """Return the same start with other words."""
        return replace(self, argv=argv)


class Completed(Struct, frozen=True):
    """Program that has ended, in whatever way.

    Attributes:
        command: Command that was started, with every prefix (pinning and the like).
        exit_code: Exit status; None when a signal ended it.
        signal: Number of the signal that ended it.
        timed_out: Whether the harness killed it because its time was over.
        flooded: Whether the harness killed it because it wrote more than is kept.
        stdout: Everything it wrote to standard output.
        stderr: Everything it wrote to standard error.
        wall_s: Seconds from start to end.
        cpu_s: CPU seconds of the process and its waited-for children.
        peak_memory_bytes: Peak resident memory of its largest process; None where it is unknown.
        cpus: CPUs it was pinned to, if any.
        files: Files fetched after it ended, by key.
        energy_mj: Millijoules spent from its start to its end, by meter: `battery`, `rail S2M_VDD_CPUCL2`, `package-0`.
            Each meter counts everything that it feeds, not this program alone. Empty where energy was not wanted, or
            is unknown.
        energy_unavailable: Reason why its energy, which was wanted, is unknown.
        notes: What a reader of its numbers must know of the device, as it was meanwhile.
        spin_ms: Milliseconds of fixed work on its first CPU, the lower of right before and right after it; None where
            the device does not time that.
        best_spin_ms: The least that this work has taken on such a CPU of the device.
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
    notes: tuple[Note, ...] = ()
    spin_ms: float | None = None
    best_spin_ms: float | None = None

    @property
    def ok(self) -> bool:
        """True if it ended by itself, with exit status 0."""
        return self.exit_code == 0 and not self.timed_out

    def describe(self) -> str:
        """Return in words why it is not ok, ending with the last line that it wrote, but for what it measured."""
        if self.timed_out:
            ending = f"did not end within {self.command.timeout_s:g} s and was killed"
        elif self.flooded:
            ending = "was killed because it printed too much"
        elif self.signal is not None:
            ending = f"was ended by {_signal_name(self.signal)}"
            if self.signal == SIGKILL:
                ending += " (often the kernel's out-of-memory killer: see `dmesg`)"
        else:
            ending = f"ended with exit status {self.exit_code}"
        last_line = _last_line(self.stderr) or _last_line(self.stdout)
        if last_line:
            return f"{ending}: {last_line}"
        return f"{ending} without {'a message' if self.stdout or self.stderr else 'output'}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _OBSERVATION.search(line)]
    return lines[-1][:500] if lines else ""
