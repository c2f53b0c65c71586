"""Flags of upstream's programs, which use gflags: those that a program has, and a command line of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

from frameworks import command_line
from harness.core.benchmark import Benchmark
from harness.core.build import PREBUILT, Build
from harness.core.command import Command
from harness.core.commit import short_id
from harness.core.errors import BenchmarkUnsupported
from harness.files.programs import RUNNER


def find_flags(build: Build, name: str, known: Collection[str], needed: Collection[str]) -> frozenset[str] | None:
    """Return the flags of a build's runner, or None when it is another program.

    They are recorded by the recipe; for a program that the user gave, they are searched in its bytes, where gflags
    keeps each name as a text. A linker may keep it as the end of a longer one: a flag that is not found may be there.

    Args:
        build: The build.
        name: Value of the build's flag `runner` that names the program; `runner_flags` lists its flags.
        known: Flags to search for.
        needed: Those that only this program has together.
    """
    if build.flags.get("runner") == name:
        return frozenset(build.flags.get("runner_flags", " ".join(known)).split())
    program = build.programs.get(RUNNER)
    if build.source != PREBUILT or program is None:
        return None
    flags = _search(program, tuple(known))
    return flags if flags.issuperset(needed) else None


def compose_flags(
    benchmark: Benchmark,
    build: Build,
    files: Mapping[str, str],
    flags: Mapping[str, str],
    *,
    name: str,
    known: Collection[str],
) -> Command:
    """Compose the command line of a program.

    Args:
        benchmark: What to measure.
        build: The program.
        files: Path on the device by key.
        flags: Value of each flag.
        name: Its name for messages.
        known: Flags that it has.

    Raises:
        BenchmarkUnsupported: It lacks a flag, on which it would fail.
        BenchmarkFailed: The specification has an error.
    """
    for flag in flags:
        if flag not in known:
            raise BenchmarkUnsupported(
                f"the {name} of {short_id(build.commit)} has no --{flag}",
                hint="measure a later commit, or give `commands` that this program understands",
            )
    return Command(
        argv=(
            files[RUNNER],
            *(f"--{flag}={value}" for flag, value in flags.items()),
            *command_line.command_args(benchmark, files),
        ),
        env=command_line.environment(benchmark),
        timeout_s=benchmark.timeout_s,
        threads=benchmark.threads,
        cpus=benchmark.cpus,
    )


@cache
def _search(program: Path, known: tuple[str, ...]) -> frozenset[str]:
    try:
        content = program.read_bytes()
    except OSError:
        return frozenset()
    return frozenset(flag for flag in known if b"\0" + flag.encode() + b"\0" in content)
