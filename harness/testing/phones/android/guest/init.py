"""One boot of a stand-in phone: fresh processes, a fresh /proc, adbd. Runs inside the namespaces of its phone."""

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
"""What a shell of a phone sees."""

_FREEZE: Final = signal.SIGUSR1
_THAW: Final = signal.SIGUSR2
_IS_PROCESS: Final = "process"
_IS_UP: Final = "up"
_FAILED: Final = "failed"
"""What the processes of a boot report: one word, and something about it."""
_RESTART_S: Final = 0.1
"""How long init waits before it starts adbd again."""


@dataclass(frozen=True, slots=True)
class Boot:
    """A phone that is switched on.

    Attributes:
        launcher: Process that waits for the first process of the phone.
        first: First process of the phone, with which the others end.
    """

    launcher: int
    first: int

    def freeze(self) -> None:
        """Stop adbd, as in a phone that hangs."""
        os.kill(self.first, _FREEZE)

    def thaw(self) -> None:
        """Let adbd go on."""
        os.kill(self.first, _THAW)

    def end(self) -> None:
        """Switch it off: every process is gone when this returns."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.first, signal.SIGKILL)
        os.waitpid(self.launcher, 0)


def start(root: Path, *, rooted: bool) -> Boot:
    """Switch the phone on.

    The launcher exists because a process can make one namespace of processes for its children, and no second.

    Args:
        root: The file system of the phone, complete but for /proc.
        rooted: Whether adbd is root.

    Raises:
        OSError: The kernel refuses something.
    """
    reading, writing = os.pipe()
    launcher = _fork(lambda: _launch(root, rooted, writing))
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = dict(line.rstrip("\n").split(" ", 1) for line in pipe)
    if _IS_UP not in said:
        os.waitpid(launcher, 0)
        raise OSError(f"the phone does not boot: {said.get(_FAILED, 'it does not say why')}")
    return Boot(launcher, int(said[_IS_PROCESS]))


def _fork(work: Callable[[], None]) -> int:
    """Do work in a child, which never comes back here."""
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
    first = _fork(lambda: _live(root, rooted, report))
    os.write(report, f"{_IS_PROCESS} {first}\n".encode())
    os.close(report)
    os.waitpid(first, 0)


def _reset_clocks() -> None:
    """Let `uptime` begin at 0, where the kernel has namespaces of time (5.6 and later)."""
    with contextlib.suppress(OSError):
        syscalls.unshare(syscalls.NEW_TIME)
        offsets = []
        for name, clock in (("monotonic", time.CLOCK_MONOTONIC), ("boottime", time.CLOCK_BOOTTIME)):
            seconds, nanoseconds = divmod(-time.clock_gettime_ns(clock), 1_000_000_000)
            offsets.append(f"{name} {seconds} {nanoseconds}\n")
        Path("/proc/self/timens_offsets").write_text("".join(offsets))


def _live(root: Path, rooted: bool, report: int) -> None:
    """The first process: leave the machine's files, keep adbd running, and bury orphans."""
    syscalls.die_with_parent(signal.SIGKILL)
    try:
        _log_to(root.parent / "adbd.log")
        _enter(root)
    except OSError as error:
        os.write(report, f"{_FAILED} {error}\n".encode())
        return
    os.write(report, f"{_IS_UP} now\n".encode())
    os.close(report)
    daemon = _fork(lambda: _adbd(rooted))
    signal.signal(_FREEZE, lambda *_: os.kill(daemon, signal.SIGSTOP))
    signal.signal(_THAW, lambda *_: os.kill(daemon, signal.SIGCONT))
    while True:
        ended, _ = os.wait()
        if ended == daemon:
            time.sleep(_RESTART_S)
            daemon = _fork(lambda: _adbd(rooted))


def _enter(root: Path) -> None:
    """Let the phone's files be all there is.

    In this order: the kernel lets a user namespace mount /proc only where it sees a whole one already.
    """
    Path("/proc/self/comm").write_text("init")
    kernel = root / "proc"
    syscalls.mount("proc", kernel, syscalls.NO_SUID | syscalls.NO_DEVICES)
    syscalls.show(kernel / "sys", kernel / "sys")  # a phone's root may be this machine's root to the kernel
    if (kernel / "sysrq-trigger").exists():
        syscalls.show(Path(os.devnull), kernel / "sysrq-trigger", read_only=False)
    syscalls.show(root / "services/drop_caches", kernel / "sys/vm/drop_caches", read_only=False)
    identity = root / "dev/.boot_id"
    identity.write_text(f"{uuid.uuid4()}\n")
    syscalls.show(identity, kernel / "sys/kernel/random/boot_id")
    syscalls.enter(root)


def _log_to(file: Path) -> None:
    """Nobody reads what adbd says while it runs; a pipe would fill."""
    with file.open("ab") as log, Path(os.devnull).open("rb") as nothing:
        for source, target in ((nothing.fileno(), 0), (log.fileno(), 1), (log.fileno(), 2)):
            os.dup2(source, target)


def _adbd(rooted: bool) -> None:
    """Become adbd. The shell's user is ours in another namespace of users, where it has no rights over our mounts."""
    os.setsid()
    if not rooted:
        syscalls.unshare(syscalls.NEW_USERS)
        own = Path("/proc/self")
        (own / "setgroups").write_text("deny")
        (own / "uid_map").write_text(f"{SHELL_UID} 0 1")
        (own / "gid_map").write_text(f"{SHELL_UID} 0 1")
    os.umask(0)
    os.execve("/system/bin/adbd", ["adbd"], ENVIRONMENT)  # noqa: S606 - this process becomes the daemon
