"""Doubt about a device: a check of its health was bad, so what it measured since its last good check may be wrong."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field

from harness.core.device import CLASS
from harness.core.note import Note
from harness.core.result import Result
from harness.core.values import Value

LAST_GOOD_CHECK: Final = "last_good_check"
"""Free value of a result: when the last good check of its device ended, Unix seconds."""

LAST_GOOD_CHECKS: Final = "last_good_checks"
"""The same of the result of a class: the times of each of its devices, by identity."""

IN_DOUBT: Final = "device_in_doubt"
"""Code of the note that a check of the device was bad afterwards."""

_LATEST_S: Final = 253_402_300_799.0
"""End of the year 9999."""

Moment = Annotated[float, Field(ge=0, le=_LATEST_S)]
Text = Annotated[str, Field(max_length=1000)]


class DeviceDoubt(Value):
    """Time in which a device may have measured wrong figures, because a check at the end of it was bad.

    Identity and `since` together are unique; the same doubt may be told again, with another end.

    Attributes:
        identity: Identity of the device.
        name: Its name.
        device_class: Its class in the lab.
        since: End of its last good check, Unix seconds.
        until: End of the last bad check in a row.
        reason: What was wrong, as the first check says that measured something.
        resolved: Whether a later check has shown that nothing was wrong with its figures: the bad ones could not
            measure, because it was too warm for example, and the next one was good.
    """

    identity: Annotated[str, Field(min_length=1, max_length=1000)]
    name: Text
    device_class: Text
    since: Moment
    until: Moment
    reason: Annotated[str, Field(min_length=1, max_length=4000)]
    resolved: bool = False

    @property
    def identities(self) -> tuple[str, str]:
        """Identities of results that it may be about: the device, and its class."""
        return self.identity, f"{CLASS}{self.device_class}"

    def replaces(self, earlier: "DeviceDoubt") -> bool:
        """Return whether it tells more than what was known of the same doubt: messages may arrive in any order."""
        return (self.until, self.resolved) > (earlier.until, earlier.resolved)

    def concerns(self, result: Result) -> bool:
        """Return whether a result is in doubt: of the device by its time, of a class by the checks of its devices."""
        if self.resolved or result.device is None or not result.ok:
            return False
        if result.device.identity == self.identity:
            return self.since <= result.started <= self.until
        return result.device.identity == f"{CLASS}{self.device_class}" and self.is_among(last_good_checks(result))

    def is_among(self, checks: Mapping[str, Sequence[float]]) -> bool:
        """Return whether something is in doubt that was measured after these last good checks (`last_good_checks`)."""
        return not self.resolved and self.since in checks.get(self.identity, ())

    @property
    def note(self) -> Note:
        """The note for readers of such a result."""
        since = datetime.fromtimestamp(self.since, UTC)
        return Note(
            code=IN_DOUBT,
            message=f"{self.name} had its last good check before this at {since:%Y-%m-%d %H:%M} UTC, and the next one "
            f"was bad: {self.reason}",
            hint="measure it again on a healthy device",
            trust=False,
        )


def last_good_checks(result: Result) -> dict[str, tuple[float, ...]]:
    """Return when the last good checks of the devices ended that gave a result, by identity; empty outside a lab."""
    checks, single = result.meta.get(LAST_GOOD_CHECKS), result.meta.get(LAST_GOOD_CHECK)
    if isinstance(checks, Mapping):
        return {str(identity): numbers for identity, times in checks.items() if (numbers := _numbers(times))}
    numbers = _numbers([single])
    return {result.device.identity: numbers} if result.device is not None and numbers else {}


def _numbers(times: object) -> tuple[float, ...]:
    """Return the numbers among values that others may have written."""
    return tuple(time for time in times if isinstance(time, int | float)) if isinstance(times, list | tuple) else ()


class PostedDoubts(Value):
    """Body of a request to a server of results.

    Attributes:
        doubts: The doubts.
    """

    doubts: Annotated[tuple[DeviceDoubt, ...], Field(max_length=1000)]


def mark_doubts(result: Result, doubts: Iterable[DeviceDoubt]) -> Result:
    """Return a result with a note of each doubt that concerns it. What is stored stays as it was measured."""
    notes = tuple(doubt.note for doubt in doubts if doubt.concerns(result))
    return result.model_copy(update={"notes": (*result.notes, *notes)}) if notes else result
