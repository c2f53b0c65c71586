"""The platform `host`: one device, this machine, held by one job at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from harness.core.device import Device
from harness.core.errors import BenchmarkUnsupported, EnvironmentProblem
from harness.core.protocols import Finding, Progress
from platforms import machine_lock
from platforms.host import checkup, identity, placement
from platforms.host.session import HostSession
from platforms.host.workdir import session_folder


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
    runs_on_this_machine: Literal[True] = True

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
        self._lock_path = lock_path or machine_lock.lock_path("host")

    def devices(self) -> Sequence[Device]:
        """This machine, always. It has the CPUs to choose from, and not more."""
        return (identity.describe(self._label, self._work / "identity", self._cpus or ()),)

    def diagnose(self) -> Sequence[Finding]:
        """What steadies measurements here, and what is missing for that."""
        return checkup.findings(identity.allowed_cpus())

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[HostSession]:
        """Hold the machine, look which CPUs are free, and give the session a folder of its own."""
        with contextlib.ExitStack() as stack:
            session = self._opened(device, progress, stack)
            yield session

    def _opened(self, device: Device, progress: Progress, stack: contextlib.ExitStack) -> HostSession:
        try:
            stack.enter_context(machine_lock.held(self._lock_path, self._lock_timeout_s, progress))
            folder = stack.enter_context(session_folder(self._work, keep=self._keep))
            chosen = placement.look(self._cpus)
            attributes = {**device.attributes, "placement": chosen.describe()} if self._pins else device.attributes
            return HostSession(device.model_copy(update={"attributes": attributes}), folder, chosen, pin=self._pins)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot prepare this machine: {error}", hint="check space and permissions, or use another --cache_dir"
            ) from error
        except BenchmarkUnsupported as error:  # the CPUs were there when the platform was made
            raise EnvironmentProblem(error.message, hint=error.hint) from error

    @property
    def _pins(self) -> bool:
        return self._cpus != () and placement.can_pin()
