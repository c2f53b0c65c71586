"""The power switch of one stand-in phone: what runs inside its namespaces (`python -m`, see `machine`).

It ends when its standard input does, and everything in its namespaces with it. Its owner asks over a socket: one
request a connection, one line of JSON; the answer is JSON too, with an open file beside it where one was asked for.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Final

from harness.testing.phones.android.guest import init, model, rootfs, syscalls

ADB_PORT: Final = 5555
READY: Final = "ready"
_BOOT_S: Final = 0.05
"""How long the system needs after adbd until `sys.boot_completed`."""
_UP: Final = 0x1
"""`IFF_UP`, include/uapi/linux/if.h."""
_SET_FLAGS: Final = 0x8914
"""`SIOCSIFFLAGS`, include/uapi/linux/sockios.h."""


class Phone:
    """The phone as its power switch sees it.

    Args:
        root: Its file system.
        model: What kind of phone it is.
    """

    def __init__(self, root: Path, model: model.Model) -> None:
        self._root = root
        self._model = model
        self._wake_at: float | None = None
        self._ready_at: float | None = None
        self._boot: init.Boot | None = None

    def switch_on(self) -> None:
        """Boot it; the system is ready a moment later."""
        rootfs.reset(self._root, self._model)
        self._boot = init.start(self._root, rooted=self._model.rooted)
        self._wake_at, self._ready_at = None, time.monotonic() + _BOOT_S

    def reboot(self, seconds: float) -> None:
        """Switch it off now, and on later."""
        rootfs.begin_to_end(self._root)
        if self._boot is not None:
            self._boot.end()
        self._boot, self._ready_at, self._wake_at = None, None, time.monotonic() + seconds

    def look_at_the_clock(self) -> float | None:
        """Do what is due. Returns in how many seconds there is something to do next."""
        now = time.monotonic()
        if self._wake_at is not None and now >= self._wake_at:
            self.switch_on()
        if self._ready_at is not None and now >= self._ready_at:
            self._ready_at = None
            rootfs.finish_booting(self._root)
        due = [moment for moment in (self._wake_at, self._ready_at) if moment is not None]
        return max(0.0, min(due) - now) if due else None

    def answer(self, connection: socket.socket) -> None:
        """Do what a request asks for, and say what came of it."""
        request: dict[str, str] = json.loads(connection.makefile().readline() or "{}")
        handle: int | None = None
        try:
            handle = self._do(request)
            said = {"ok": "yes"}
        except OSError as error:
            said = {"error": f"{error.strerror or error}: {request}", "number": str(error.errno or errno.EIO)}
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(connection, [json.dumps(said).encode()], [] if handle is None else [handle])
        if handle is not None:
            os.close(handle)

    def _do(self, request: dict[str, str]) -> int | None:
        match request["do"]:
            case "connect":
                return _connect()
            case "open":
                return self._open(request["path"], int(request["flags"]))
            case "reboot":
                self.reboot(float(request["seconds"]))
            case "fill":
                used = os.statvfs(self._root / "data")
                taken = (used.f_blocks - used.f_bfree) * used.f_frsize
                syscalls.mount(
                    "tmpfs", self._root / "data", syscalls.REMOUNT, f"size={max(1, taken + int(request['bytes_left']))}"
                )
            case "freeze" | "thaw" as wish if self._boot is not None:
                (self._boot.freeze if wish == "freeze" else self._boot.thaw)()
            case "freeze" | "thaw":
                pass  # it is off
            case wish:
                raise OSError(errno.EINVAL, f"no such request: {wish}")
        return None

    def _open(self, path: str, flags: int) -> int:
        """Open a file as the phone sees it, whose links lead to its own places: in a child, because roots stay."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            _open_in(self._root, path, flags, theirs)
        theirs.close()
        with ours:
            said, handles, _, _ = socket.recv_fds(ours, 64, 1)
        os.waitpid(child, 0)
        if not handles:
            number = int(said or b"5")
            raise OSError(number, os.strerror(number))
        return handles[0]


def main() -> None:
    """Be the power switch until standard input ends."""
    folder, phone_model = Path(sys.argv[1]), model.Model.from_json(sys.argv[2])
    root = folder / "root"
    _bring_up_loopback()
    rootfs.furnish(root, phone_model)
    phone = Phone(root, phone_model)
    with socket.socket(socket.AF_UNIX) as control, (root / rootfs.WISHES).open("r+b", buffering=0) as wishes:
        control.bind(str(folder / "control"))
        control.listen(64)
        phone.switch_on()
        print(READY, flush=True)
        _serve(phone, control, wishes.fileno())


def _serve(phone: Phone, control: socket.socket, wishes: int) -> None:
    while True:
        ready, _, _ = select.select([sys.stdin, control, wishes], [], [], phone.look_at_the_clock())
        if sys.stdin in ready:
            return
        if wishes in ready:
            os.read(wishes, 4096)
            phone.reboot(1.0)
        if control in ready:
            connection, _ = control.accept()
            with connection:
                phone.answer(connection)


def _open_in(root: Path, path: str, flags: int, answer: socket.socket) -> None:
    try:
        os.chroot(root)
        os.umask(0)
        if flags & os.O_CREAT:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, flags, 0o666)
        socket.send_fds(answer, [b"0"], [handle])
    except OSError as error:
        answer.send(str(error.errno).encode())
    finally:
        os._exit(0)


def _connect() -> int:
    """A connection to adbd, which listens in this namespace only."""
    with socket.create_connection(("127.0.0.1", ADB_PORT), timeout=1.0) as connection:
        connection.setblocking(False)
        return os.dup(connection.fileno())


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


if __name__ == "__main__":
    main()
