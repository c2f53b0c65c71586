"""Clocks of hosts. Jobs and leases do not depend on them; the times of results are those of the host that measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from harness.lab.jobs import Place
from harness.presentation.numbers import format_duration

_TOLERATED_S: Final = 60.0
"""Answers of hosts take seconds to come."""


def find_wrong_clocks(places: Sequence[Place]) -> Mapping[str, float]:
    """Return how far the clock of a host is ahead of the one here, in seconds, by host; negative where it is behind."""
    return {place.host: place.clock_ahead_s for place in places if abs(place.clock_ahead_s) > _TOLERATED_S}


def explain_wrong_clocks(clocks: Mapping[str, float]) -> Sequence[str]:
    """Return a sentence for each host whose clock is wrong."""
    return [
        f"the clock of {host} is {format_duration(abs(ahead_s))} {'ahead' if ahead_s > 0 else 'behind'}, "
        "and so are the times of its results: set it"
        for host, ahead_s in sorted(clocks.items())
    ]
