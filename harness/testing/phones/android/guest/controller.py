"""Makes one stand-in phone, boots it, and obeys its owner (`python -m`, see `container`).

It runs in the outer namespaces of the phone, and ends when its standard input does, with everything inside them. Its
owner sends requests over a socket: one per connection, one line of JSON; the answer is JSON too, with an open file
beside it where the request opens one.
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

from harness.testing.phones.android.guest import init, rootfs
from harness.testing.phones.android.guest.model import PhoneModel

READY: Final = "ready"

_ADB_PORT: Final = 5555
_BOOT_S: Final = 0.05
"""Seconds from adbd's start to `sys.boot_completed`."""
_POWERCTL_S: Final = 1.0
"""Seconds that a reboot takes which a program of the phone asks for."""
_IFF_UP: Final = 0x1
"""include/uapi/linux/if.h"""
_SIOCSIFFLAGS: Final = 0x8914
"""include/uapi/linux/sockios.h"""


class Controller:
    """Switches a phone on and off, and carries out its owner's requests.

    Args:
        root: Its file system.
        model: What kind of phone it is.
    """

    def __init__(self, root: Path, model: PhoneModel) -> None:
        self._root = root
        self._model = model
        self._switch_on_at: float | None = None
        self._booted_at: float | None = None
        self._boot: init.Boot | None = None

    def switch_on(self) -> None:
        """Boot it; the system is ready a moment later."""
        rootfs.reset(self._root, self._model)
        self._boot = init.boot(self._root, rooted=self._model.rooted)
        self._switch_on_at, self._booted_at = None, time.monotonic() + _BOOT_S

    def reboot(self, seconds: float) -> None:
        """Switch it off now, and on later."""
        rootfs.mark_shutdown(self._root)
        if self._boot is not None:
            self._boot.end()
        self._boot, self._booted_at, self._switch_on_at = None, None, time.monotonic() + seconds

    def do_due_work(self) -> float | None:
        """Do what is due, and return in how many seconds there is something to do next."""
        now = time.monotonic()
        if self._switch_on_at is not None and now >= self._switch_on_at:
            self.switch_on()
        if self._booted_at is not None and now >= self._booted_at:
            self._booted_at = None
            rootfs.mark_booted(self._root)
        due = [moment for moment in (self._switch_on_at, self._booted_at) if moment is not None]
        return max(0.0, min(due) - now) if due else None

    def answer(self, connection: socket.socket) -> None:
        """Carry out one request, and answer it."""
        request: dict[str, str] = json.loads(connection.makefile().readline() or "{}")
        descriptor: int | None = None
        answer = {"ok": "yes"}
        try:
            descriptor = self._carry_out(request)
        except OSError as error:
            answer = {"error": f"{error.strerror or error}: {request}", "errno": str(error.errno or errno.EIO)}
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(connection, [json.dumps(answer).encode()], [] if descriptor is None else [descriptor])
        if descriptor is not None:
            os.close(descriptor)

    def _carry_out(self, request: dict[str, str]) -> int | None:
        match request["action"]:
            case "connect":
                return _connect_to_adbd()
            case "open":
                return _open_in(self._root, request["path"], int(request["flags"]))
            case "reboot":
                self.reboot(float(request["seconds"]))
            case "fill":
                rootfs.fill_data(self._root, int(request["bytes_left"]))
            case "freeze":
                if self._boot is not None:
                    self._boot.freeze()
            case "thaw":
                if self._boot is not None:
                    self._boot.thaw()
            case action:
                raise OSError(errno.EINVAL, f"no such action: {action}")
        return None


def main() -> None:
    """Run a phone until standard input ends."""
    folder, model = Path(sys.argv[1]), PhoneModel.from_json(sys.argv[2])
    root = folder / "root"
    _bring_up_loopback()
    rootfs.make(root, model)
    controller = Controller(root, model)
    with socket.socket(socket.AF_UNIX) as control, (root / rootfs.POWERCTL).open("r+b", buffering=0) as powerctl:
        control.bind(str(folder / "control"))
        control.listen(64)
        controller.switch_on()
        print(READY, flush=True)
        _serve(controller, control, powerctl.fileno())


def _serve(controller: Controller, control: socket.socket, powerctl: int) -> None:
    while True:
        ready, _, _ = select.select([sys.stdin, control, powerctl], [], [], controller.do_due_work())
        if sys.stdin in ready:
            return
        if powerctl in ready:
            os.read(powerctl, 4096)
            controller.reboot(_POWERCTL_S)
        if control in ready:
            connection, _ = control.accept()
            with connection:
                controller.answer(connection)


def _open_in(root: Path, path: str, flags: int) -> int:
    """Open a file as the phone sees it, where links lead to its own files: in a child, because chroot is for good."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _send_opened(root, path, flags, theirs)
    theirs.close()
    with ours:
        message, descriptors, _, _ = socket.recv_fds(ours, 64, 1)
    os.waitpid(child, 0)
    if not descriptors:
        number = int(message or str(errno.EIO))
        raise OSError(number, os.strerror(number))
    return descriptors[0]


def _send_opened(root: Path, path: str, flags: int, receiver: socket.socket) -> None:
    try:
        os.chroot(root)
        os.umask(0)
        if flags & os.O_CREAT:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        socket.send_fds(receiver, [b"0"], [os.open(path, flags, 0o666)])
    except OSError as error:
        receiver.send(str(error.errno).encode())
    finally:
        os._exit(0)


def _connect_to_adbd() -> int:
    """Return a connection to adbd, which listens in this namespace only."""
    with socket.create_connection(("127.0.0.1", _ADB_PORT), timeout=1.0) as connection:
        connection.setblocking(False)
        return os.dup(connection.fileno())


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


if __name__ == "__main__":
    main()
