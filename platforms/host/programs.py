"""Check that this machine can start a program, because the tools that start it do not report that.

`taskset` and `setpriv` start programs with `execvp`, which hands files that the kernel refuses to `/bin/sh` (exec(3),
on ENOEXEC). The shell then runs any text as a script, and finds syntax errors in machine code.
"""

from __future__ import annotations

import contextlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple

from harness import shell
from harness.core.command import Command
from harness.core.errors import BenchmarkFailed, EnvironmentProblem

_HEADER_BYTES: Final = 64
_MACHINE_END: Final = 20
"""Size of an ELF header, and the end of its field `e_machine` (elf(5))."""
_LINE_BYTES: Final = 256
"""What the kernel reads of a script (`BINPRM_BUF_SIZE`, linux/binfmts.h)."""
_LITTLE_ENDIAN: Final = 1
_EXECUTABLE_TYPES: Final = frozenset({2, 3})
"""`e_type` of executables and of position-independent ones."""
_MACHINES: Final = {
    3: "x86",
    8: "MIPS",
    21: "64-bit PowerPC",
    22: "S/390",
    40: "32-bit ARM",
    62: "x86-64",
    164: "Hexagon",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}
"""Names for `e_machine` (linux/elf-em.h)."""
_PREDECESSORS: Final = {62: 3, 183: 40}
"""Machines whose kernels start programs of their 32-bit predecessor too."""
_PROBE_S: Final = 10.0


class _Elf(NamedTuple):
    """Fields of an ELF header."""

    type: int
    machine: int

    @property
    def machine_name(self) -> str:
        return _MACHINES.get(self.machine, f"machine {self.machine} of the ELF format")


def check_program(path: Path, scratch: Path) -> None:
    """Check that the kernel would start a file itself. Only on Linux; a file that cannot be read passes.

    Args:
        path: The program.
        scratch: Folder for a temporary file of a few bytes.

    Raises:
        BenchmarkFailed: It is no program, or one for another machine.
    """
    ours = _machine()
    head = _head(path)
    if head is not None and head.startswith(b"#!") and ours is not None:
        _check_interpreter(path)
    if ours is None or head is None or head.startswith(b"#!"):
        return
    elf = _elf(head)
    if elf is None or elf.type not in _EXECUTABLE_TYPES:
        reason = "it begins neither as ELF nor with #!" if elf is None else "it is an object file or a core dump"
        raise BenchmarkFailed(
            f"{path} is no program: {reason}",
            hint="name the program itself; a script names its interpreter in the first line, as in #!/bin/sh",
        )
    if elf.machine in (ours.machine, _PREDECESSORS.get(ours.machine)) or _is_emulated(head, scratch / "probe"):
        return
    raise BenchmarkFailed(
        f"{path} is a program for {elf.machine_name}, and this machine is {ours.machine_name}",
        hint="build it for this machine, or name its platform (--platform)",
    )


def _check_interpreter(script: Path) -> None:
    """Check that the interpreter of a script exists: the kernel's error for one that does not is about the script.

    Raises:
        BenchmarkFailed: It does not.
    """
    with script.open("rb") as content:
        line, end, _ = content.read(_LINE_BYTES).partition(b"\n")
    words = line[2:].strip(b" \t").replace(b"\t", b" ").split(b" ")
    interpreter = Path(os.fsdecode(words[0]))
    if not end or not interpreter.is_absolute() or not _is_missing(interpreter):
        return
    if interpreter.name.endswith("\r"):
        raise BenchmarkFailed(
            f"{script} cannot start: its lines end with a carriage return, which belongs to its interpreter's name",
            hint="write the script with line ends of Unix: `sed -i 's/\\r$//' FILE`",
        )
    raise BenchmarkFailed(
        f"{script} cannot start: there is no {interpreter}, the interpreter in its first line",
        hint="install it, or name another in the first line, as in #!/bin/sh",
    )


def _is_missing(file: Path) -> bool:
    try:
        file.stat()
    except FileNotFoundError:
        return True
    except OSError:  # of a folder that others may read
        return False
    return False


@cache
def _machine() -> _Elf | None:
    """Return the header of programs of this machine; None where that is unknown."""
    head = _head(Path("/proc/self/exe")) if sys.platform == "linux" else None
    return None if head is None else _elf(head)


def _head(path: Path) -> bytes | None:
    try:
        with path.open("rb") as content:
            return content.read(_HEADER_BYTES)
    except OSError:
        return None


def _elf(head: bytes) -> _Elf | None:
    if not head.startswith(b"\x7fELF") or len(head) < _MACHINE_END:
        return None
    order: Literal["little", "big"] = "little" if head[5] == _LITTLE_ENDIAN else "big"
    return _Elf(int.from_bytes(head[16:18], order), int.from_bytes(head[18:_MACHINE_END], order))


def _is_emulated(head: bytes, probe: Path) -> bool:
    """Return whether an emulator is registered with the kernel (binfmt_misc) for programs with this header.

    Containers cannot list them, though they apply there too, so the kernel is asked to start the bare header.
    """
    probe.write_bytes(head)
    probe.chmod(0o755)
    try:
        with contextlib.suppress(EnvironmentProblem):
            shell.run(Command((str(probe),), timeout_s=_PROBE_S))
            return True
        return False
    finally:
        probe.unlink()
