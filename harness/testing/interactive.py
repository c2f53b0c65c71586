"""Contract of sessions that run interactive programs (`harness.core.protocols.Interactive`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from harness.core.command import Command
from harness.core.protocols import Interactive
from harness.testing.contract import expect

_ECHO = 'echo noise; echo ready; while read word; do [ "$word" = end ] && break; echo "heard $word"; done'
_LIMIT_S = 3.0
"""Limit of a program that idles for longer than that; far more than starting it takes on a busy machine."""
_END_S = 10.0
"""How long a program that nobody waits for any more may take to end: over a cable it hears of that a moment later."""


class Script(Protocol):
    """Makes the start of a shell script."""

    def __call__(self, text: str, *arguments: str, timeout_s: float = ...) -> Command:
        """A command that runs it with arguments."""


def expect_conversation(session: Interactive, script: Script) -> None:
    """Lines arrive whole in both directions, in order, and at once; what was written is kept, heard or not."""
    with session.start(script(f"{_ECHO}; echo over >&2; exit 3")) as live:
        expect(live.wait_for_line("ready"), "a line that the program wrote was not heard")
        for word in ("one", "two"):
            live.write_line(word)
            expect(live.wait_for_line(f"heard {word}"), f"the program did not answer to {word!r}, or was not heard")
        live.write_line("end")
        completed = live.finish()
    expect(completed.exit_code == 3, f"exit code {completed.exit_code} instead of 3")
    said = completed.stdout.split("\n")
    expect(said == ["noise", "ready", "heard one", "heard two", ""], f"what was heard is not all there: {said}")
    expect(completed.stderr.strip() == "over", f"standard error is {completed.stderr!r}")


def expect_company(session: Interactive, script: Script) -> None:
    """Two programs live at the same time, and each hears what it is told."""
    with session.start(script(_ECHO)) as first, session.start(script(_ECHO)) as second:
        expect(first.wait_for_line("ready") and second.wait_for_line("ready"), "one of two programs did not begin")
        for word in ("one", "two"):
            for live in (second, first):
                live.write_line(word)
                expect(live.wait_for_line(f"heard {word}"), "one of two programs did not answer while the other lived")
        both = (first.finish(), second.finish())
    expect(all(completed.ok for completed in both), f"they ended: {[completed.describe() for completed in both]}")


def expect_end_to_be_told(session: Interactive, script: Script) -> None:
    """Nobody waits for the line of a program that has gone, and telling it something is no error."""
    with session.start(script("echo other; exit 4")) as live:
        expect(not live.wait_for_line("never"), "a line was heard that nobody wrote")
        live.write_line("are you there")
        completed = live.finish()
    expect(completed.exit_code == 4, f"exit code {completed.exit_code} instead of 4")
    expect(completed.stdout.strip() == "other", "what it wrote before its end is lost")


def expect_patience(session: Interactive, script: Script) -> None:
    """The clock of a program runs while it is waited for, and stands while it idles."""
    with session.start(script(_ECHO, timeout_s=_LIMIT_S)) as live:
        expect(live.wait_for_line("ready"), "the program did not begin")
        time.sleep(_LIMIT_S + 0.2)
        live.write_line("one")
        expect(live.wait_for_line("heard one"), "it was ended for idling")
        expect(not live.finish().timed_out, "it counts as timed out although it only idled")
    with session.start(script("echo begun; sleep 60", timeout_s=_LIMIT_S)) as live:
        started = time.monotonic()
        expect(not live.wait_for_line("never"), "a line was heard that nobody wrote")
        completed = live.finish()
    expect(completed.timed_out and not completed.ok, "it did not count as timed out")
    expect("begun" in completed.stdout, "what it wrote before it was ended is lost")
    expect(time.monotonic() - started < 30, "it was not ended in time")


def expect_no_survivors(session: Interactive, script: Script, size: Callable[[str], int]) -> None:
    """A program that nobody finished is ended with its context, and its children with it.

    Args:
        session: The held device.
        script: Makes commands for it.
        size: Bytes of a file on the device, below 0 when there is none.
    """
    mark = f"{session.stage({}, {}).folder}/alive"
    loop = '(while :; do echo x >> "$1"; sleep 0.1; done) & echo ready; wait'
    with session.start(script(loop, mark)) as live:
        expect(live.wait_for_line("ready"), "the program did not begin")
        deadline = time.monotonic() + 30
        while size(mark) <= 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        expect(size(mark) > 0, "its child never ran: this check proves nothing")
    deadline = time.monotonic() + _END_S
    while (grown := _grows(lambda: size(mark))) and time.monotonic() < deadline:
        pass
    expect(not grown, "its child still runs")


def _grows(size: Callable[[], int]) -> bool:
    before = size()
    time.sleep(0.5)
    return size() != before
