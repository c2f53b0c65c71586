"""Settings of the server: where it listens, whom it answers and how much it takes."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from harness.core.errors import UsageError

MIB: Final = 1 << 20


class ServerLimits(Struct, frozen=True):
    """Amounts that the server takes; what exceeds them is refused.

    Attributes:
        body_bytes: Largest body of a request, also after it was decompressed.
        pending_bytes: Bodies that are held in memory at once, of all requests together.
        batch: Most results in one request.
        artifact_bytes: Largest file of a result.
        body_s: Longest time that a client may take to send a body, in seconds.
        artifact_s: The same for a file.
        requests: Most requests that are answered at once.
        rate: Requests each second that one token or address may send for long.
        burst: Requests that it may send at once.
        open_runs: Most runs that one person may have asked for that have not ended.
    """

    body_bytes: int = 32 * MIB
    pending_bytes: int = 128 * MIB
    batch: int = 200
    artifact_bytes: int = 64 * MIB
    body_s: float = 60.0
    artifact_s: float = 600.0
    requests: int = 64
    rate: float = 100.0
    burst: float = 1000.0
    open_runs: int = 10


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Settings of the server.

    Attributes:
        host: Address or name that it listens at.
        port: Port; 0 takes any that is free.
        public_url: Address under which others reach it through a proxy; empty without one.
        allowed_hosts: Further names that requests may be addressed to (header `Host`).
        certificate: Certificate chain (PEM) for TLS; None without it.
        key: Its private key.
        limits: Amounts that it takes.
        json_log: Whether each line of its log is a JSON object.
        title: Name in the titles of pages.
        secret: Key that cookies and forms are signed with.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str = ""
    allowed_hosts: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    json_log: bool = False
    title: str = "harness"
    secret: bytes = field(default=b"", repr=False)

    @property
    def is_local(self) -> bool:
        """True if only this machine reaches it."""
        return is_loopback(self.host) and not self.public_url

    @property
    def root(self) -> str:
        """Path below which a proxy shows it, without a slash at its end."""
        return urlsplit(self.public_url).path.rstrip("/")

    @property
    def is_encrypted(self) -> bool:
        """True if clients reach it by https."""
        return self.certificate is not None or self.public_url.startswith("https:")

    @property
    def hosts(self) -> frozenset[str] | None:
        """Names that requests may be addressed to; None allows every name, where it listens at all addresses."""
        names = {*map(normalise_host, self.allowed_hosts)}
        if self.public_url:
            names.add(urlsplit(self.public_url).hostname or "")
        if is_loopback(self.host):
            return frozenset({*names, "localhost", "127.0.0.1", "::1", normalise_host(self.host)})
        if self.host in {"0.0.0.0", "::", ""}:  # noqa: S104 - compared, not listened at
            return frozenset({*names, "localhost", "127.0.0.1", "::1"}) if names else None
        return frozenset({*names, normalise_host(self.host)})

    def check(self) -> None:
        """Check that the settings go together.

        Raises:
            UsageError: They do not.
        """
        if (self.certificate is None) != (self.key is None):
            raise UsageError("--certificate and --key go together", hint="give both, or none and use a proxy for TLS")
        if not 0 <= self.port <= 65535:
            raise UsageError(f"--port {self.port}: must be between 0 and 65535")
        if self.public_url:
            parts = urlsplit(self.public_url)
            if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
                raise UsageError(
                    f"--public-url {self.public_url[:200]}: not an address of a server",
                    hint="give the address that people type: https://bench.example.org",
                )


def normalise_host(name: str) -> str:
    """Return the name of a host in lower case, without brackets and a dot at its end."""
    return name.strip().strip("[]").rstrip(".").lower()


def is_loopback(host: str) -> bool:
    """Return whether an address or name is that of this machine alone."""
    name = normalise_host(host)
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
