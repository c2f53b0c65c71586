"""How the work of a run is shared among devices: each measures everything, or each piece goes to whoever is free."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from harness.core.measurement import Job
from harness.shell import check_stopping

_LOOK_S: Final = 0.2
_MOST_LOSSES: Final = 2
"""What was being measured when two devices were lost is not tried on a third."""


class Share(Protocol):
    """What one device still has to do. Used by one thread."""

    @property
    def left(self) -> bool:
        """Whether there is anything to take now."""

    def take(self) -> Job | None:
        """The next job; None when there is none and none will come back from another device."""

    def done(self) -> None:
        """The job that was taken is told."""

    def abandon(self) -> Sequence[Job]:
        """The device does nothing more. Returns what nobody else will do; of that the job that was taken comes first.

        A second time there is nothing left to return.
        """


class Own:
    """Everything that one device shall measure, whatever the others do.

    Args:
        jobs: In order.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = deque(jobs)
        self._taken: Job | None = None

    @property
    def left(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._jobs)

    def take(self) -> Job | None:
        """The next job."""
        self._taken = self._jobs.popleft() if self._jobs else None
        return self._taken

    def done(self) -> None:
        """The job that was taken is told."""
        self._taken = None

    def abandon(self) -> Sequence[Job]:
        """The job that was taken, and all that are left."""
        rest = [*([self._taken] if self._taken else []), *self._jobs]
        self._jobs.clear()
        self._taken = None
        return rest


class Pool:
    """Jobs that any of several devices may do, each of them once.

    A device that is lost gives back what it was doing, so that another does it.

    Args:
        jobs: By device, then by what is to be done: the job as that device would do it.
    """

    def __init__(self, jobs: Mapping[str, Mapping[int, Job]]) -> None:
        self._jobs = {device: dict(its) for device, its in jobs.items()}
        self._waiting = sorted({number for its in self._jobs.values() for number in its})
        self._taken: dict[str, int] = {}
        self._losses: Counter[int] = Counter()
        self._changed = threading.Condition()

    def of(self, device: str) -> Share:
        """The pool as one device sees it."""
        return _Pooled(self, device)

    def can(self, device: str) -> bool:
        """Whether something waits that the device can do."""
        with self._changed:
            return self._next(device) is not None

    def take(self, device: str) -> Job | None:
        """The first job that waits and that the device can do; waits while others do what may come back.

        Raises:
            Interrupted: The harness is being stopped.
        """
        with self._changed:
            while (number := self._next(device)) is None:
                if not any(taken in self._jobs[device] for taken in self._taken.values()):
                    return None
                self._changed.wait(_LOOK_S)
                check_stopping()
            self._waiting.remove(number)
            self._taken[device] = number
            return self._jobs[device][number]

    def done(self, device: str) -> None:
        """The device's job is told."""
        with self._changed:
            self._taken.pop(device, None)
            self._changed.notify_all()

    def abandon(self, device: str) -> Sequence[Job]:
        """The device does nothing more: what it was doing waits for another; returns what no other can do."""
        with self._changed:
            its, taken = self._jobs.pop(device, {}), self._taken.pop(device, None)
            if taken is not None:
                self._losses[taken] += 1
                self._waiting.insert(0, taken)
            hopeless = [number for number in self._waiting if self._hopeless(number)]
            self._waiting = [number for number in self._waiting if number not in hopeless]
            self._changed.notify_all()
            return [its[number] for number in hopeless if number in its]

    def _next(self, device: str) -> int | None:
        its = self._jobs.get(device, {})
        return next((number for number in self._waiting if number in its), None)

    def _hopeless(self, number: int) -> bool:
        return self._losses[number] >= _MOST_LOSSES or not any(number in its for its in self._jobs.values())


class _Pooled:
    """A pool as one device sees it (`Share`)."""

    def __init__(self, pool: Pool, device: str) -> None:
        self._pool = pool
        self._device = device

    @property
    def left(self) -> bool:
        return self._pool.can(self._device)

    def take(self) -> Job | None:
        return self._pool.take(self._device)

    def done(self) -> None:
        self._pool.done(self._device)

    def abandon(self) -> Sequence[Job]:
        return self._pool.abandon(self._device)
