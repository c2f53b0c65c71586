"""Takes from the product what another system does not have. Python loads this at its start.

Only modules of the product are concerned: they get stand-ins of `os`, `signal` and others that lack names, cannot
import what is missing there, and see no `/proc` and `/sys`. Libraries keep what they need on this machine.
`EDGE_TEST_SYSTEM` names the system: `macos` (with Python 3.11) or `windows`. What Windows has instead (`LockFileEx`) is
played by `flock`.
"""

# ruff: noqa: ANN401 - it stands before functions with any arguments

from __future__ import annotations

import builtins
import fcntl
import io
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from types import FrameType, ModuleType
from typing import Any, Final

PRODUCT: Final = ("harness", "platforms", "frameworks", "reporters")
LINUX_ONLY: Final = {
    "os": {"sched_getaffinity", "sched_setaffinity", "posix_fadvise", "copy_file_range", "memfd_create", "pidfd_open"},
    "signal": {"pidfd_send_signal"},
    "time": {"CLOCK_BOOTTIME"},
}
MISSING: Final[Mapping[str, Mapping[str, set[str]]]] = {
    "macos": {**LINUX_ONLY, "os": LINUX_ONLY["os"] | {"waitid", "P_PID", "WNOWAIT"}},
    "windows": {
        **LINUX_ONLY,
        "os": LINUX_ONLY["os"]
        | {"waitid", "wait3", "wait4", "killpg", "setsid", "getpgid", "fork", "uname", "getuid", "geteuid", "getgid"}
        | {
            "getloadavg",
            "pread",
            "pwrite",
            "fchmod",
            "fchown",
            "chown",
            "mkfifo",
            "statvfs",
            "nice",
            "sysconf",
            "openpty",
        }
        | {"O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_DIRECTORY"},
        "signal": {"pidfd_send_signal", "SIGKILL", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD"},
        "time": {"CLOCK_BOOTTIME", "clock_gettime"},
        "select": {"poll", "epoll"},
        "socket": {"AF_UNIX"},
        "mmap": {"PROT_READ", "MAP_SHARED"},
    },
}
NO_MODULE: Final = {
    "macos": set[str](),
    "windows": {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty"},
}
NO_PROGRAM: Final = {"taskset", "setpriv"}
"""Programs that no other system has."""

_import = builtins.__import__


class Lacking(ModuleType):
    """A module without some of its names, or with others in their place."""

    def __init__(self, module: ModuleType, missing: set[str], instead: Mapping[str, object]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(instead)
        self.__dict__["_original"], self.__dict__["_missing"] = module, missing

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_missing"]:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return getattr(self.__dict__["_original"], name)


def take_away(system: str) -> None:
    """Let the product see this system."""
    names: dict[str, tuple[set[str], dict[str, object]]] = {
        module: (missing, {}) for module, missing in MISSING[system].items()
    }
    if system == "macos":
        names["sys"] = (set(), {"platform": "darwin"})
        names["psutil"] = (set(), {})
    stand_ins: dict[str, ModuleType] = {}

    def look(name: str, *arguments: Any, **keywords: Any) -> Any:
        module = _import(name, *arguments, **keywords)
        importer = (arguments[0] if arguments else keywords.get("globals")) or {}
        if not _is_product(importer.get("__name__", "")):
            return module
        if name in NO_MODULE[system]:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        if name not in names:
            return module
        if name == "psutil":
            if hasattr(module.Process, "cpu_affinity"):
                del module.Process.cpu_affinity
            return module
        return stand_ins.setdefault(name, Lacking(module, *names[name]))

    builtins.__import__ = look
    _hide_programs()
    _hide_kernel()
    if system == "windows":
        _refuse_symbolic_links()
        _play_locks()


def _is_product(module: str) -> bool:
    return module.partition(".")[0] in PRODUCT


def _hide_programs() -> None:
    which = shutil.which
    shutil.which = lambda cmd, *rest, **more: None if cmd in NO_PROGRAM else which(cmd, *rest, **more)  # type: ignore[assignment]


def _hide_kernel() -> None:
    """Let the product see no `/proc` and `/sys`, also through `pathlib`."""

    def hidden(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *arguments: Any, **keywords: Any) -> Any:
            if str(path).startswith(("/proc/", "/sys/")) and _caller_is_product():
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return original(path, *arguments, **keywords)

        return call

    io.open = builtins.open = hidden(io.open)
    for name in ("open", "stat", "scandir", "listdir", "readlink"):
        setattr(os, name, hidden(getattr(os, name)))


def _caller_is_product() -> bool:
    """Whether the first caller that is neither this module nor of the standard library is the product."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "sitecustomize"}:
            return _is_product(name)
        frame = frame.f_back
    return False


def _refuse_symbolic_links() -> None:
    def refuse(*_arguments: Any, **_keywords: Any) -> None:
        raise OSError(1314, "A required privilege is not held by the client")

    os.symlink = refuse


def _play_locks() -> None:
    locks = ModuleType("harness.files.posix_locks")

    def try_lock(descriptor: int, *, shared: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    locks.try_lock = try_lock  # type: ignore[attr-defined]
    sys.modules[locks.__name__] = locks


if "EDGE_TEST_SYSTEM" in os.environ:
    take_away(os.environ["EDGE_TEST_SYSTEM"])
