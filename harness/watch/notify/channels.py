"""Who delivers news of alarms, at least once each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from harness.core.errors import EnvironmentProblem
from harness.watch.store.records import News


class DeliveryFailed(EnvironmentProblem):
    """News could not be delivered.

    Args:
        message: Why; without credentials.
        final: Whether another attempt would fare no better.
    """

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class Courier(Protocol):
    """Delivers news, at least once. Used by one thread."""

    @property
    def name(self) -> str:
        """Which courier it is, also after a restart: each has each document once."""

    def deliver(self, news: News) -> str:
        """Deliver one document; the same key is the same document.

        Returns:
            What came of it, in words.

        Raises:
            DeliveryFailed: It was not delivered.
            Interrupted: The harness is being stopped.
        """


def names_of(couriers: Sequence[Courier]) -> tuple[str, ...]:
    """Their names."""
    return tuple(courier.name for courier in couriers)
