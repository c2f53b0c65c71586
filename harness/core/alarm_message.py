"""Message about alarms with one cause: one piece of news for people, whatever channel brings it."""

from typing import Annotated

from pydantic import Field

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.values import Value


class AlarmMessage(Value):
    """Alarms with one cause, as they are now, and what is new about them.

    Attributes:
        key: The same in every attempt to send this message; fits a header and a file name.
        group: Identity of the oldest of the alarms: the same in every message about them.
        event: What happened: `CLOSED` where all of them are over, `TEST` for a test.
        reports: The alarms, oldest first.
        new: Identities of the alarms that no earlier message through this channel was about.
        is_update: Whether an earlier message through this channel was about one of them.
        continued: Other groups of earlier messages, whose alarms turned out to have the same cause.
        page: Address of the page about them; empty where others cannot open it.
        place: Path of that page relative to the folder of results.
        received: Addresses that an earlier attempt reached, as `DeliveryFailed.received` named them: not sent to again.
    """

    key: str
    group: str
    event: AlarmEvent
    reports: Annotated[tuple[AlarmReport, ...], Field(min_length=1)]
    new: tuple[str, ...] = ()
    is_update: bool = False
    continued: tuple[str, ...] = ()
    page: str = ""
    place: str = ""
    received: tuple[str, ...] = ()
