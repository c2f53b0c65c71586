"""Whether we can be root on a phone, and how."""

from __future__ import annotations

from typing import Final

from platforms.android.link.phone import Phone

_FIND: Final = r"""
root=
if [ "$(id -u)" = 0 ]; then root='sh -c'
elif [ "$(timeout 5 su 0 id -u </dev/null 2>/dev/null)" = 0 ]; then root='su 0 sh -c'
elif [ "$(timeout 30 su -c 'id -u' </dev/null 2>/dev/null)" = 0 ]; then root='su -c'
fi
"""
"""Android's own `su` takes a user and a command, Magisk's a line behind `-c`. Both leave the standard input alone.

The second question may be put to a person by an app on the phone, and is given time for a finger to answer it.
"""

FIND_S: Final = 40.0
"""What both questions may take together."""

ALLOW: Final = "allow root for Shell in your root app, if the phone has one"
"""What a person can do about a phone that is rooted and does not let us be root."""

UNROOTED: Final = "unrooted"
"""What `AS_ROOT` prints first when it runs its script as anybody."""

AS_ROOT: Final = f"""{_FIND}
[ "$root" ] || {{ echo {UNROOTED}; root='sh -c'; }}
exec $root "$1"
"""
"""Runs the script that is its argument as root, or, where that is not possible, says so and runs it all the same."""


def as_root(phone: Phone) -> str | None:
    """What to write before a script so that root runs it; None where we cannot be root.

    Raises:
        DeviceLost: The phone went away.
    """
    return phone.sh(_FIND + 'echo "$root"', timeout_s=FIND_S).stdout.strip() or None
