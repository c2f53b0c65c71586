"""Sending while a run measures: a thread that posts what was spooled, so that nobody waits for a server."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Final

from harness.core.errors import ReporterFailed
from harness.core.protocols import FlushOutcome
from reporters.remote.spool import NO_TIME, SendStatus, Spool, Transmission


class Sender:
    """Thread that sends entries of a spool, each at most once before `finish`.

    A server that does not answer is left alone until then. The thread starts with the first entry, and does not keep
    the process from ending: what it has not sent stays in the spool.

    Args:
        spool: Entries.
        transmission: Transmits them.
        each_s: Seconds for one batch.
    """

    def __init__(self, spool: Spool, transmission: Transmission, each_s: float) -> None:
        self._spool = spool
        self._transmission = transmission
        self._each_s: Final = each_s
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._tried: set[Path] = set()
        self._is_unreachable = False
        self._refused: list[str] = []

    def wake(self) -> None:
        """Let the thread look at the spool. Returns at once."""
        self._wake.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="remote reporter", daemon=True)
            self._thread.start()

    def finish(self, within_s: float) -> FlushOutcome:
        """End the thread and send what waits, also what was tried before; include what was refused meanwhile.

        Args:
            within_s: Seconds for both.

        Raises:
            ReporterFailed: The spool cannot be read or written.
        """
        deadline = time.monotonic() + within_s
        if self.stop(within_s):
            remaining_s = max(0.0, deadline - time.monotonic())
            last = self._spool.drain(self._transmission, each_s=self._each_s, total_s=remaining_s)
        else:
            last = FlushOutcome(waiting=len(self._spool.waiting()), reasons=(NO_TIME.reason,))
        refused, self._refused = self._refused, []
        return FlushOutcome(
            sent=last.sent,
            waiting=last.waiting,
            refused=last.refused + len(refused),
            reasons=tuple(dict.fromkeys([*last.reasons, *refused])),
        )

    def stop(self, within_s: float) -> bool:
        """End the thread after the batch that is on its way; return whether it has ended."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(within_s)
            if self._thread.is_alive():
                return False
        return True

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            try:
                self._send_untried()
            except ReporterFailed:
                continue  # `finish` meets the same disk, and raises

    def _send_untried(self) -> None:
        if self._is_unreachable:
            return
        entries = [entry for entry in self._spool.waiting() if entry not in self._tried]
        sending = self._spool.send_each(
            entries, self._transmission, each_s=self._each_s, total_s=float("inf"), stop=self._stop
        )
        for entry, result in sending:
            self._tried.add(entry)
            self._is_unreachable |= result.unreachable
            if result.status is SendStatus.REFUSED:
                self._refused.append(result.reason)
