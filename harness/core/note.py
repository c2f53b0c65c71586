"""Notes for readers of numbers."""

from __future__ import annotations

from harness.core.values import Value


class Note(Value):
    """Remark that a reader of the numbers must know.

    Attributes:
        code: Stable word: `disturbed`, `noisy`, `stopped_early`, `busy`, `throttled`, `bad_lines`, `threads`, ...
        message: The same in a sentence.
        hint: What to do about it.
        trust: False when the numbers should not be believed because of it.
    """

    code: str
    message: str
    hint: str | None = None
    trust: bool = True
