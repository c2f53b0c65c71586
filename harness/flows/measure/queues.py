"""Work queues of devices: each device measures everything, or each job goes to whichever device is free."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from harness.core.measurement import Job
from harness.shell import check_stopping

_POLL_S: Final = 0.2
_MOST_LOSSES: Final = 2
"""A job during which two devices were lost is not tried on a third."""


class WorkQueue(Protocol):
    """Jobs that one device still has to do. Used by one thread."""

    @property
    def has_work(self) -> bool:
        """True if a job is waiting now."""

    def get(self) -> Job | None:
        """Return the next job; None when there is none and none will come back from another device."""

    def acknowledge(self) -> None:
        """Mark the job that was got last as reported."""

    def drain(self) -> Sequence[Job]:
        """Give up everything: the device does no more. A second call returns nothing.

        Returns:
            The jobs that no other device will do; of these the job that was got last comes first.
        """


class DedicatedQueue:
    """Queue of a device that measures everything, whatever the others do (`WorkQueue`).

    Args:
        jobs: In order.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = deque(jobs)
        self._current: Job | None = None

    @property
    def has_work(self) -> bool:
        """True if a job is waiting."""
        return bool(self._jobs)

    def get(self) -> Job | None:
        """Return the next job."""
        self._current = self._jobs.popleft() if self._jobs else None
        return self._current

    def acknowledge(self) -> None:
        """Mark the current job as reported."""
        self._current = None

    def drain(self) -> Sequence[Job]:
        """Return the current job and all that wait."""
        undone = [*([self._current] if self._current else []), *self._jobs]
        self._jobs.clear()
        self._current = None
        return undone


class SharedQueue:
    """Queue of jobs that any of several devices may do, each job once.

    A lost device gives back its current job, so that another device does it.

    Args:
        jobs: By device, then by number of the benchmark: the job as that device would do it.
    """

    def __init__(self, jobs: Mapping[str, Mapping[int, Job]]) -> None:
        self._jobs = {device: dict(by_number) for device, by_number in jobs.items()}
        self._waiting = sorted({number for by_number in self._jobs.values() for number in by_number})
        self._current: dict[str, int] = {}
        self._losses: Counter[int] = Counter()
        self._changed = threading.Condition()

    def for_device(self, device: str) -> WorkQueue:
        """Return the queue as one device uses it."""
        return _DeviceQueue(self, device)

    def has_work(self, device: str) -> bool:
        """Return whether a job is waiting that the device can do."""
        with self._changed:
            return self._next(device) is not None

    def get(self, device: str) -> Job | None:
        """Return the first waiting job that the device can do; wait while other devices might give one back.

        Raises:
            Interrupted: The harness is being stopped.
        """
        with self._changed:
            while (number := self._next(device)) is None:
                if not any(current in self._jobs[device] for current in self._current.values()):
                    return None
                self._changed.wait(_POLL_S)
                check_stopping()
            self._waiting.remove(number)
            self._current[device] = number
            return self._jobs[device][number]

    def acknowledge(self, device: str) -> None:
        """Mark the current job of the device as reported."""
        with self._changed:
            self._current.pop(device, None)
            self._changed.notify_all()

    def drain(self, device: str) -> Sequence[Job]:
        """Give up everything that only this device can do, and return it; its current job waits for another device."""
        with self._changed:
            jobs, current = self._jobs.pop(device, {}), self._current.pop(device, None)
            if current is not None:
                self._losses[current] += 1
                self._waiting.insert(0, current)
            impossible = [number for number in self._waiting if self._is_impossible(number)]
            self._waiting = [number for number in self._waiting if number not in impossible]
            self._changed.notify_all()
            return [jobs[number] for number in impossible if number in jobs]

    def _next(self, device: str) -> int | None:
        jobs = self._jobs.get(device, {})
        return next((number for number in self._waiting if number in jobs), None)

    def _is_impossible(self, number: int) -> bool:
        return self._losses[number] >= _MOST_LOSSES or not any(number in jobs for jobs in self._jobs.values())


class _DeviceQueue:
    """Shared queue as one device uses it (`WorkQueue`)."""

    def __init__(self, queue: SharedQueue, device: str) -> None:
        self._queue = queue
        self._device = device

    @property
    def has_work(self) -> bool:
        return self._queue.has_work(self._device)

    def get(self) -> Job | None:
        return self._queue.get(self._device)

    def acknowledge(self) -> None:
        self._queue.acknowledge(self._device)

    def drain(self) -> Sequence[Job]:
        return self._queue.drain(self._device)
