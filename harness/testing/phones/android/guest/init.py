"""One boot of a stand-in phone: fresh processes, a fresh /proc, and process 1, which keeps adbd running."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import traceback
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.testing.phones.android.guest import syscalls

SHELL_UID: Final = 2000
"""`AID_SHELL`, system/core/libcutils/include/private/android_filesystem_config.h."""

ENVIRONMENT: Final = {
    "PATH": "/product/bin:/apex/com.android.runtime/bin:/system/bin:/system/xbin:/vendor/bin",
    "ANDROID_DATA": "/data",
    "ANDROID_ROOT": "/system",
    "ANDROID_STORAGE": "/storage",
    "EXTERNAL_STORAGE": "/sdcard",
    "ADB_EXTERNAL_STORAGE": "/sdcard",
    "TMPDIR": "/data/local/tmp",
    "HOME": "/",
    "SHELL": "/system/bin/sh",
}
"""Environment variables of adbd and of the shells that it starts."""

_FREEZE: Final = signal.SIGUSR1
_THAW: Final = signal.SIGUSR2
_PID: Final = "pid"
_UP: Final = "up"
_FAILED: Final = "failed"
"""Keys of what the processes of a boot report, one per line, with a value behind it."""
_RESTART_S: Final = 0.1
"""Seconds after which init starts adbd again."""


@dataclass(frozen=True, slots=True)
class Boot:
    """Phone that is switched on.

    Attributes:
        launcher: Process that waits for init.
        init: Process 1 of the phone, with which all others end.
    """

    launcher: int
    init: int

    def freeze(self) -> None:
        """Stop adbd, as in a phone that hangs."""
        os.kill(self.init, _FREEZE)

    def thaw(self) -> None:
        """Let adbd go on."""
        os.kill(self.init, _THAW)

    def end(self) -> None:
        """Switch it off; no process of the phone is left then."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.init, signal.SIGKILL)
        os.waitpid(self.launcher, 0)


def boot(root: Path, *, rooted: bool) -> Boot:
    """Switch the phone on.

    A launcher between this process and init is needed, because a process can make a process namespace for its children
    only once.

    Args:
        root: The file system of the phone, complete but for /proc.
        rooted: Whether adbd runs as root.

    Raises:
        OSError: The kernel refuses something.
    """
    reading, writing = os.pipe()
    launcher = _fork(lambda: _launch(root, rooted, writing))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        report = dict(line.rstrip("\n").split(" ", 1) for line in pipe)
    if _UP not in report:
        os.waitpid(launcher, 0)
        raise OSError(f"the phone does not boot: {report.get(_FAILED, 'for an unknown reason')}")
    return Boot(launcher, int(report[_PID]))


def _fork(work: Callable[[], None]) -> int:
    """Do work in a child process, which never returns from here."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except OSError:
        traceback.print_exc()
    finally:
        os._exit(1)


def _launch(root: Path, rooted: bool, report: int) -> None:
    syscalls.die_with_parent(signal.SIGKILL)
    syscalls.unshare(syscalls.NEW_MOUNTS | syscalls.NEW_PROCESSES)
    _reset_clocks()
    init = _fork(lambda: _run_init(root, rooted, report))
    os.write(report, f"{_PID} {init}\n".encode())
    os.close(report)
    os.waitpid(init, 0)


def _reset_clocks() -> None:
    """Let `uptime` begin at 0, where the kernel has namespaces of time (5.6 and later)."""
    with contextlib.suppress(OSError):
        syscalls.unshare(syscalls.NEW_TIME)
        offsets = []
        for name, clock in (("monotonic", time.CLOCK_MONOTONIC), ("boottime", time.CLOCK_BOOTTIME)):
            seconds, nanoseconds = divmod(-time.clock_gettime_ns(clock), 1_000_000_000)
            offsets.append(f"{name} {seconds} {nanoseconds}\n")
        Path("/proc/self/timens_offsets").write_text("".join(offsets))


def _run_init(root: Path, rooted: bool, report: int) -> None:
    """Be process 1: leave the machine's file system, keep adbd running, and reap orphans."""
    syscalls.die_with_parent(signal.SIGKILL)
    try:
        _log_to(root.parent / "adbd.log")
        _enter_root(root)
    except OSError as error:
        os.write(report, f"{_FAILED} {error}\n".encode())
        return
    os.write(report, f"{_UP} now\n".encode())
    os.close(report)
    daemon = _fork(lambda: _exec_adbd(rooted))
    signal.signal(_FREEZE, lambda *_: os.kill(daemon, signal.SIGSTOP))
    signal.signal(_THAW, lambda *_: os.kill(daemon, signal.SIGCONT))
    while True:
        ended, _ = os.wait()
        if ended == daemon:
            time.sleep(_RESTART_S)
            daemon = _fork(lambda: _exec_adbd(rooted))


def _enter_root(root: Path) -> None:
    """Make the phone's file system the only one.

    /proc comes first: the kernel lets a user namespace mount it only where a complete one is visible already.
    """
    Path("/proc/self/comm").write_text("init")
    kernel = root / "proc"
    syscalls.mount("proc", kernel, syscalls.NO_SUID | syscalls.NO_DEVICES)
    syscalls.bind(kernel / "sys", kernel / "sys")  # to the kernel, a phone's root may be this machine's root
    if (kernel / "sysrq-trigger").exists():
        syscalls.bind(Path(os.devnull), kernel / "sysrq-trigger", read_only=False)
    syscalls.bind(root / "services/drop_caches", kernel / "sys/vm/drop_caches", read_only=False)
    identity = root / "dev/.boot_id"
    identity.write_text(f"{uuid.uuid4()}\n")
    syscalls.bind(identity, kernel / "sys/kernel/random/boot_id")
    syscalls.pivot_root(root)


def _log_to(file: Path) -> None:
    """Redirect output to a file: nobody reads it while adbd runs, and a pipe would fill."""
    with file.open("ab") as log, Path(os.devnull).open("rb") as null:
        for source, target in ((null.fileno(), 0), (log.fileno(), 1), (log.fileno(), 2)):
            os.dup2(source, target)


def _exec_adbd(rooted: bool) -> None:
    """Become adbd. The user `shell` is ours in another user namespace, where it has no rights over our mounts."""
    os.setsid()
    if not rooted:
        syscalls.unshare(syscalls.NEW_USERS)
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{SHELL_UID} 0 1")
        (own / "gid_map").write_text(f"{SHELL_UID} 0 1")
    os.umask(0)
    os.execve("/system/bin/adbd", ["adbd"], ENVIRONMENT)  # noqa: S606 - this process becomes the daemon
