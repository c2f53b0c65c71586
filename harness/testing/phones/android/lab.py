"""Several stand-in phones and a private adb server, from start to end."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness import shell
from harness.testing.phones import arm64, availability, events
from harness.testing.phones.android import adb_server, binaries, container
from harness.testing.phones.android.guest.model import Model
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.phones.android.proxy import Cable
from harness.testing.phones.link_faults import Link
from harness.testing.phones.unavailable import StandInUnavailable

_READY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class PhoneLab:
    """Stand-in phones behind a private adb server.

    Attributes:
        port: Where the adb server listens on 127.0.0.1.
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
        """What a child process needs to reach the phones."""
        return {"HARNESS_ADB_SERVER": self.server, "ANDROID_ADB_SERVER_PORT": str(self.port)}

    def states(self) -> dict[str, str]:
        """What the adb server says about each phone, by serial.

        Raises:
            OSError: There is no adb server.
        """
        return adb_server.states(self.port)

    def kill_server(self) -> None:
        """End the adb server, as `adb kill-server` does. Clients start another, which ends with the lab."""
        adb_server.kill(self.port)


@contextlib.contextmanager
def opened(count: int, *, rooted: bool, api: int, abi: str | None) -> Iterator[PhoneLab]:
    """See `harness.testing.phones.start_phones`."""
    availability.check_namespaces()
    found = binaries.find()
    interpreter = arm64.interpreter() if abi == arm64.ABI and found.abi != arm64.ABI else None
    if abi not in {None, arm64.ABI, found.abi}:
        raise StandInUnavailable(f"no stand-in phone executes {abi} here: {found.abi} or {arm64.ABI}")
    token = secrets.token_hex(3).upper()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="phones-", ignore_cleanup_errors=True)))
        loop = stack.enter_context(events.running())
        port = stack.enter_context(adb_server.serving(folder))
        made = []
        for number in range(count):
            model = Model(
                serial=f"SI{token}{number:04}",
                abi=abi or found.abi,
                api=api,
                rooted=rooted,
                libraries=str(found.libraries),
                loader=found.loader,
                programs={"adbd": str(found.adbd), "sh": str(found.mksh), "toybox": str(found.toybox)},
                services=str(Path(__file__).parent / "guest" / "services"),
                arm64_interpreter=interpreter,
            )
            made.append(stack.enter_context(_phone(folder / str(number), model, loop, port)))
        lab = PhoneLab(port, tuple(made))
        for phone in lab.phones:
            adb_server.connect(port, phone.serial)
        if not shell.poll_until(lambda: all(phone.is_ready() for phone in lab.phones), _READY_S):
            raise StandInUnavailable(f"the stand-in phones do not appear at the adb server: {_last_words(folder)}")
        yield lab


@contextlib.contextmanager
def _phone(folder: Path, model: Model, loop: events.Events, port: int) -> Iterator[StandInPhone]:
    folder.mkdir()
    with container.running(folder, model) as hardware:
        link = Link()
        cable = Cable(hardware, link, rooted=model.rooted)
        loop.do(cable.plug())
        try:
            yield StandInPhone(hardware, cable, link, loop, port)
        finally:
            loop.do(cable.unplug())


def _last_words(folder: Path) -> str:
    """What their daemons said last."""
    logs = [log.read_text(errors="replace").strip() for log in sorted(folder.glob("*/adbd.log"))]
    return "; ".join(log.rpartition("\n")[2] for log in logs if log) or "they say nothing"
