"""Contents of the store on a phone, and the choice of what is removed to make room."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Self

from msgspec import Struct

MOST_BYTES: Final = 16 << 30
"""Limit of the store between sessions: a few large models."""
SHARE: Final = 2
"""Divisor of the space that would be free without the store: at most this part of it may be used."""
SPARE_BYTES: Final = 1 << 30
"""Space left free: Android considers its storage low below 500 MiB (`StorageManager`, from 10 GiB on), and begins
to remove caches of apps well before."""


class StoredItem(Struct, frozen=True):
    """A stored file, or the stored programs of a build.

    Attributes:
        size_bytes: Size of all its files together.
        last_used: When a session last used it, by the phone's clock, in Unix seconds.
    """

    size_bytes: int
    last_used: float


class StoreContents(Struct, frozen=True):
    """Everything in the store of a phone.

    Attributes:
        items: By name: `store/...` or `programs/...`.
        free_bytes: Free space of the storage; None where the phone does not report it.
    """

    items: Mapping[str, StoredItem]
    free_bytes: int | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse lines of `df -k`, then of `stat` (`size time location`); other lines are skipped."""
        free_bytes, items = None, dict[str, StoredItem]()
        for line in text.splitlines():
            words = line.split(" ", 2)
            if len(words) == 3 and words[0].isdigit() and words[1].isdigit() and words[2].count("/"):
                name = "/".join(words[2].split("/")[:2])
                before = items.get(name, StoredItem(0, 0.0))
                items[name] = StoredItem(before.size_bytes + int(words[0]), max(before.last_used, float(words[1])))
            else:
                free_bytes = _available_bytes(line) or free_bytes
        return cls(items, free_bytes)

    def add(self, name: str, size_bytes: int) -> Self:
        """Return the contents with a file added to an item, which is in use from now on."""
        before = self.items.get(name, StoredItem(0, 0.0))
        item = StoredItem(before.size_bytes + size_bytes, float("inf"))
        return type(self)({**self.items, name: item}, self._free_with(-size_bytes))

    def remove(self, names: Collection[str]) -> Self:
        """Return the contents without these items."""
        removed_bytes = sum(item.size_bytes for name, item in self.items.items() if name in names)
        remaining = {name: item for name, item in self.items.items() if name not in names}
        return type(self)(remaining, self._free_with(removed_bytes))

    def _free_with(self, difference_bytes: int) -> int | None:
        return None if self.free_bytes is None else self.free_bytes + difference_bytes


def select_evictions(
    contents: StoreContents, need_bytes: int, in_use: Collection[str], most_bytes: int = MOST_BYTES
) -> list[str]:
    """Return the items to remove so that there is room: the least recently used first, and none that is in use.

    Args:
        contents: Contents of the store.
        need_bytes: Size of the files to come.
        in_use: Items that this session uses.
        most_bytes: Limit of the store where the storage is large enough: it takes at most half of the space that is
            free without it, and 1 GiB stays free.
    """
    stored_bytes = sum(item.size_bytes for item in contents.items.values())
    if contents.free_bytes is not None:
        room_bytes = contents.free_bytes + stored_bytes
        most_bytes = min(most_bytes, room_bytes // SHARE, room_bytes - SPARE_BYTES)
    excess_bytes = stored_bytes + need_bytes - most_bytes
    selected = []
    for name, item in sorted(contents.items.items(), key=lambda entry: entry[1].last_used):
        if excess_bytes > 0 and name not in in_use:
            selected.append(name)
            excess_bytes -= item.size_bytes
    return selected


def _available_bytes(line: str) -> int | None:
    """Parse the fourth column of `df -k`: KiB available."""
    words = line.split()
    return int(words[3]) * 1024 if len(words) >= 6 and words[3].isdigit() else None
