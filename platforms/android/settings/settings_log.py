"""Undo log of the phone settings that the harness changes: on this machine, and on the phone.

A setting is logged before it is changed and struck out when it is restored. The log is data in a strict form: it can
restore the settings of `changes`, and do nothing else.

The phone's log counts: whichever host restores everything removes it there. This machine's copy replaces one that is
damaged, and counts only while the phone's is of the same run; what another host has restored long since is not restored
again, when its values may be a person's own choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import quote

from msgspec import Struct
from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.values import Value
from harness.files.atomic import write_atomically
from platforms.android.settings.changes import SettingChange, SettingKind

LOG_ON_PHONE: Final = "/data/local/tmp/edge-harness.changes"
"""The same for every host, whatever its `--android-dir`, and beside our folder, which a person may remove."""

_HEADER: Final = "edge-harness changes 2"
_FOOTER: Final = "end"
_RUN = re.compile(f"{_HEADER} ([0-9a-f]{{16}})")


class LoggedChanges(Value):
    """Content of the log in one place.

    Attributes:
        run: Identifies the run that made the changes: 16 random hexadecimal digits.
        changes: The changes, in their order.
    """

    run: str
    changes: tuple[SettingChange, ...]


class _HostLog(Value):
    version: Literal[2] = 2
    phone: str
    written: LoggedChanges


class InvalidSettingsLog(ValueError):
    """A log that is damaged, or not ours."""


class SettingsLog(Struct, frozen=True):
    """The two places of the log of one phone.

    Attributes:
        host: A file on this machine.
        phone: A file on the phone.
        identity: Identity of the phone: an address may be another phone's tomorrow.
    """

    host: Path
    phone: str
    identity: str

    @classmethod
    def of(cls, cache_dir: Path, identity: str) -> Self:
        """Return the usual places.

        Args:
            cache_dir: The harness's cache on this machine.
            identity: `Device.identity`.
        """
        return cls(cache_dir / "android" / f"{quote(identity, safe='')}.json", LOG_ON_PHONE, identity)

    def read_host(self) -> LoggedChanges | None:
        """Read the log on this machine, if there is one.

        Raises:
            InvalidSettingsLog: It cannot be read.
        """
        try:
            log = _HostLog.model_validate_json(self.host.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise InvalidSettingsLog(f"{self.host}: {error}") from error
        if log.phone != self.identity:
            raise InvalidSettingsLog(f"{self.host} is that of {log.phone}")
        return log.written

    def write_host(self, run: str, changes: Sequence[SettingChange]) -> None:
        """Replace the log on this machine; whole or not at all, also after a power failure.

        Args:
            run: The run that made the changes.
            changes: The changes; none removes the log.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        try:
            if not changes:
                self.host.unlink(missing_ok=True)
                return
            log = _HostLog(phone=self.identity, written=LoggedChanges(run=run, changes=tuple(changes)))
            write_atomically(self.host, log.model_dump_json(indent=2), durable=True)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot log the changes of the phone's settings in {self.host}: {error.strerror}",
                hint="nothing was changed; check space and permissions there",
            ) from error


def parse_run(lines: Sequence[str]) -> str | None:
    """Return the run of the phone's log, also when the rest of it is damaged; None without a log."""
    match = _RUN.fullmatch(lines[0]) if lines else None
    return match[1] if match else None


def parse_log(lines: Sequence[str]) -> LoggedChanges | None:
    """Parse the phone's log, if there is one.

    Raises:
        InvalidSettingsLog: It is damaged, or not ours.
    """
    if not lines:
        return None
    run = parse_run(lines)
    if run is None or lines[-1] != _FOOTER:
        raise InvalidSettingsLog("its first or last line is missing")
    changes = []
    for line in lines[1:-1]:
        try:
            kind, name, before, ours = line.split(" ")
            changes.append(SettingChange(kind=SettingKind(kind), name=name, before=before, ours=ours))
        except ValueError as error:  # pydantic's is one too
            raise InvalidSettingsLog(f"{line!r} is no change that the harness makes") from error
    return LoggedChanges(run=run, changes=tuple(changes))


def format_log(log: LoggedChanges) -> tuple[str, ...]:
    """Return the lines of the phone's log; the inverse of `parse_log`."""
    return (f"{_HEADER} {log.run}", *(change.line for change in log.changes), _FOOTER)
