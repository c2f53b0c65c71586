"""Stand-in Android phones: Debian's real adbd in namespaces of its own, behind a real adb server.

    with start_phones(2) as lab:
        settings = Settings(plug_ins=(AndroidOptions(adb_server=lab.server),))
        lab.phones[0].set_battery(level=12)
        lab.phones[1].unplug()

They need Linux, user namespaces, and adbd, mksh and toybox: of the machine (Debian 13), or else fetched once from the
machine's own Debian mirror into the user's cache (`python -m harness.testing.phones --fetch`); nothing is installed.
A fixture for tests:

    @pytest.fixture(scope="session")
    def lab() -> Iterator[PhoneLab]:
        if reason := unavailable_reason():
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
        with start_phones() as lab:
            yield lab

What they are not: no ART, so apps are scripts that a test lays down (`/data/app-hooks/<package>`); no SELinux, no GPU,
no USB, no heat of their own. The kernel, its /proc and its CPUs are this machine's; /sys is made of plain files.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from harness.testing.phones.unavailable import StandInUnavailable

if TYPE_CHECKING:
    from harness.testing.phones.android.lab import PhoneLab

__all__ = ["StandInUnavailable", "start_phones", "unavailable_reason"]

# The process inside each phone imports this package too: it must not import what that does not need.
# ruff: noqa: PLC0415


def start_phones(
    count: int = 1, *, rooted: bool = False, api: int = 34, abi: str | None = None
) -> AbstractContextManager[PhoneLab]:
    """Start stand-in phones, and a private adb server that lists them as `device`.

    All ends with the context, and with this process, however that ends.

    Args:
        count: How many.
        rooted: Whether adbd is root and there is `su`.
        api: Android's API level.
        abi: `arm64-v8a` for phones that execute that by qemu; None for what this machine executes.

    Raises:
        StandInUnavailable: This machine cannot have them; says why (on entering the context).
    """
    from harness.testing.phones.android import lab

    return lab.opened(count, rooted=rooted, api=api, abi=abi)


def unavailable_reason() -> str | None:
    """Why this machine cannot have stand-in phones; None where it can. The first call may fetch their parts."""
    from harness.testing.phones import availability

    return availability.reason()
