"""Failures between this machine and a phone as errors of the harness: the one place where foreign errors are mapped."""

from __future__ import annotations

import contextlib
import errno
import struct
from collections.abc import Iterator
from typing import Final

from harness.core.errors import DeviceLost, EnvironmentProblem, OutOfSpace
from platforms.android.link.adb_client import AdbError

_FILE_ERRORS: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EROFS, errno.EFBIG}
)
"""Error numbers that only files of this machine raise, and no socket."""


@contextlib.contextmanager
def map_errors(phone: str, doing: str) -> Iterator[None]:
    """Turn everything that adbutils, the adb server and its sockets raise into errors of the harness.

    `AdbError`, `EOFError`, `OSError` (including time-outs of sockets), `struct.error`, and the `ValueError` of
    answers that are no numbers all mean that the phone or the server is unreachable; an answer of the phone itself
    (unauthorised, offline, no such device) keeps its meaning and gets a remedy.

    Args:
        phone: Its name in messages.
        doing: What was being done, as in "lost Pixel 8 while it was asked for its state".

    Raises:
        DeviceLost: The phone, or the adb server, became unreachable or does not answer.
        EnvironmentProblem: The phone refuses access, or a file of this machine cannot be used.
    """
    try:
        yield
    except AdbError as error:
        raise _refused_error(phone, doing, str(error)) from error
    except TimeoutError as error:
        raise unresponsive_error(phone, doing) from error
    except OSError as error:
        if error.errno in _FILE_ERRORS:
            raise EnvironmentProblem(f"{error.filename or 'the disk of this machine'}: {error.strerror}") from error
        raise lost_error(phone, doing, str(error)) from error
    except (EOFError, struct.error, ValueError) as error:
        raise lost_error(phone, doing, str(error) or type(error).__name__) from error


def lost_error(phone: str, doing: str, reason: str = "the connection ended") -> DeviceLost:
    """Return the error of a connection that ended too early."""
    return DeviceLost(f"lost {phone} while {doing}: {reason}", hint="check the cable; `adb devices` lists what it sees")


def unresponsive_error(phone: str, doing: str) -> DeviceLost:
    """Return the error of a phone that did not answer in time."""
    return DeviceLost(
        f"{phone} did not answer in time while {doing}", hint="plug it in again, or restart it (`adb reboot`)"
    )


def out_of_space_error(phone: str, folder: str, reason: str) -> OutOfSpace:
    """Return the error of a phone whose storage is full."""
    return OutOfSpace(
        f"no space left on {phone} in {folder}: {reason}", hint="delete something there, or use another --android-dir"
    )


def _refused_error(phone: str, doing: str, reason: str) -> EnvironmentProblem:
    if "unauthorized" in reason:
        return EnvironmentProblem(
            f"{phone} does not trust this computer", hint='unlock it and answer "Allow USB debugging?" with yes'
        )
    if "more than one device" in reason:
        return EnvironmentProblem(
            f"several phones have the serial number {phone}, by which adb cannot tell them apart",
            hint="leave one of them plugged in; reach the others over the network (`adb tcpip 5555`)",
        )
    if "timeout" in reason:
        return unresponsive_error(phone, doing)
    return lost_error(phone, doing, reason or "the connection ended")
