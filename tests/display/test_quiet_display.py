"""Quiet displays print warnings, and nothing else."""

from __future__ import annotations

import io

from harness.core.protocols import BoardRow, Display
from harness.core.verdict import Verdict
from harness.display import open_display


def test_a_quiet_display_prints_warnings_only() -> None:
    stream = io.StringIO()
    with open_display(stream, quiet=True) as shown:
        display: Display = shown
        display.say("building")
        with display.task("measuring", 2) as task:
            task.update(completed=1, text="half")
        with display.board("comparing", ("benchmark", "verdict")) as board:
            board.show([BoardRow(("a", "regression"), Verdict.REGRESSION)])
            board.update(0, lambda: BoardRow(("a", "no change"), Verdict.NO_CHANGE), is_decided=True)
        display.warn("✗ the phone is \x1b[2Jlost")
    assert stream.getvalue() == "✗ the phone is \N{REPLACEMENT CHARACTER}[2Jlost\n"


def test_other_displays_print_warnings_too() -> None:
    stream = io.StringIO()
    with open_display(stream) as shown:
        shown.say("building")
        shown.warn("✗ lost")
    assert stream.getvalue() == "building\n✗ lost\n"
