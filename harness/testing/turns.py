"""Expectations of frameworks whose runners can be interleaved (`harness.core.protocols.Interleavable`)."""

from __future__ import annotations

from typing import Final

from harness import shell
from harness.core.command import Command, Completed
from harness.core.protocols import Interleavable
from harness.testing.contract import expect

ITERATIONS: Final = (3, 2)
"""Iterations of each batch."""


def expect_same_start(framework: Interleavable, other: Interleavable, command: Command) -> Command:
    """Return the interleaved command; it depends on the command alone and keeps its program and limits."""
    start = framework.interleaved_command(command)
    expect(
        start == framework.interleaved_command(command) == other.interleaved_command(command),
        "the same interleaved command is composed differently",
    )
    expect(start.argv[0] == command.argv[0], f"it starts {start.argv[0]} instead of {command.argv[0]}")
    held = [(one.threads, one.cpus, one.timeout_s, one.cwd) for one in (start, command)]
    expect(held[0] == held[1], f"threads, CPUs, limit and folder {held[1]} became {held[0]}")
    lost = dict(command.env.items() - start.env.items())
    expect(not lost, f"variables of the command are lost: {sorted(lost)}")
    return start


def run_in_batches(start: Command, *, send_end: bool) -> Completed:
    """Run the batches of a comparison with one runner.

    Args:
        start: Its interleaved command.
        send_end: Whether `end` is sent, or its input merely closed.
    """
    with shell.start(start) as running:
        expect(running.wait_for_line("ready"), f"it did not say `ready`: {start.argv}")
        for iterations in ITERATIONS:
            running.write_line(f"run {iterations}")
            expect(
                running.wait_for_line(f"done {iterations}"), f"it did not say `done {iterations}` to `run {iterations}`"
            )
        if send_end:
            running.write_line("end")
        completed = running.finish()
    expect(completed.ok, f"after its batches it {completed.describe()}")
    wanted = ["ready", *(f"done {iterations}" for iterations in ITERATIONS)]
    said = completed.stdout.splitlines()[: len(wanted)]
    expect(said == wanted, f"before its end it was to say {wanted} and nothing else, and said {said}")
    return completed
