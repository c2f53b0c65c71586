"""Root access on a phone."""

from __future__ import annotations

from typing import Final

from platforms.android.link.phone import Phone
from platforms.android.scripts import read_script

_FIND: Final = read_script("root_prefix.sh")

FIND_S: Final = 40.0
"""Time limit of finding root access."""

ALLOW_ROOT: Final = "allow root for Shell in your root app, if the phone has one"
"""Hint for a phone that may be rooted and does not grant root access."""

UNROOTED: Final = "unrooted"
"""First line of `AS_ROOT` when it runs its script without root."""

AS_ROOT: Final = f"""{_FIND}
[ "$root" ] || {{ echo {UNROOTED}; root='sh -c'; }}
exec $root "$1"
"""
"""Runs the script that is its argument as root where possible, else says so and runs it without."""


def root_prefix(phone: Phone) -> str | None:
    """Return the words that run a script as root; None where that is not possible.

    Raises:
        DeviceLost: The phone became unreachable.
    """
    return phone.sh(_FIND + 'echo "$root"', timeout_s=FIND_S).stdout.strip() or None
