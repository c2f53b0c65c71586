"""Progress of a job, which is sent to its client. Runs in the process of a device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from harness.core.device import Device
from harness.core.protocols import BoardRow, Task
from harness.lab.jobs import LabJob

if TYPE_CHECKING:
    from distributed import Worker

TOPIC: Final = "harness"
"""Of the events of a lab."""


class LabProgress:
    """Progress that is sent to the client of a job. Any thread may use it."""

    def __init__(self, job: LabJob, device: Device, worker: Worker | None) -> None:
        self._worker = worker
        self._job = job
        self._device = device

    def say(self, text: str) -> None:
        """Show a line."""
        self._send("say", text)

    def warn(self, text: str) -> None:
        """Show a warning."""
        self._send("warn", text)

    @contextlib.contextmanager
    def task(self, text: str, total: float | None = None) -> Iterator[Task]:  # noqa: ARG002 - a protocol
        """Show that something begins: a lab has no bars."""
        self._send("say", text)
        yield _SilentTask()

    @contextlib.contextmanager
    def board(self, title: str, header: Sequence[str]) -> Iterator[_SilentBoard]:  # noqa: ARG002 - a protocol
        """Show no table: the client shows what all batches together have shown."""
        yield _SilentBoard()

    def _send(self, kind: str, text: str) -> None:
        message = {"job": self._job.id, "device": self._device.name, "kind": kind, "text": text}
        if self._worker is not None:
            self._worker.log_event(TOPIC, message)


class _SilentBoard:
    def show(self, rows: Sequence[BoardRow]) -> None:
        """Show nothing (`Board`)."""

    def update(self, number: int, row: Callable[[], BoardRow], *, is_decided: bool) -> None:
        """Show nothing (`Board`)."""


class _SilentTask:
    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        """Show nothing: a lab has the beginning of a task, and its end."""
