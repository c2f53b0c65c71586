"""Ports that nobody else is given by chance."""

from __future__ import annotations

import secrets
from typing import Final

_PORTS: Final = range(16_384, 32_768)
"""Below those that Linux gives to whoever asks for any (Documentation/networking/ip-sysctl.rst, `ip_local_port_range`).

One of those could be another's before it is used, or while a phone that listened there is unplugged: even that of
whoever looks whether the phone is back.
"""


def chosen() -> int:
    """Some port, which may be in use all the same."""
    return secrets.choice(_PORTS)
