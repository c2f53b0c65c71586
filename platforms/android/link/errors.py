"""What goes wrong between us and a phone, in our own words: the one place where foreign errors are mapped."""

from __future__ import annotations

import contextlib
import errno
import struct
from collections.abc import Iterator
from typing import Final

from adbutils import AdbError

from harness.core.errors import DeviceLost, EnvironmentProblem

_OF_FILES: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.EROFS, errno.EFBIG}
)
"""What only files of this machine answer, and no socket."""


@contextlib.contextmanager
def told(phone: str, doing: str) -> Iterator[None]:
    """Turn everything that adb, its server and its sockets raise into errors of the harness.

    `AdbError`, `EOFError`, `OSError` (time-outs of sockets are among them), `struct.error`, and the `ValueError` of an
    answer that is no number all mean that the phone or the server is not there any more; what the phone itself
    answered (unauthorised, offline, no such device) is told with its remedy.

    Args:
        phone: What a person calls it.
        doing: What was being done, as in "lost Pixel 8 while it was asked for its state".

    Raises:
        DeviceLost: The phone, or the adb server, went away or does not answer.
        EnvironmentProblem: It does not let us in, or a file of this machine does not.
    """
    try:
        yield
    except AdbError as error:
        raise _refused(phone, doing, str(error)) from error
    except TimeoutError as error:
        raise hung(phone, doing) from error
    except OSError as error:
        if error.errno in _OF_FILES:
            raise EnvironmentProblem(f"{error.filename or 'the disk of this machine'}: {error.strerror}") from error
        raise lost(phone, doing, str(error)) from error
    except (EOFError, struct.error, ValueError) as error:
        raise lost(phone, doing, str(error) or type(error).__name__) from error


def lost(phone: str, doing: str, reason: str = "the connection ended") -> DeviceLost:
    """The connection ended before what was asked for was there."""
    return DeviceLost(f"lost {phone} while {doing}: {reason}", hint="check the cable; `adb devices` lists what it sees")


def hung(phone: str, doing: str) -> DeviceLost:
    """It did not answer in time."""
    return DeviceLost(
        f"{phone} did not answer in time while {doing}", hint="plug it in again, or restart it (`adb reboot`)"
    )


def out_of_space(phone: str, where: str, said: str) -> EnvironmentProblem:
    """Its storage is full."""
    return EnvironmentProblem(
        f"no space left on {phone} in {where}: {said}", hint="delete something there, or use another --android_dir"
    )


def _refused(phone: str, doing: str, said: str) -> EnvironmentProblem:
    if "unauthorized" in said:
        return EnvironmentProblem(
            f"{phone} does not trust this computer", hint='unlock it and answer "Allow USB debugging?" with yes'
        )
    if "timeout" in said:
        return hung(phone, doing)
    return lost(phone, doing, said or "the connection ended")
