"""Stand-in phones: tests, and people without a phone at hand, use them as if they were phones on a cable.

A stand-in Android phone is Android's real adb daemon, shell and tools, as Debian packages them, in Linux namespaces of
its own. Nothing is simulated between the harness and the phone's shell. How it works:

1. `android/binaries.py` finds adbd, mksh and toybox on this machine, or fetches them once from the machine's own Debian
   mirror into the user's cache (`--fetch`). Nothing is installed.
2. `android/container.py` starts a process in new namespaces (users, mounts, processes, network): `guest/controller.py`,
   which makes the phone's file system (`guest/rootfs.py`) and boots it.
3. `guest/init.py` is process 1 of each boot: it starts adbd, starts it again, and reaps orphans.
4. Android's services (`dumpsys`, `settings`, `am`, ...) are one shell script over plain files below /services.
5. `android/proxy.py` is the cable: it listens on 127.0.0.1, carries ADB's packets to adbd, and breaks when told to.
6. `android/adb_server.py` runs a private adb server, which lists these phones and no others.

From tests:

    with start_phones(2) as lab:
        settings = Settings(plug_ins=(AndroidOptions(adb_server=lab.server),))
        lab.phones[0].set_battery(level=12)
        lab.phones[1].unplug()

or as a fixture:

    @pytest.fixture(scope="session")
    def lab() -> Iterator[PhoneLab]:
        if reason := unavailable_reason():
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
        with start_phones() as lab:
            yield lab

From a shell, until Ctrl-C: `python -m harness.testing.phones --phones 2`. `control.py` lets other processes unplug
them, freeze them and more: `python -m harness.testing.phones unplug 0`.

They need Linux with user namespaces. They have no ART, so apps are scripts that a test writes to
/data/app-hooks/<package>; no SELinux, no GPU, no USB, no heat of their own. The kernel, /proc and the CPUs are those of
this machine; /sys consists of plain files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import EnvironmentProblem

if TYPE_CHECKING:
    from harness.testing.phones.android.lab import PhoneLab
    from harness.testing.phones.ios.lab import IPhoneLab

__all__ = ["StandInUnavailable", "start_iphones", "start_phones", "unavailable_reason"]

# Processes inside a phone import this package too, without any installed package.
# ruff: noqa: PLC0415


class StandInUnavailable(EnvironmentProblem):
    """Stand-in phones cannot run on this machine; the message says what is missing."""


def start_phones(
    count: int = 1,
    *,
    rooted: bool = False,
    api: int = 34,
    abi: str | None = None,
    programs: Mapping[str, Path] | None = None,
    products: Sequence[str] = (),
) -> AbstractContextManager[PhoneLab]:
    """Start stand-in Android phones, and a private adb server that lists them as `device`.

    Everything ends with the context, and with this process, however that ends.

    Args:
        count: Number of phones.
        rooted: Whether adbd runs as root and there is `su`.
        api: Android's API level.
        abi: `arm64-v8a` for phones that execute it by qemu; None for what this machine executes.
        programs: Programs of this machine that take the place of the phone's, by name: `toybox` for all of Android's
            tools, or `setsid` for one of them. They are static, or find what they load in the phone.
        products: What the phones are, one after the other and again from the first, as `Pixel 8`: their classes in a
            lab. Empty for stand-ins.

    Raises:
        StandInUnavailable: This machine cannot have them; raised on entering the context.
    """
    from harness.testing.phones.android.lab import start_lab

    return start_lab(count, rooted=rooted, api=api, abi=abi, programs=programs or {}, products=products)


def start_iphones(count: int = 1, *, version: str = "16.7.10") -> AbstractContextManager[IPhoneLab]:
    """Start stand-in iPhones, which go-ios reaches through a usbmuxd of their own: see `harness.testing.phones.ios`.

    Everything ends with the context.

    Args:
        count: Number of phones.
        version: Version of iOS.

    Raises:
        StandInUnavailable: A package is missing here.
    """
    from harness.files.installation import install_command

    try:
        from harness.testing.phones.ios.lab import start_iphones as start
    except ModuleNotFoundError as error:
        raise StandInUnavailable(
            f"stand-in iPhones need the package {error.name}", hint=install_command(("stand-ins",))
        ) from error
    return start(count, version=version)


def unavailable_reason() -> str | None:
    """Return why this machine cannot have stand-in phones; None where it can. The first call may fetch programs."""
    from harness.testing.phones.android.lab import find_obstacle

    return find_obstacle()
