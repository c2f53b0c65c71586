"""Our folder on a phone, and the folder of one session in it, which is gone afterwards, even when we were killed."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.android.files.eviction import Kept
from platforms.android.files.store import refused
from platforms.android.link.phone import Phone
from platforms.android.settings.clocks import CORES_SCRIPT

_OWN: Final = "edge-harness"

_BEGIN: Final = (
    r"""
mkdir -p "$1/store" "$1/programs" "$1/sessions" && cd "$1" || exit 1
for left in sessions/*; do rm -rf "$left"; done
mkdir "sessions/$2" || exit 1
df -k . 2>/dev/null
stat -c '%s %Y %n' store/* programs/*/* 2>/dev/null
echo '[cores]'
"""
    + CORES_SCRIPT
    + "\nexit 0\n"
)
_END: Final = 'rm -rf "$1/sessions/$2"'


def own_folder(android_dir: str) -> str:
    """The only folder on a phone in which we write or delete.

    Args:
        android_dir: What it lies in.

    Raises:
        UsageError: That is no place.
    """
    if not android_dir.startswith("/") or "\n" in android_dir or android_dir.strip("/") == "":
        raise UsageError(f"--android_dir {android_dir!r} is no folder of a phone", hint="/data/local/tmp is usual")
    return f"{android_dir.rstrip('/')}/{_OWN}"


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """What a session finds when it begins.

    Attributes:
        own: Our folder on the phone.
        path: The session's own.
        kept: What is kept beside it.
        cores: What `CORES_SCRIPT` printed.
    """

    own: str
    path: str
    kept: Kept
    cores: str


@contextlib.contextmanager
def session_folder(phone: Phone, own: str) -> Iterator[SessionFolder]:
    """Make a session's folder, and remove those that killed sessions left: the phone is held, nobody uses them.

    Args:
        phone: The phone, held.
        own: Our folder there.

    Raises:
        DeviceLost: The phone went away.
        EnvironmentProblem: It does not let us write there.
    """
    name = secrets.token_hex(6)
    said = phone.sh(_BEGIN, own, name)
    if said.exit_code:
        raise refused(phone.name, own, said)
    kept, _, cores = said.stdout.partition("[cores]\n")
    try:
        yield SessionFolder(own, f"{own}/sessions/{name}", Kept.parse(kept), cores)
    finally:
        with contextlib.suppress(EnvironmentProblem):  # then the next session removes it
            phone.sh(_END, own, name)
