"""Ports that lockdown opened for services."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

_FIRST: Final = 49152
_LAST: Final = 65535


@dataclass(slots=True)
class ServicePorts:
    """Ports of a phone's started services, each good for one connection. Any thread may use it."""

    _services: dict[int, tuple[str, str]] = field(default_factory=dict)
    _next: int = _FIRST
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, service: str, host_id: str) -> int:
        """Open a port for a service, on behalf of a computer; return its number."""
        with self._lock:
            port = self._next
            self._next = _FIRST if port == _LAST else port + 1
            self._services[port] = (service, host_id)
            return port

    def take(self, port: int) -> tuple[str, str] | None:
        """Return the service behind a port and the computer that asked for it, once; None if the port is closed."""
        with self._lock:
            return self._services.pop(port, None)

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            self._services.clear()
