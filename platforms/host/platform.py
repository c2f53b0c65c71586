"""The platform `host`: one device, this machine, held by one job at a time."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.core.device import Device
from harness.core.protocols import Finding, Progress
from platforms.host import checkup, identity, lock, placement
from platforms.host.session import HostSession


class Host:
    """This machine.

    Args:
        work: Folder for session folders and the remembered identity.
        name: Name to report instead of the host name.
        cpus: CPUs to choose from; None means all that are allowed, `()` forbids pinning.
        lock_timeout_s: How long to wait while another job measures.
        keep: Leave session folders behind for a person to look into.
        lock_path: The lock file; None takes the machine's.
    """

    name = "host"

    def __init__(
        self,
        work: Path,
        *,
        name: str | None = None,
        cpus: tuple[int, ...] | None = None,
        lock_timeout_s: float = 600.0,
        keep: bool = False,
        lock_path: Path | None = None,
    ) -> None:
        self._work = work
        self._label = name
        self._cpus = cpus
        self._lock_timeout_s = lock_timeout_s
        self._keep = keep
        self._lock_path = lock_path or lock.default_path()

    def devices(self) -> Sequence[Device]:
        """This machine, always."""
        return (identity.describe(self._label, self._work / "identity"),)

    def diagnose(self) -> Sequence[Finding]:
        """What steadies measurements here, and what is missing for that."""
        return checkup.findings(identity.allowed_cpus())

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[HostSession]:
        """Hold the machine, look which CPUs are free, and give the session a folder of its own."""
        with lock.held(self._lock_path, self._lock_timeout_s, progress):
            sessions = self._work / "sessions"
            self._sweep(sessions)
            folder = Path(tempfile.mkdtemp(prefix="session-", dir=sessions))
            try:
                chosen = placement.look(self._cpus or None)
                placed = device.model_copy(update={"attributes": {**device.attributes, "placement": chosen.describe()}})
                yield HostSession(placed, folder, chosen, pin=self._cpus != ())
            finally:
                if not self._keep:
                    shutil.rmtree(folder, ignore_errors=True)

    def _sweep(self, sessions: Path) -> None:
        """Remove what killed sessions left: whoever holds the machine is the only one who uses these folders."""
        sessions.mkdir(parents=True, exist_ok=True)
        if not self._keep:
            for left in sessions.iterdir():
                shutil.rmtree(left, ignore_errors=True)
