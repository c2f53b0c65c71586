"""Store and forward: an entry is on the disk before the first attempt to send it, and stays until it was received.

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
from harness.core.protocols import FlushOutcome, Task
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock
from harness.store.tree import encode_segment

_LOCK_FILE: Final = ".lock"


class SendStatus(Enum):
    """Outcome of sending an entry."""

    SENT = "sent"
    SENT_BY_ANOTHER = "sent by another process"
    REFUSED = "refused for good"
    KEPT = "kept for later"


@dataclass(frozen=True, slots=True)
class SendResult:
    """Result of one transmission.

    Attributes:
        status: Outcome for the entry.
        reason: Why it was not sent.
        blocked: Whether the next entry would be treated alike now.
        unreachable: Whether the server did not answer at all.
    """

    status: SendStatus
    reason: str = ""
    blocked: bool = False
    unreachable: bool = False


Transmit = Callable[[str, bytes, float], SendResult]
"""Transmits a body under its key, within a number of seconds. Does not raise for anything the network does."""


class Spool:
    """Entries of one destination; the folder is made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dead = folder / "dead"

    def add(self, uid: str, body: bytes) -> Path:
        """Put an entry on the disk, whole or not at all; the same uid is the same entry.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        entry = self.folder / f"{encode_segment(uid)}.json"
        with _disk(self.folder):
            write_atomically(entry, body, durable=True)
        return entry

    def waiting(self) -> tuple[Path, ...]:
        """Return the entries that wait, oldest first."""
        with _disk(self.folder):
            entries = [(_age(path), path) for path in self.folder.glob("[!.]*.json")]
        return tuple(path for _, path in sorted(entries))

    def send(self, entry: Path, transmit: Transmit, within_s: float) -> SendResult:
        """Transmit one entry, unless another process did, and keep, remove or bury it according to the answer.

        Args:
            entry: One of `waiting()`.
            transmit: Transmits.
            within_s: Seconds for waiting for other processes and for transmitting, together.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        deadline = time.monotonic() + within_s
        lock = FileLock(self.folder / _LOCK_FILE)
        with _disk(self.folder):
            if not lock.acquire(within_s):
                return SendResult(SendStatus.KEPT, "another process is sending", blocked=True)
            with lock:
                return self._send(entry, transmit, deadline)

    def drain(self, transmit: Transmit, *, each_s: float, total_s: float, task: Task | None = None) -> FlushOutcome:
        """Transmit what waits, oldest first, until the time is over or the destination turns out to be blocked.

        Args:
            transmit: Transmits.
            each_s: Seconds for one entry.
            total_s: Seconds for all; `inf` is no limit.
            task: Progress, in entries.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        deadline = time.monotonic() + total_s
        answers: list[SendResult] = []
        for entry in self.waiting():
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                answers.append(SendResult(SendStatus.KEPT, f"sending takes longer than {total_s:g} s"))
                break
            answers.append(self.send(entry, transmit, min(each_s, remaining_s)))
            if task is not None:
                task.update(completed=len(answers))
            if answers[-1].blocked:
                break
        statuses = [answer.status for answer in answers]
        return FlushOutcome(
            sent=statuses.count(SendStatus.SENT),
            waiting=len(self.waiting()),
            refused=statuses.count(SendStatus.REFUSED),
            reasons=tuple(dict.fromkeys(answer.reason for answer in answers if answer.reason)),
        )

    def _send(self, entry: Path, transmit: Transmit, deadline: float) -> SendResult:
        try:
            body = entry.read_bytes()
        except FileNotFoundError:
            return self._result_of_other_process(entry)
        answer = transmit(entry.stem, body, deadline - time.monotonic())
        if answer.status is SendStatus.SENT:
            entry.unlink()
        elif answer.status is SendStatus.REFUSED:
            self._set_aside(entry, answer.reason)
        return answer

    def _result_of_other_process(self, entry: Path) -> SendResult:
        try:
            reason = self._reason_file(entry).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return SendResult(SendStatus.SENT_BY_ANOTHER)
        return SendResult(SendStatus.REFUSED, reason)

    def _set_aside(self, entry: Path, reason: str) -> None:
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
            hint="make room or permission there, or choose another place with --cache-dir",
        ) from error


def _age(path: Path) -> int:
    """Nanoseconds of its last change; an entry that another process has just sent comes first and is found gone."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
