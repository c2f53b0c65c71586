"""Sampled stacks of a probe: outermost functions at the top, what they call below; widths are shares of samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from harness.core.probe import ProbePass, StackFrame
from harness.presentation.text import make_printable
from reporters.document.picture import CHARACTER, Label, Mark, Picture, Rectangle

WIDTH: Final = 640
_ROW: Final = 22
_DEEPEST: Final = 48
"""Rows of a picture; what lies deeper is in the folded stacks beside the result."""
_SMALLEST_ROW: Final = 0.03
"""Share of the samples that functions of one depth have together, at least, where they are drawn."""
_CHARACTER: Final = 1.5 * CHARACTER
"""Width of a character on a narrow screen, where letters are larger."""
_FEWEST: Final = 4
"""Characters of a name that is worth showing."""

EXPLANATION: Final = (
    "Functions from the outermost at the top to those that they call; widths are shares of the samples. Rest the "
    "pointer on a function for its name and share."
)


class _Placed(NamedTuple):
    """Frame with the number of samples to the left of it."""

    frame: StackFrame
    start: int


def draw_stacks(probe_pass: ProbePass, name: str) -> Picture | None:
    """Draw the stacks of a probe; None where it took none.

    Args:
        probe_pass: The pass.
        name: Name of the picture, unique on its page.
    """
    if not probe_pass.stacks or not probe_pass.samples:
        return None
    rows = _count_rows(probe_pass.stacks, probe_pass.samples)
    placed = [each for each in _place(probe_pass.stacks) if each.frame.depth < rows]
    marks = [mark for each in placed for mark in _draw(each, probe_pass.samples)]
    longest = (f"{function.symbol} {100 * function.share:.1f} %" for function in probe_pass.functions[:5])
    description = f"{probe_pass.samples} samples; most in {', '.join(longest)}"
    title = f"Stacks of {probe_pass.probe}"
    return Picture(name, WIDTH, rows * _ROW, title, make_printable(description), marks)


def _count_rows(frames: Sequence[StackFrame], samples: int) -> int:
    """Return the number of rows that are worth their height: some stacks go deep, with hardly a sample."""
    by_depth = Counter[int]()
    for frame in frames:
        by_depth[frame.depth] += frame.samples
    return min(_DEEPEST, max(1, sum(count >= _SMALLEST_ROW * samples for count in by_depth.values())))


def _place(frames: Sequence[StackFrame]) -> Iterator[_Placed]:
    """Yield every frame with its place: beside what its caller called before."""
    filled: list[int] = []
    for frame in frames:
        start = filled[frame.depth] if frame.depth < len(filled) else 0
        if frame.depth >= len(filled):
            filled += [0] * (frame.depth + 1 - len(filled))
        filled[frame.depth] = start + frame.samples
        del filled[frame.depth + 1 :]
        filled.append(start)  # where the first function that it calls begins
        yield _Placed(frame, start)


def _draw(placed: _Placed, samples: int) -> Iterator[Mark]:
    frame = placed.frame
    left, width = WIDTH * placed.start / samples, WIDTH * frame.samples / samples
    top = frame.depth * _ROW
    symbol = make_printable(frame.symbol)
    yield Rectangle("cell", left, top, width, _ROW, f"{symbol}: {100 * frame.samples / samples:.1f} %")
    room = int((width - 8) / _CHARACTER)
    if room >= _FEWEST:
        text = symbol if len(symbol) <= room else f"{symbol[: room - 1]}…"
        yield Label(text, left + 4, top + 16, kind="within")
