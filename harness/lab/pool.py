"""Pool of a lab: why a device of a host gets no jobs, and what persons do about it.

A person's action travels as a file in the cache of the host, which the process of the device writes, and `harness lab
join` carries out and removes: so it is not lost while that is started anew. A device that was withdrawn stays so until
a person returns it.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError

from harness.core.device import Device
from harness.core.values import Value
from harness.files.atomic import write_atomically
from harness.lab.health import health_file, peek_health
from harness.lab.quiet_hours import QuietHours, quiet_until

_ACTIONS: Final = Path("lab", "actions")
_WITHDRAWN: Final = Path("lab", "withdrawn")
_DAY_S: Final = 86_400.0

Words = Annotated[str, Field(min_length=1, max_length=500)]


class PoolAction(StrEnum):
    """What a person does with a device."""

    WITHDRAW = "withdraw"
    RETURN = "return"
    CHECK = "check"


class PersonalAction(Value):
    """Action of a person.

    Attributes:
        action: What to do.
        person: Who.
        time: When, Unix seconds by the clock of the host.
        reason: Why; empty of a return or a check.
    """

    action: PoolAction
    person: Words
    time: float
    reason: Annotated[str, Field(max_length=500)] = ""


class Absence(Value):
    """Reason for which a device gets no jobs.

    Attributes:
        words: The reason, and since when or until when.
        returns_at: When it comes back by itself for sure, Unix seconds; None where that is not known.
    """

    words: str
    returns_at: float | None = None


def explain_absence(
    cache_dir: Path, device: Device, quiet_hours: Sequence[QuietHours], now: float, *, is_checked: bool
) -> Absence | None:
    """Return why a device gets no jobs; None where it gets some.

    Args:
        cache_dir: Cache of its host.
        device: The device.
        quiet_hours: Quiet hours of its host.
        now: Unix seconds.
        is_checked: Whether its health is checked.
    """
    withdrawn = read_withdrawal(cache_dir, device)
    if withdrawn is not None:
        since = f"{datetime.fromtimestamp(withdrawn.time, UTC):%Y-%m-%d %H:%M} UTC"
        return Absence(words=f"withdrawn by {withdrawn.person} since {since}: {withdrawn.reason}")
    reason = peek_health(health_file(cache_dir, device)).reason if is_checked else ""
    if reason:
        return Absence(words=f"out of the pool: {reason}")
    end = quiet_until(quiet_hours, datetime.fromtimestamp(now))  # noqa: DTZ006 - local time, as on the wall
    if end is not None:
        day = "" if end.timestamp() - now < _DAY_S else f"{end:%a} "
        return Absence(words=f"quiet hours until {day}{end:%H:%M}", returns_at=end.timestamp())
    return None


def request_action(cache_dir: Path, device: Device, action: PersonalAction) -> None:
    """Leave an action of a person to the host.

    Raises:
        OSError: It cannot be written.
    """
    file = cache_dir / _ACTIONS / f"{_key(device)}-{time.time_ns()}.json"
    write_atomically(file, action.model_dump_json(), durable=True)


def list_actions(cache_dir: Path, device: Device) -> Iterator[tuple[Path, PersonalAction]]:
    """Yield the actions that the host has not carried out, oldest first; a damaged one is removed."""
    for file in sorted((cache_dir / _ACTIONS).glob(f"{_key(device)}-*.json")):
        try:
            yield file, PersonalAction.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, ValidationError):
            with contextlib.suppress(OSError):
                file.unlink()


def read_withdrawal(cache_dir: Path, device: Device) -> PersonalAction | None:
    """Return who withdrew a device, and why; None where nobody did."""
    file = _withdrawal_file(cache_dir, device)
    try:
        return PersonalAction.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError):  # better no jobs than wrong figures
        return PersonalAction(
            action=PoolAction.WITHDRAW, person="somebody", time=0, reason=f"{file} is damaged: remove it"
        )


def write_withdrawal(cache_dir: Path, device: Device, action: PersonalAction) -> None:
    """Withdraw a device.

    Raises:
        OSError: It cannot be written.
    """
    write_atomically(_withdrawal_file(cache_dir, device), action.model_dump_json(), durable=True)


def remove_withdrawal(cache_dir: Path, device: Device) -> None:
    """Return a device that was withdrawn.

    Raises:
        OSError: The file cannot be removed.
    """
    _withdrawal_file(cache_dir, device).unlink(missing_ok=True)


def _withdrawal_file(cache_dir: Path, device: Device) -> Path:
    return cache_dir / _WITHDRAWN / f"{_key(device)}.json"


def _key(device: Device) -> str:
    return hashlib.sha256(device.identity.encode()).hexdigest()[:16]
