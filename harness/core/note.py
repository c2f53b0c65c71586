"""Notes for readers of numbers."""

from typing import Final

from harness.core.values import Value

THROTTLED: Final = "throttled"
"""Code of the note that figures are those of a device that throttled: it says so itself, or its samples show it."""

CONTENDED: Final = "contended"
"""Code of the note that figures became worse while other programs took the CPU."""

NO_OPERATORS: Final = "operators_unavailable"
"""Code of the note that operators could not be timed, of a launch and of a comparison."""


class Note(Value):
    """Remark that a reader of the numbers must know.

    Attributes:
        code: Stable word: `disturbed`, `noisy`, `stopped_early`, `busy`, `throttled`, `bad_lines`, `threads`, ...
        message: The same in a sentence.
        hint: What to do about it.
        trust: False when the numbers should not be believed because of it.
        error: Largest relative error that it means for the median, which is too slow by it: 0.25 is 25 %; None where it
            means none, or an unknown one.
    """

    code: str
    message: str
    hint: str | None = None
    trust: bool = True
    error: float | None = None
