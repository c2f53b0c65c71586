"""Whether we can be root on a phone, and how."""

from __future__ import annotations

from typing import Final

from platforms.android.phone import Phone

_SCRIPT: Final = r"""
if [ "$(id -u)" = 0 ]; then echo 'sh -c'
elif [ "$(timeout 5 su 0 id -u </dev/null 2>/dev/null)" = 0 ]; then echo 'su 0 sh -c'
elif [ "$(timeout 5 su -c 'id -u' </dev/null 2>/dev/null)" = 0 ]; then echo 'su -c'
fi
"""
"""Android's own `su` takes a user and a command, Magisk's a line behind `-c`."""


def as_root(phone: Phone) -> str | None:
    """What to write before a script so that root runs it; None where we cannot be root.

    Raises:
        DeviceLost: The phone went away.
    """
    return phone.sh(_SCRIPT).stdout.strip() or None
