"""Huge pages for the memory of programs that generate, so that no launch is fast or slow by the place of its pages.

A cache finds a line by bits of its physical address, and the kernel gives a program whatever pages of 4 KiB are free:
two launches of one program whose weights and context about fill the cache differ for as long as they live, and tokens
of a launch cannot average that out. In huge pages, of 2 MiB, these bits are the program's own (docs/decisions/0089).

The C library of Linux (glibc, from 2.35 on) asks for huge pages where a variable says so, and the kernel gives them as
far as it has any, unless its administrator forbids it. Others ignore the variable.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.device import Device
from harness.core.note import Note

VARIABLE: Final = "GLIBC_TUNABLES"
"""Name of the variable. A benchmark, or a caller of the harness, that sets it keeps its own value."""

HUGE_PAGES: Final = "glibc.malloc.hugetlb=1"
"""Its value."""


def request_huge_pages(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Return the commands with that variable; apps have no environment of their own."""
    return tuple(
        command
        if command.app is not None or VARIABLE in command.env or VARIABLE in os.environ
        else replace(command, env={**command.env, VARIABLE: HUGE_PAGES})
        for command in commands
    )


def note_huge_pages(benchmark: Benchmark, device: Device) -> tuple[Note, ...]:
    """Return the note that launches of both sides asked for huge pages, which those of a run do not."""
    is_kept = VARIABLE in benchmark.env or VARIABLE in os.environ
    if is_kept or benchmark.app is not None or "Linux" not in device.os:
        return ()
    message = f"both sides asked for huge pages ({VARIABLE}={HUGE_PAGES}): launches differ less so, and are faster"
    return (Note(code="huge_pages", message=message),)
