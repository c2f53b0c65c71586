"""Where the changes of one phone are written down: on this machine, and on the phone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import quote

from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from platforms.android.changes import Change, Kind

_HEADER: Final = "edge-harness changes 1"
_FOOTER: Final = "end"


class _HostJournal(Value):
    version: Literal[1] = 1
    phone: str
    changes: tuple[Change, ...]


class JournalBroken(ValueError):
    """A journal that is not in its form."""


@dataclass(frozen=True, slots=True)
class Journals:
    """The two places where the changes of one phone are written down.

    Attributes:
        host: A file on this machine.
        phone: A file on the phone.
        identity: Which phone it is: an address may be another's tomorrow.
    """

    host: Path
    phone: str
    identity: str

    @classmethod
    def of(cls, cache_dir: Path, identity: str, own_folder: str) -> Self:
        """The usual places.

        Args:
            cache_dir: The harness's cache on this machine.
            identity: `Device.identity`.
            own_folder: Our folder on the phone.
        """
        return cls(cache_dir / "android" / f"{quote(identity, safe='')}.json", f"{own_folder}/changes", identity)

    def on_host(self) -> tuple[Change, ...]:
        """What is written down on this machine.

        Raises:
            JournalBroken: It cannot be read.
        """
        try:
            found = _HostJournal.model_validate_json(self.host.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, ValidationError) as error:
            raise JournalBroken(f"{self.host}: {error}") from error
        if found.phone != self.identity:
            raise JournalBroken(f"{self.host} is that of {found.phone}")
        return found.changes

    def keep_on_host(self, changes: Sequence[Change]) -> None:
        """Write down these and no others; whole or not at all, also when the machine fails.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        try:
            if not changes:
                self.host.unlink(missing_ok=True)
                return
            self.host.parent.mkdir(parents=True, exist_ok=True)
            partial = self.host.with_suffix(".new")
            with partial.open("w") as file:
                file.write(_HostJournal(phone=self.identity, changes=tuple(changes)).model_dump_json(indent=2))
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.host)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write down what is changed on the phone in {self.host}: {error.strerror}",
                hint="nothing was changed; check space and permissions there",
            ) from error


def parse_journal(lines: Sequence[str]) -> tuple[Change, ...]:
    """The phone's journal.

    Raises:
        JournalBroken: It is not in its form, whole and to the letter.
    """
    if not lines:
        return ()
    if lines[0] != _HEADER or lines[-1] != _FOOTER:
        raise JournalBroken("its first or last line is missing")
    changes = []
    for line in lines[1:-1]:
        words = line.split(" ")
        try:
            kind, name, before, ours = words
            changes.append(Change(kind=Kind(kind), name=name, before=before, ours=ours))
        except ValueError as error:  # pydantic's is one too
            raise JournalBroken(f"{line!r} is no change that the harness makes") from error
    return tuple(changes)


def journal_lines(changes: Sequence[Change]) -> tuple[str, ...]:
    """The phone's journal of these changes; the inverse of `parse_journal`."""
    return (_HEADER, *(change.line for change in changes), _FOOTER)
