"""Several stand-in phones and a private adb server, from start to end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from harness import shell
from harness.core.command import Command
from harness.core.errors import EnvironmentProblem
from harness.testing.phones import StandInUnavailable
from harness.testing.phones.android import adb_server
from harness.testing.phones.android.binaries import ARM64, find_binaries, find_qemu
from harness.testing.phones.android.container import NAMESPACES, run_container
from harness.testing.phones.android.guest.model import PRODUCT, PhoneModel
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.phones.android.proxy import Proxy, run_event_loop

_READY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class PhoneLab:
    """Stand-in phones behind a private adb server.

    Attributes:
        port: Port of the adb server on 127.0.0.1.
        phones: The phones.
    """

    port: int
    phones: tuple[StandInPhone, ...]

    @property
    def server(self) -> str:
        """`HOST:PORT` of the adb server."""
        return f"127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which a child process reaches the phones."""
        return {"HARNESS_ADB_SERVER": self.server, "ANDROID_ADB_SERVER_PORT": str(self.port)}

    def states(self) -> dict[str, str]:
        """Return each phone's state by serial, as the adb server lists it.

        Raises:
            OSError: There is no adb server.
        """
        return adb_server.list_states(self.port)

    def kill_server(self) -> None:
        """End the adb server, as `adb kill-server` does. Clients start another, which ends with the lab."""
        adb_server.kill(self.port)


@cache
def find_obstacle() -> str | None:
    """Return why stand-in phones cannot run here, or None. Fetches missing programs: only that shows that it can."""
    try:
        _check_namespaces()
        find_binaries()
    except StandInUnavailable as problem:
        return str(problem)
    return None


@contextlib.contextmanager
def start_lab(
    count: int, *, rooted: bool, api: int, abi: str | None, programs: Mapping[str, Path], products: Sequence[str] = ()
) -> Iterator[PhoneLab]:
    """Start phones and their adb server; see `harness.testing.phones.start_phones`."""
    _check_namespaces()
    binaries = find_binaries()
    if abi not in {None, ARM64, binaries.abi}:
        raise StandInUnavailable(f"no stand-in phone executes {abi} here: {binaries.abi} or {ARM64}")
    model = PhoneModel(
        serial=f"SI{secrets.token_hex(3).upper()}",
        abi=abi or binaries.abi,
        api=api,
        rooted=rooted,
        libraries=str(binaries.libraries),
        loader=binaries.loader,
        programs={
            "adbd": str(binaries.adbd),
            "sh": str(binaries.mksh),
            "toybox": str(binaries.toybox),
            **{name: str(program) for name, program in programs.items()},
        },
        arm64_interpreter=str(find_qemu()) if abi == ARM64 != binaries.abi else None,
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phones-", ignore_cleanup_errors=True)))
        loop = stack.enter_context(run_event_loop())
        port = stack.enter_context(adb_server.serve(folder))
        phones = tuple(
            stack.enter_context(
                _run_phone(folder / str(number), model.numbered(number, products or (PRODUCT,)), loop, port)
            )
            for number in range(count)
        )
        for phone in phones:
            adb_server.connect(port, phone.serial)
        if not shell.poll_until(lambda: all(phone.is_ready() for phone in phones), _READY_S):
            raise StandInUnavailable(f"the stand-in phones do not appear at the adb server: {_last_log_lines(folder)}")
        yield PhoneLab(port, phones)


@contextlib.contextmanager
def _run_phone(
    folder: Path, model: PhoneModel, loop: asyncio.AbstractEventLoop, server_port: int
) -> Iterator[StandInPhone]:
    folder.mkdir()
    with run_container(folder, model) as container:
        proxy = Proxy(container, loop, rooted=model.rooted)
        proxy.plug()
        try:
            yield StandInPhone(container, proxy, server_port)
        finally:
            proxy.unplug()


def _check_namespaces() -> None:
    """Try what every phone does first: enter namespaces, mount."""
    probe = Command(("unshare", *NAMESPACES, "mount", "-t", "proc", "proc", "/proc"), timeout_s=20.0)
    try:
        completed = shell.run(probe)
    except EnvironmentProblem as problem:
        raise StandInUnavailable(problem.message, hint="stand-in phones need Linux and util-linux") from problem
    if not completed.ok:
        raise StandInUnavailable(
            f"user namespaces cannot be used here: {completed.describe()}",
            hint="containers often forbid them (Docker: --security-opt seccomp=unconfined), and so may "
            "kernel.apparmor_restrict_unprivileged_userns or user.max_user_namespaces",
        )


def _last_log_lines(folder: Path) -> str:
    logs = [log.read_text(errors="replace").strip() for log in sorted(folder.glob("*/adbd.log"))]
    return "; ".join(log.rpartition("\n")[2] for log in logs if log) or "their logs are empty"
