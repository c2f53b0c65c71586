"""Devices in doubt, beside the results of a tree: `doubts.json`. The results stay as they were measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.files.locks import FileLock
from harness.files.reading import read_bounded

DOUBTS_FILE: Final = "doubts.json"
_LOCK_FILE: Final = ".doubts.lock"
_LOCK_S: Final = 10.0


class _Doubts(Value):
    doubts: tuple[DeviceDoubt, ...] = ()


def read_doubts(folder: Path) -> tuple[DeviceDoubt, ...]:
    """Return the doubts that are kept in a folder, also those that are resolved.

    Raises:
        EnvironmentProblem: The file is damaged, or cannot be read.
    """
    file = folder / DOUBTS_FILE
    try:
        return _Doubts.model_validate_json(read_bounded(file)).doubts
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise EnvironmentProblem(
            f"{file} cannot be read: {reason}", hint="it says which results are in doubt: restore or remove it"
        ) from error


def keep_doubts(folder: Path, doubts: Iterable[DeviceDoubt]) -> None:
    """Keep doubts in place of what was known of them; where there is nothing new, nothing is written.

    Raises:
        OSError: They cannot be written, or another process holds the lock for too long.
        EnvironmentProblem: The file is damaged.
    """
    given = tuple(doubts)
    if not given:
        return
    lock = FileLock(folder / _LOCK_FILE)
    folder.mkdir(parents=True, exist_ok=True)
    if not lock.acquire(_LOCK_S):
        raise TimeoutError(f"another process has held {lock.path} for {_LOCK_S:g} s")
    with lock:
        before = {(doubt.identity, doubt.since): doubt for doubt in read_doubts(folder)}
        after = {**before}
        for doubt in given:
            known = after.get((doubt.identity, doubt.since))
            if known is None or doubt.replaces(known):
                after[doubt.identity, doubt.since] = doubt
        if after != before:
            content = _Doubts(doubts=tuple(after.values())).model_dump_json(indent=2)
            write_atomically(folder / DOUBTS_FILE, content + "\n", durable=True)
