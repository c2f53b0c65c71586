"""Checks that the sessions of every platform share: staged files stay as they were, programs and CPUs exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from harness.core.command import Completed
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, EnvironmentProblem


class FileStamp(NamedTuple):
    """Facts about a file that change with its content."""

    size_bytes: int
    mtime_ns: int
    inode: int

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the stamp of a file.

        Raises:
            OSError: It cannot be read.
        """
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


def describe_end(completed: Completed) -> str:
    """Return a clause about how a program ended."""
    return "it ended well" if completed.ok else f"it {completed.describe()}"


def changed_input(name: str, program_end: str) -> BenchmarkFailed:
    """Return the error of a staged file that changed while a program used it.

    Args:
        name: The file.
        program_end: Clause about the end of that program (`describe_end`).
    """
    return BenchmarkFailed(
        f"{name} was changed while a program used it ({program_end}): it is unknown what was measured",
        hint="let the program write elsewhere ({TGTDIR}), or give it a copy of its own",
    )


def missing_program(path: Path) -> EnvironmentProblem:
    """Return the error of a program that does not exist."""
    return EnvironmentProblem(f"no such program: {path}", hint="check --program, or delete the cached build")


def check_cpus(requested: Iterable[int], usable: Sequence[int], where: str) -> tuple[int, ...]:
    """Return the requested CPUs in ascending order.

    Args:
        requested: Their numbers.
        usable: CPUs that exist and may be used.
        where: Place for the message, for example "on the phone".

    Raises:
        BenchmarkUnsupported: One of them is not usable; the hint lists those that are.
    """
    missing = sorted(set(requested) - set(usable))
    if missing:
        raise BenchmarkUnsupported(
            f"CPU {', '.join(map(str, missing))} does not exist {where} or may not be used",
            hint=f"CPUs that may be used: {', '.join(map(str, usable))}",
        )
    return tuple(sorted(set(requested)))
