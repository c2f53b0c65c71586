"""Requirements of plug-ins, as `harness doctor` checks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Finding(NamedTuple):
    """One line of `harness doctor`.

    Attributes:
        name: Name of the requirement.
        ok: True when it is met; None when a failure has a cost but stops nothing.
        found: Observation, in words.
        remedy: What to do when it is not met.
    """

    name: str
    ok: bool | None
    found: str
    remedy: str = ""


@runtime_checkable
class Diagnosable(Protocol):
    """A plug-in that can check its requirements."""

    def diagnose(self) -> Sequence[Finding]:
        """Check everything that this plug-in needs. Never raises."""
