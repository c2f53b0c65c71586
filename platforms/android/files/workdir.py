"""Our working folder on a phone, and the folder of one session in it, which is removed even after a kill."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.files.eviction import StoreContents
from platforms.android.files.store import workdir_error
from platforms.android.launch.placement import CPUS_SCRIPT, CpuTopology
from platforms.android.link.phone import Phone
from platforms.android.scripts import read_script

_NAME: Final = "edge-harness"
_BEGIN: Final = f"{read_script('begin_session.sh')}{CPUS_SCRIPT}exit 0\n"
_END: Final = 'rm -rf "$1/sessions/$2"'


def workdir_in(android_dir: str) -> str:
    """Return the only folder on a phone in which we write or delete.

    Args:
        android_dir: Folder that contains it.

    Raises:
        UsageError: The folder is not an absolute path.
    """
    if not android_dir.startswith("/") or "\n" in android_dir or android_dir.strip("/") == "":
        raise UsageError(f"--android-dir {android_dir!r} is no folder of a phone", hint="/data/local/tmp is usual")
    return f"{android_dir.rstrip('/')}/{_NAME}"


class SessionFolder(Struct, frozen=True):
    """Folder of a session on a phone, and what the phone had when it began.

    Attributes:
        workdir: Our working folder.
        path: The session's own folder.
        contents: Contents of the store.
        cpus: CPUs of the phone.
    """

    workdir: str
    path: str
    contents: StoreContents
    cpus: CpuTopology


@contextlib.contextmanager
def session_folder(phone: Phone, workdir: str) -> Iterator[SessionFolder]:
    """Create a session's folder, and remove those of killed sessions: the phone is locked, nobody uses them.

    Args:
        phone: The phone, locked.
        workdir: Our working folder there.

    Raises:
        DeviceLost: The phone became unreachable.
        EnvironmentProblem: The folder cannot be written to.
    """
    name = secrets.token_hex(6)
    result = phone.sh(_BEGIN, workdir, name)
    if result.exit_code:
        raise workdir_error(phone.name, workdir, result)
    contents, _, cpus = result.stdout.partition("[cpus]\n")
    try:
        yield SessionFolder(
            workdir, f"{workdir}/sessions/{name}", StoreContents.parse(contents), CpuTopology.parse(cpus)
        )
    finally:
        with contextlib.suppress(EnvironmentProblem):  # then the next session removes it
            phone.sh(_END, workdir, name)
