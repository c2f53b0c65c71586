"""What is expected of frameworks whose runners take turns (`harness.core.protocols.TurnTaking`)."""

from __future__ import annotations

from typing import Final

from harness import shell
from harness.core.command import Command, Completed
from harness.core.protocols import TurnTaking
from harness.testing.contract import expect

ITERATIONS: Final = (3, 2)
"""Of each turn."""


def expect_same_start(framework: TurnTaking, other: TurnTaking, command: Command) -> Command:
    """It depends on the command alone, and changes neither where the runner is nor how it is held. Returns it."""
    start = framework.turns(command)
    expect(
        start == framework.turns(command) == other.turns(command), "the same start for turns is composed differently"
    )
    expect(start.argv[0] == command.argv[0], f"it starts {start.argv[0]} instead of {command.argv[0]}")
    held = [(one.threads, one.cpus, one.timeout_s, one.cwd) for one in (start, command)]
    expect(held[0] == held[1], f"threads, CPUs, limit and folder {held[1]} became {held[0]}")
    lost = dict(command.env.items() - start.env.items())
    expect(not lost, f"variables of the command are lost: {sorted(lost)}")
    return start


def take_turns(start: Command, *, told_to_end: bool) -> Completed:
    """A conversation with its runner, as a comparison has it.

    Args:
        start: Its start for taking turns.
        told_to_end: Whether it is told `end`, or only its input ends.
    """
    with shell.start(start) as running:
        expect(running.wait_for_line("ready"), f"it did not say `ready`: {start.argv}")
        for iterations in ITERATIONS:
            running.write_line(f"run {iterations}")
            expect(
                running.wait_for_line(f"done {iterations}"), f"it did not say `done {iterations}` to `run {iterations}`"
            )
        if told_to_end:
            running.write_line("end")
        completed = running.finish()
    expect(completed.ok, f"after its turns it {completed.describe()}")
    wanted = ["ready", *(f"done {iterations}" for iterations in ITERATIONS)]
    said = completed.stdout.splitlines()[: len(wanted)]
    expect(said == wanted, f"before its end it was to say {wanted} and nothing else, and said {said}")
    return completed
