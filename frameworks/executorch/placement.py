"""Where the partitions of a program were executed, as the app for iPhones tells it (`apple/placement.cpp`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.metric import Observation
from harness.core.note import Note

CORE_ML: Final = "CoreMLBackend"
"""Name under which ExecuTorch's Core ML delegate is registered."""

_PARTITION: Final = re.compile(r"RUN partition_([0-9]{1,6})")
_MOST_PLACES: Final = 6
"""Kinds of partitions that a note lists; most programs have one or two."""
_HINT: Final = (
    "the figures of Core ML are operators and the device that it prefers, which it may leave; `harness evaluate` "
    "compares the outputs with those of this machine"
)


def note_placement(observations: Sequence[Observation]) -> Iterator[Note]:
    """Yield a note that says which backend each partition has, and which devices Core ML prefers for its operators."""
    places: dict[str, list[int]] = {}
    for observation in observations:
        if (match := _PARTITION.fullmatch(observation.name)) and observation.info:
            partitions = places.setdefault(" ".join(observation.info.split()), [])
            if int(match[1]) not in partitions:
                partitions.append(int(match[1]))
    if not places:
        return
    kinds = [f"{place} ({_list(partitions)})" for place, partitions in places.items()]
    left_out = [f"and {len(kinds) - _MOST_PLACES} other kinds"] if len(kinds) > _MOST_PLACES else []
    has_core_ml = any(place.startswith(f"{CORE_ML}:") for place in places)
    yield Note(
        code="placement",
        message=f"where the program ran: {'; '.join((*kinds[:_MOST_PLACES], *left_out))}",
        hint=_HINT if has_core_ml else None,
    )


def _list(partitions: Sequence[int]) -> str:
    if len(partitions) == 1:
        return f"partition {partitions[0]}"
    first, last = min(partitions), max(partitions)
    if last - first + 1 == len(partitions):
        return f"partitions {first} to {last}"
    return f"{len(partitions)} partitions from {first} to {last}"
