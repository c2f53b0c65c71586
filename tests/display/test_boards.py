"""Progress of comparisons: a board on a terminal, lines in a log."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from rich.console import Console, RenderableType

from harness.core.protocols import BoardRow
from harness.core.verdict import Verdict
from harness.display import open_display
from harness.display.live import LiveBoard, LiveDisplay
from harness.display.plain import PlainBoard, PlainDisplay, PlainTask

HEADER = ("benchmark", "pairs", "difference", "95 % interval", "evidence", "verdict")
EARLY = BoardRow(("m/a", "  1/100", "         ", " " * 16, "  ░░░░░░░░", ""))
GOING = BoardRow(("m/a", " 12/100", " +2.89 %", "+1.52 … +4.26 %", "▼ ███░░░░░", ""))
FIGURES = (" 14/100", " +2.91 %", "+1.72 … +4.01 %", "▼ ████████")
DONE = BoardRow(("m/a", *FIGURES, "regression"), Verdict.REGRESSION)
SUSPECTED = BoardRow(("m/a", *FIGURES, "worse?"))
CRASHED = BoardRow(("m/b", "3", "", "", "", "crashed"), failed=True)


def _renamed(row: BoardRow, name: str) -> BoardRow:
    return replace(row, cells=(name, *row.cells[1:]))


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Rows:
    """Makes rows, and counts them."""

    def __init__(self) -> None:
        self.made = 0

    def making(self, row: BoardRow) -> Callable[[], BoardRow]:
        def make() -> BoardRow:
            self.made += 1
            return row

        return make


class _Task:
    """Remembers the last figures."""

    def __init__(self) -> None:
        self.figures: tuple[float | None, float | None, str | None] = (None, None, None)

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        self.figures = (completed, total, text)


class _Screen:
    """A board on a terminal of some size, and what stands on it."""

    def __init__(self, width: int, height: int = 24) -> None:
        self.console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
        self.task = _Task()
        self._drawn: RenderableType = ""
        self.clock = _Clock()
        self.times_drawn = 0
        self.board = LiveBoard(
            "comparing on vm", HEADER, console=self.console, task=self.task, redraw=self._keep, clock=self.clock
        )

    def _keep(self, drawn: RenderableType) -> None:
        self._drawn = drawn
        self.times_drawn += 1

    def show(self, *rows: BoardRow) -> list[str]:
        self.board.show(rows)
        return self.lines()

    def lines(self) -> list[str]:
        with self.console.capture() as captured:
            self.console.print(self._drawn)
        return [line.rstrip() for line in captured.get().splitlines()]


@pytest.mark.parametrize("width", [80, 100])
def test_names_are_cut_and_figures_are_not(width: int) -> None:
    name = "mobilenet_v2/mobilenet_v2-xnnpack_q8-batch-1-threads-4"
    lines = _Screen(width).show(_renamed(DONE, name))
    assert all(len(line) <= width for line in lines)
    assert all(cell.strip() in lines[2] for cell in DONE.cells[1:])
    assert lines[2].startswith(name[:12])
    assert "…  " in lines[2]


def test_nothing_jumps_while_pairs_come_in() -> None:
    screen = _Screen(100)
    places = []
    for row in (EARLY, GOING, DONE, EARLY):
        heading = screen.show(row, CRASHED)[1]
        places.append([heading.index(name) for name in HEADER])
    assert places[0] == places[1] == places[2] == places[3]


def test_rows_keep_their_places_when_they_are_decided() -> None:
    other = _renamed(GOING, "m/z")
    lines = _Screen(100).show(DONE, CRASHED, other)
    assert [line.split()[0] for line in lines[2:]] == ["m/a", "m/b", "m/z"]


def test_the_line_below_counts_what_is_decided() -> None:
    screen = _Screen(100)
    screen.show(GOING, SUSPECTED, CRASHED)
    assert screen.task.figures == (1, 3, "1 of 3 decided")


def test_on_a_low_terminal_what_is_still_open_is_shown() -> None:
    decided = [_renamed(DONE, f"m/{number}") for number in range(20)]
    lines = _Screen(100, height=14).show(*decided, GOING)
    assert len(lines) == 9
    assert lines[-2].startswith("m/a ")
    assert lines[-1] == "and 15 more"


def test_names_are_texts_and_no_markup() -> None:
    assert _Screen(100).show(_renamed(GOING, "[red]m/a"))[2].startswith("[red]m/a ")


@pytest.mark.parametrize(
    ("row", "colour"),
    [
        (DONE, "31"),
        (BoardRow(("m/a", *FIGURES, "improvement"), Verdict.IMPROVEMENT), "32"),
        (CRASHED, "31"),
        (SUSPECTED, "33"),
    ],
)
def test_verdicts_are_coloured(row: BoardRow, colour: str) -> None:
    screen = _Screen(100)
    screen.console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system="standard")
    line = screen.show(row)[2]
    assert f"{colour}m{row.cells[-1]}" in line


def test_nothing_of_the_board_is_left_when_its_context_ends() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=80, height=24, force_terminal=True, color_system=None)
    with LiveDisplay(console) as shown:
        with shown.board("comparing on vm", HEADER) as board:
            board.show([GOING])
            shown.refresh()
        drawn = stream.getvalue()
        # Whatever is printed now must not stand on a line that the display will clear.
        assert drawn.rindex("\x1b[2K") > drawn.rindex("decided")
        before = len(drawn)
        shown.say("a result")
    assert "decided" not in stream.getvalue()[before:]


def test_only_rows_that_are_drawn_are_made_and_not_more_often() -> None:
    """A thousand benchmarks, on a terminal with room for six of them."""
    screen, rows = _Screen(100, height=14), _Rows()
    screen.show(*(_renamed(EARLY, f"m/{number}") for number in range(1000)))
    for turn in range(10):
        for number in range(1000):
            screen.clock.now += 0.01
            screen.board.update(number, rows.making(_renamed(GOING, f"m/{number}")), is_decided=False)
        assert screen.times_drawn <= 1 + 40 * (turn + 1)
        assert rows.made <= 6 * (turn + 1)
    assert screen.lines()[2].split() == ["m/0", *" ".join(GOING.cells[1:]).split()]


def test_a_decision_is_drawn_at_once() -> None:
    screen, rows = _Screen(100), _Rows()
    screen.show(EARLY, EARLY)
    screen.board.update(1, rows.making(GOING), is_decided=False)
    assert screen.times_drawn == 1
    screen.board.update(0, rows.making(DONE), is_decided=True)
    assert [line.split()[-1] for line in screen.lines()[2:]] == ["regression", "███░░░░░"]
    assert screen.task.figures == (1, 2, "1 of 2 decided")


def test_a_log_makes_only_rows_that_it_prints() -> None:
    stream, clock, rows = io.StringIO(), _Clock(), _Rows()
    board = PlainBoard(HEADER, stream, clock)
    board.show([EARLY] * 3)
    for clock.now in (1.0, 2.0, 3.0):
        board.update(1, rows.making(GOING), is_decided=False)
    assert rows.made == 0
    board.update(0, rows.making(DONE), is_decided=True)
    board.update(0, rows.making(DONE), is_decided=True)
    clock.now = 25.0
    board.update(2, rows.making(EARLY), is_decided=False)
    assert rows.made == 3
    assert stream.getvalue().splitlines() == [
        "m/a: regression (pairs 14/100, difference +2.91 %, 95 % interval +1.72 … +4.01 %)",
        "... 1 of 3 decided; m/a: pairs 12/100, difference +2.89 %, 95 % interval +1.52 … +4.26 %",
    ]


def test_a_log_has_one_line_for_each_that_is_decided() -> None:
    stream = io.StringIO()
    board = PlainBoard(HEADER, stream, _Clock())
    for rows in ([EARLY, CRASHED], [GOING, CRASHED], [SUSPECTED, CRASHED], [DONE, CRASHED], [DONE, CRASHED]):
        board.show(rows)
    assert stream.getvalue().splitlines() == [
        "m/b: crashed (pairs 3)",
        "m/a: regression (pairs 14/100, difference +2.91 %, 95 % interval +1.72 … +4.01 %)",
    ]


def test_benchmarks_of_one_name_have_a_line_each() -> None:
    stream = io.StringIO()
    PlainBoard(HEADER, stream, _Clock()).show([DONE, DONE])
    assert stream.getvalue().count("m/a: regression") == 2


def test_a_log_gives_a_sign_of_life_after_a_while() -> None:
    stream, clock = io.StringIO(), _Clock()
    board = PlainBoard(HEADER, stream, clock)
    for clock.now in (1.0, 19.0, 21.5, 30.0, 42.0):
        board.show([CRASHED, GOING])
    going = "... 1 of 2 decided; m/a: pairs 12/100, difference +2.89 %, 95 % interval +1.52 … +4.26 %"
    assert stream.getvalue().splitlines() == ["m/b: crashed (pairs 3)", going, going]


def test_elsewhere_than_on_a_terminal_lines_are_written() -> None:
    stream = io.StringIO()
    with open_display(stream) as shown, shown.board("comparing on vm", HEADER) as board:
        board.show([DONE])
    assert isinstance(shown, PlainDisplay)
    assert stream.getvalue().splitlines()[0] == "comparing on vm"
    assert "\x1b" not in stream.getvalue()


def test_lines_of_simultaneous_boards_name_their_board() -> None:
    stream = io.StringIO()
    plain = PlainDisplay(stream)
    with plain.board("comparing on A", HEADER) as a:
        with plain.board("comparing on B", HEADER) as b:
            b.show([DONE])
        a.show([DONE])
    lines = [line for line in stream.getvalue().splitlines() if DONE.cells[-1] in line]
    assert [line.partition(": ")[0] for line in lines] == ["comparing on B", "comparing on A"]


def test_lines_of_successive_boards_do_not_name_their_board() -> None:
    stream = io.StringIO()
    plain = PlainDisplay(stream)
    for title in ("comparing on A", "comparing on B"):
        with plain.board(title, HEADER) as board:
            board.show([DONE])
    assert sum(line.startswith(DONE.cells[0]) for line in stream.getvalue().splitlines()) == 2


def test_a_long_task_tells_its_step_and_the_remaining_time_now_and_then() -> None:
    stream = io.StringIO()
    now = [0.0]
    task = PlainTask("building x", stream, lambda: now[0])
    for at_s, done in ((10.0, 5), (30.0, 25), (40.0, 30), (240.0, 100), (250.0, 100)):
        now[0] = at_s
        task.update(completed=done, total=100, text=f"compiling [{done}/100]")
    assert stream.getvalue().splitlines() == [
        "... building x 25%, about 2 min left (compiling [25/100])",
        "... building x 100% (compiling [100/100])",
    ]
