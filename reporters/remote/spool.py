"""Store and forward: an entry is on the disk before the first attempt to send it, and stays until it was received.

    <folder>/<key>.json               waits to be sent
    <folder>/dead/<key>.json          was refused for good
    <folder>/dead/<key>.reason.txt    why

Several processes may share a folder. A lock is held for each transmission, of one entry or of a batch, so that each
entry is sent by one of them; a process that dies between the answer and the removal makes the next one send it again,
under the same key.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from harness.core.errors import ReporterFailed
from harness.core.protocols import FlushOutcome, Task
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock
from harness.store.tree import encode_segment

_LOCK_FILE: Final = ".lock"
_BATCH_BYTES: Final = 8 << 20
"""Most bytes of entries in a batch; a longer entry travels alone."""


class SendStatus(Enum):
    """Outcome of sending an entry."""

    SENT = "sent"
    SENT_BY_ANOTHER = "sent by another process"
    REFUSED = "refused for good"
    KEPT = "kept for later"


class SendResult(Struct, frozen=True):
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


class SpooledBody(Struct, frozen=True):
    """Content of an entry.

    Attributes:
        key: Name under which a destination recognises it.
        body: The content.
    """

    key: str
    body: bytes


Transmit = Callable[[str, bytes, float], SendResult]
"""Transmits a body under its key, within a number of seconds. Does not raise for anything the network does."""


class Transmission(Protocol):
    """Way to transmit several bodies at once. Does not raise for anything the network does."""

    @property
    def most(self) -> int:
        """Most bodies that it takes now."""
        ...

    def transmit(self, bodies: Sequence[SpooledBody], within_s: float) -> Sequence[SendResult]:
        """Transmit bodies, within a number of seconds; return a result for each, in their order."""
        ...


class OneByOne(Struct, frozen=True):
    """Transmission of bodies one at a time."""

    single: Transmit
    most: int = 1

    def transmit(self, bodies: Sequence[SpooledBody], within_s: float) -> Sequence[SendResult]:
        """Transmit each body by itself; those for which no time is left are kept."""
        deadline = time.monotonic() + within_s
        results: list[SendResult] = []
        for body in bodies:
            remaining_s = deadline - time.monotonic()
            if results and (remaining_s <= 0 or results[-1].blocked):
                results.append(results[-1] if results[-1].blocked else NO_TIME)
            else:
                results.append(self.single(body.key, body.body, remaining_s))
        return results


NO_TIME: Final = SendResult(SendStatus.KEPT, "sending takes longer than there is time for")


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

    def send(self, entries: Sequence[Path], transmission: Transmission, within_s: float) -> tuple[SendResult, ...]:
        """Transmit entries together, unless another process did; keep, remove or bury each according to its answer.

        Args:
            entries: Some of `waiting()`.
            transmission: Transmits.
            within_s: Seconds for waiting for other processes and for transmitting, together.

        Returns:
            Results of the first entries, of at least one: as many as go into one batch.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        deadline = time.monotonic() + within_s
        lock = FileLock(self.folder / _LOCK_FILE)
        with _disk(self.folder):
            if not lock.acquire(within_s):
                return (SendResult(SendStatus.KEPT, "another process is sending", blocked=True),)
            with lock:
                return self._send(entries[: transmission.most], transmission, deadline)

    def send_each(
        self,
        entries: Sequence[Path],
        transmission: Transmission,
        *,
        each_s: float,
        total_s: float,
        stop: threading.Event | None = None,
    ) -> Iterator[tuple[Path, SendResult]]:
        """Transmit entries in batches, until the time is over, the destination is blocked, or `stop` is set.

        Args:
            entries: Some of `waiting()`, oldest first.
            transmission: Transmits.
            each_s: Seconds for one batch.
            total_s: Seconds for all; `inf` is no limit.
            stop: Ends sending after the batch that is on its way.

        Yields:
            Entries that were tried with their results.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        deadline = time.monotonic() + total_s
        place = 0
        while place < len(entries) and not (stop is not None and stop.is_set()):
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                yield entries[place], NO_TIME
                return
            results = self.send(entries[place:], transmission, min(each_s, remaining_s))
            yield from zip(entries[place:], results, strict=False)
            if any(result.blocked for result in results):
                return
            place += len(results)

    def drain(
        self, transmission: Transmission, *, each_s: float, total_s: float, task: Task | None = None
    ) -> FlushOutcome:
        """Transmit what waits, oldest first, until the time is over or the destination turns out to be blocked.

        Args:
            transmission: Transmits.
            each_s: Seconds for one batch.
            total_s: Seconds for all; `inf` is no limit.
            task: Progress, in entries.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        results: list[SendResult] = []
        for _, result in self.send_each(self.waiting(), transmission, each_s=each_s, total_s=total_s):
            results.append(result)
            if task is not None:
                task.update(completed=len(results))
        statuses = [result.status for result in results]
        return FlushOutcome(
            sent=statuses.count(SendStatus.SENT),
            waiting=len(self.waiting()),
            refused=statuses.count(SendStatus.REFUSED),
            reasons=tuple(dict.fromkeys(result.reason for result in results if result.reason)),
        )

    def _send(self, entries: Sequence[Path], transmission: Transmission, deadline: float) -> tuple[SendResult, ...]:
        elsewhere: dict[Path, SendResult] = {}
        bodies: dict[Path, SpooledBody] = {}
        size = 0
        for entry in entries:
            try:
                if bodies and size + entry.stat().st_size > _BATCH_BYTES:
                    break
                bodies[entry] = SpooledBody(entry.stem, entry.read_bytes())
            except FileNotFoundError:
                elsewhere[entry] = self._result_of_other_process(entry)
                continue
            size += len(bodies[entry].body)
        results = transmission.transmit(tuple(bodies.values()), deadline - time.monotonic()) if bodies else ()
        answered = dict(zip(bodies, results, strict=True))
        for entry, result in answered.items():
            if result.status is SendStatus.SENT:
                entry.unlink()
            elif result.status is SendStatus.REFUSED:
                self._set_aside(entry, result.reason)
        return tuple(
            answered.get(entry) or elsewhere[entry] for entry in entries if entry in answered or entry in elsewhere
        )

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
