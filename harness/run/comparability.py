"""What makes two sides unlike beside their builds, and so speaks against a comparison."""

from __future__ import annotations

from harness.core.note import Note
from harness.core.result import Launch

_MANY_MORE = 2
"""Times as many samples: programs that run for a given time differ by as much as they differ in speed, and no more."""

UNEVEN = "unequal_samples"
"""Code of the note that the launches of both sides told different numbers of samples."""


def uneven(control: int, treatment: int) -> Note | None:
    """That a launch of one side told many more samples than one of the other, if so.

    A program that tells its best iterations only, or one figure for all, looks faster than it is.
    """
    if max(control, treatment) < _MANY_MORE * min(control, treatment):
        return None
    message = f"a launch of the control told {control} samples, one of the treatment {treatment}"
    hint = "figures of so different launches cannot be compared: let both tell every iteration"
    return Note(code=UNEVEN, message=message, hint=hint, trust=False)


def unequal_paths(control: Launch, treatment: Launch) -> tuple[Note, ...]:
    """That the command lines are not equally long, if so: that moves the stack.

    That alone can change the speed of a program by some per cent (Mytkowicz et al., "Producing wrong data without doing
    anything obviously wrong!", ASPLOS 2009).
    """
    ours, theirs = (sum(len(word) for words in one.commands for word in words) for one in (control, treatment))
    if ours == theirs:
        return ()
    message = f"the command lines are not equally long ({ours} characters of the control, {theirs} of the treatment)"
    hint = "that alone can change the speed: put the programs into folders whose paths are equally long"
    return (Note(code="unequal_paths", message=message, hint=hint),)
