"""Where the changes of one phone are written down: on this machine, and on the phone.

The phone's word counts: whichever host puts everything back removes it there. This machine's copy stands in for one
that is damaged, and counts only while the phone's is of the same run; what another host has put back long since is not
put back again, when its values may be a person's own wish.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import quote

from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.files.atomic import write_atomically
from platforms.android.settings.settings_log import Change, Kind

ON_PHONE: Final = "/data/local/tmp/edge-harness.changes"
"""The same for every host, whatever its `--android_dir`, and beside our folder, which a person may remove."""

_HEADER: Final = "edge-harness changes 2"
_FOOTER: Final = "end"
_RUN = re.compile(f"{_HEADER} ([0-9a-f]{{16}})")


class Written(Value):
    """What is written down in one place.

    Attributes:
        run: Whose changes they are: 16 hexadecimal digits, tossed when they were made.
        changes: The changes, in their order.
    """

    run: str
    changes: tuple[Change, ...]


class _HostJournal(Value):
    version: Literal[2] = 2
    phone: str
    written: Written


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
    def of(cls, cache_dir: Path, identity: str) -> Self:
        """The usual places.

        Args:
            cache_dir: The harness's cache on this machine.
            identity: `Device.identity`.
        """
        return cls(cache_dir / "android" / f"{quote(identity, safe='')}.json", ON_PHONE, identity)

    def on_host(self) -> Written | None:
        """What is written down on this machine, if anything.

        Raises:
            JournalBroken: It cannot be read.
        """
        try:
            found = _HostJournal.model_validate_json(self.host.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise JournalBroken(f"{self.host}: {error}") from error
        if found.phone != self.identity:
            raise JournalBroken(f"{self.host} is that of {found.phone}")
        return found.written

    def keep_on_host(self, run: str, changes: Sequence[Change]) -> None:
        """Write down these and no others; whole or not at all, also when the machine fails.

        Args:
            run: Whose they are.
            changes: The changes; none removes the journal.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        try:
            if not changes:
                self.host.unlink(missing_ok=True)
                return
            journal = _HostJournal(phone=self.identity, written=Written(run=run, changes=tuple(changes)))
            write_atomically(self.host, journal.model_dump_json(indent=2), durable=True)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write down what is changed on the phone in {self.host}: {error.strerror}",
                hint="nothing was changed; check space and permissions there",
            ) from error


def run_of(lines: Sequence[str]) -> str | None:
    """Whose changes the phone's journal holds, also when the rest of it is damaged; None without one."""
    found = _RUN.fullmatch(lines[0]) if lines else None
    return found[1] if found else None


def parse_journal(lines: Sequence[str]) -> Written | None:
    """The phone's journal, if there is one.

    Raises:
        JournalBroken: It is not in its form, whole and to the letter.
    """
    if not lines:
        return None
    run = run_of(lines)
    if run is None or lines[-1] != _FOOTER:
        raise JournalBroken("its first or last line is missing")
    changes = []
    for line in lines[1:-1]:
        words = line.split(" ")
        try:
            kind, name, before, ours = words
            changes.append(Change(kind=Kind(kind), name=name, before=before, ours=ours))
        except ValueError as error:  # pydantic's is one too
            raise JournalBroken(f"{line!r} is no change that the harness makes") from error
    return Written(run=run, changes=tuple(changes))


def journal_lines(written: Written) -> tuple[str, ...]:
    """The phone's journal; the inverse of `parse_journal`."""
    return (f"{_HEADER} {written.run}", *(change.line for change in written.changes), _FOOTER)
