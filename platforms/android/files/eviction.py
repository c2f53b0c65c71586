"""What lies in our folder on a phone when a session begins, and what must go to make room."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 16 << 30
"""What may be kept on a phone between sessions: a few large models."""
SHARE: Final = 2
"""What may be kept at most of the space that would be free without us: one part of so many."""
SPARE_BYTES: Final = 1 << 30
"""What is left free: Android thinks its storage low below 500 MiB (`StorageManager`, from 10 GiB on), and begins to
throw away what apps keep well before."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that is kept: a file, or the programs of a build.

    Attributes:
        size_bytes: All its files together.
        used: When a session last used it, by the phone's clock.
    """

    size_bytes: int
    used: float


@dataclass(frozen=True, slots=True)
class Kept:
    """Everything that is kept.

    Attributes:
        entries: By place: `store/...` or `programs/...`.
        free_bytes: What the storage still takes; None where the phone does not tell.
    """

    entries: Mapping[str, Entry]
    free_bytes: int | None

    @classmethod
    def parse(cls, text: str) -> Kept:
        """From the lines of `df -k`, then of `stat` (`size time place`); lines that are neither are passed over."""
        free, entries = None, dict[str, Entry]()
        for line in text.splitlines():
            words = line.split(" ", 2)
            if len(words) == 3 and words[0].isdigit() and words[1].isdigit() and words[2].count("/"):
                place = "/".join(words[2].split("/")[:2])
                before = entries.get(place, Entry(0, 0.0))
                entries[place] = Entry(before.size_bytes + int(words[0]), max(before.used, float(words[1])))
            else:
                free = _free(line) or free
        return cls(entries, free)


def evicted(kept: Kept, need_bytes: int, in_use: Collection[str], most_bytes: int = MOST_BYTES) -> list[str]:
    """What must go so that there is room: the longest unused first, and nothing that is in use.

    Args:
        kept: What is there.
        need_bytes: What is to come.
        in_use: Places that this session uses.
        most_bytes: What may be kept in all, where there is room for it: at most half of what is free without us, and
            1 GiB stays free.
    """
    kept_bytes = sum(entry.size_bytes for entry in kept.entries.values())
    if kept.free_bytes is not None:
        room_bytes = kept.free_bytes + kept_bytes
        most_bytes = min(most_bytes, room_bytes // SHARE, room_bytes - SPARE_BYTES)
    excess = kept_bytes + need_bytes - most_bytes
    places = []
    for place, entry in sorted(kept.entries.items(), key=lambda item: item[1].used):
        if excess > 0 and place not in in_use:
            places.append(place)
            excess -= entry.size_bytes
    return places


def _free(line: str) -> int | None:
    """The fourth column of `df -k`: KiB available."""
    words = line.split()
    return int(words[3]) * 1024 if len(words) >= 6 and words[3].isdigit() else None
