"""Store and forward: what must be sent is on the disk before the first attempt, and leaves it when it was received.

    <folder>/<key>.json               waits to be sent
    <folder>/dead/<key>.json          was refused for good
    <folder>/dead/<key>.reason.txt    why

Several processes may share a folder. A lock is held for each transmission, so that each entry is sent by one of them;
a process that dies between the answer and the removal makes the next one send it again, under the same key.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from harness.core.errors import ReporterFailed
from harness.core.protocols import Task
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock
from harness.store.tree import encode_segment

_LOCK_FILE: Final = ".lock"


class Fate(Enum):
    """What became of an entry."""

    SENT = "sent"
    SENT_BY_ANOTHER = "sent by another process"
    REFUSED = "refused for good"
    KEPT = "kept for later"


@dataclass(frozen=True, slots=True)
class Answer:
    """How one transmission went.

    Attributes:
        fate: What to do with the entry.
        reason: Why it was not sent.
        blocked: Whether the next entry would fare no better now.
        unreachable: Whether nobody answered at all.
    """

    fate: Fate
    reason: str = ""
    blocked: bool = False
    unreachable: bool = False


Deliver = Callable[[str, bytes, float], Answer]
"""Transmits a body under its key, within a number of seconds. Does not raise for anything the network does."""


@dataclass(frozen=True, slots=True)
class FlushOutcome:
    """What became of everything that waited.

    Attributes:
        sent: Entries that were received.
        left: Entries that still wait.
        dead: Entries that were refused for good, now in the `dead` folder.
        reasons: Why entries are left or dead; each reason once.
    """

    sent: int = 0
    left: int = 0
    dead: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything was received."""
        return self.left == 0 and self.dead == 0


class Spool:
    """Entries of one destination. The folder is made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dead = folder / "dead"

    def add(self, uid: str, body: bytes) -> Path:
        """Put an entry on the disk, whole or not at all; the same uid is the same entry.

        Raises:
            ReporterFailed: The disk refuses.
        """
        entry = self.folder / f"{encode_segment(uid)}.json"
        with _disk(self.folder):
            write_atomically(entry, body, durable=True)
        return entry

    def waiting(self) -> tuple[Path, ...]:
        """The entries that wait, oldest first."""
        with _disk(self.folder):
            entries = [(_age(path), path) for path in self.folder.glob("[!.]*.json")]
        return tuple(path for _, path in sorted(entries))

    def send(self, entry: Path, deliver: Deliver, within_s: float) -> Answer:
        """Transmit one entry, unless another process did, and do with it as it was answered.

        Args:
            entry: One of `waiting()`.
            deliver: Who transmits.
            within_s: Seconds for waiting for other processes and for transmitting, together.

        Raises:
            ReporterFailed: The disk refuses.
        """
        deadline = time.monotonic() + within_s
        lock = FileLock(self.folder / _LOCK_FILE)
        with _disk(self.folder):
            if not lock.acquire(within_s):
                return Answer(Fate.KEPT, "another process is sending", blocked=True)
            with lock:
                return self._send(entry, deliver, deadline)

    def drain(self, deliver: Deliver, *, each_s: float, total_s: float, task: Task | None = None) -> FlushOutcome:
        """Transmit what waits, oldest first, until the time is over or the destination is seen to be blocked.

        Args:
            deliver: Who transmits.
            each_s: Seconds for one entry.
            total_s: Seconds for all; `inf` is no limit.
            task: Progress, in entries.

        Raises:
            ReporterFailed: The disk refuses.
        """
        deadline = time.monotonic() + total_s
        answers: list[Answer] = []
        for entry in self.waiting():
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                answers.append(Answer(Fate.KEPT, f"sending takes longer than {total_s:g} s"))
                break
            answers.append(self.send(entry, deliver, min(each_s, remaining_s)))
            if task is not None:
                task.update(completed=len(answers))
            if answers[-1].blocked:
                break
        fates = [answer.fate for answer in answers]
        return FlushOutcome(
            sent=fates.count(Fate.SENT),
            left=len(self.waiting()),
            dead=fates.count(Fate.REFUSED),
            reasons=tuple(dict.fromkeys(answer.reason for answer in answers if answer.reason)),
        )

    def _send(self, entry: Path, deliver: Deliver, deadline: float) -> Answer:
        try:
            body = entry.read_bytes()
        except FileNotFoundError:
            return self._settled_elsewhere(entry)
        answer = deliver(entry.stem, body, deadline - time.monotonic())
        if answer.fate is Fate.SENT:
            entry.unlink()
        elif answer.fate is Fate.REFUSED:
            self._bury(entry, answer.reason)
        return answer

    def _settled_elsewhere(self, entry: Path) -> Answer:
        try:
            reason = self._reason_file(entry).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return Answer(Fate.SENT_BY_ANOTHER)
        return Answer(Fate.REFUSED, reason)

    def _bury(self, entry: Path, reason: str) -> None:
        self.dead.mkdir(exist_ok=True)
        self._reason_file(entry).write_text(reason + "\n", encoding="utf-8")
        entry.replace(self.dead / entry.name)

    def _reason_file(self, entry: Path) -> Path:
        return self.dead / f"{entry.stem}.reason.txt"


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReporterFailed(
            f"the spool {folder} cannot be used: {error.strerror or error}",
            hint="make room or permission there, or choose another place with --cache_dir",
        ) from error


def _age(path: Path) -> int:
    """Nanoseconds of its last change; an entry that another process has just sent comes first and is found gone."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
