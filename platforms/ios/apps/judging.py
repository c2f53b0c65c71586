"""How an app ended, in the words of programs: exit status or signal, output, and what a reader must know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.command import SIGKILL, Command, Completed
from harness.core.note import Note
from platforms.ios.apps.launching import AppEnd
from platforms.ios.apps.protocol import AppResult

NO_ENERGY: Final = "iPhones tell computers nothing of their energy"
_NOTHING: Final = "it left neither a result nor a crash report: iOS ends apps for memory, or in the background\n"


def judge_end(command: Command, end: AppEnd, notes: Sequence[Note]) -> Completed:
    """Return how an app ended, as of a program.

    Args:
        command: The command that started it.
        end: What it left.
        notes: What a reader must know of the phone.
    """
    unavailable = NO_ENERGY if command.energy else None
    if end.result is not None:
        return Completed(
            command=command,
            exit_code=end.result.exit_code,
            stdout=end.stdout,
            stderr=end.stderr,
            wall_s=end.result.wall_s,
            cpu_s=end.result.cpu_s,
            peak_memory_bytes=end.result.peak_memory_bytes,
            energy_unavailable=unavailable,
            notes=(*notes, *_note_place(end.result)),
        )
    number = end.crash.signal if end.crash is not None else None
    reason = f"{end.crash.text}\n" if end.crash is not None else "" if end.timed_out else _NOTHING
    return Completed(
        command=command,
        exit_code=None if end.timed_out or number is not None else 1,
        signal=SIGKILL if end.timed_out else number,
        timed_out=end.timed_out,
        stdout=end.stdout,
        stderr=reason + end.stderr,
        wall_s=end.wall_s,
        energy_unavailable=unavailable,
    )


def _note_place(result: AppResult) -> Iterator[Note]:
    if result.foreground is False:
        yield Note(
            code="background",
            message="the app was not in the foreground all the time: iOS slows apps down that nobody sees",
            hint="leave the phone unlocked and alone while it is measured; switch notifications off",
            trust=False,
        )
