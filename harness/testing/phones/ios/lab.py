"""Several stand-in iPhones and their usbmuxd, from start to end."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric import rsa

from harness.testing.phones.ios.model import IPhoneModel
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.remote.services import list_services
from harness.testing.phones.ios.remote.tunnel_api import TunnelApi, start_tunnels
from harness.testing.phones.ios.usbmux.daemon import UsbMuxDaemon
from harness.testing.phones.ios.usbmux.pairing import Computer, Pairings, make_key

_BUILDS: Final = {"16": "20H350", "17": "21H16", "18": "22F76", "26": "23A341"}
"""A build of each iOS."""


@dataclass(frozen=True, slots=True)
class IPhoneLab:
    """Stand-in iPhones behind a usbmuxd of their own.

    Attributes:
        phones: The phones.
        usbmuxd: `127.0.0.1:PORT` of their usbmuxd.
        computer: Pair records of this machine with them.
        tunnels: Tunnels to phones with iOS 17 and later; None for older ones.
    """

    phones: Sequence[StandInIPhone]
    usbmuxd: str
    computer: Computer
    tunnels: TunnelApi | None = None

    @property
    def tunnel(self) -> str | None:
        """`127.0.0.1:PORT` at which the tunnels are looked up; None without any."""
        return None if self.tunnels is None else self.tunnels.address

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables with which go-ios reaches these phones, and no others."""
        host, _, port = (self.tunnel or "127.0.0.1:1").partition(":")
        return {
            "USBMUXD_SOCKET_ADDRESS": self.usbmuxd,
            "ENABLE_GO_IOS_AGENT": "no",
            "GO_IOS_AGENT_HOST": host,
            "GO_IOS_AGENT_PORT": port,
        }


@contextlib.contextmanager
def start_iphones(count: int = 1, *, version: str = "16.7.10") -> Iterator[IPhoneLab]:
    """Start stand-in iPhones, plugged in, trusted and unlocked.

    Everything ends with the context: connections, threads, files.

    Args:
        count: Number of phones.
        version: Version of iOS.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="iphones-", ignore_cleanup_errors=True)))
        key = make_key()
        phones = tuple(_make_phone(folder / str(number), number, version, key) for number in range(1, count + 1))
        for phone in phones:
            stack.callback(phone.process_table.kill_all)
        daemon = UsbMuxDaemon(phones, Computer())
        stack.enter_context(daemon.run())
        has_tunnels = any(phone.model.has_tunnel for phone in phones)
        tunnels = stack.enter_context(start_tunnels(phones, list_services())) if has_tunnels else None
        yield IPhoneLab(phones, daemon.address, daemon.computer, tunnels)


def _make_phone(folder: Path, number: int, version: str, key: rsa.RSAPrivateKey) -> StandInIPhone:
    folder.mkdir()
    udid, build = f"00008110-{secrets.token_hex(8).upper()}", _BUILDS.get(version.partition(".")[0], "20H350")
    model = IPhoneModel(udid, f"Stand-in iPhone {number}", version=version, build=build)
    return StandInIPhone(model, folder, Pairings(key, folder))
