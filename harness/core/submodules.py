"""Which submodules of a commit a build needs: as recipes declare it, or as the user chooses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, Self

from msgspec import Struct

from harness.core.errors import UsageError

ALL: Final = "all"
NONE: Final = "none"


class SubmoduleSelection(Struct, frozen=True):
    """Submodules that a build needs.

    Attributes:
        paths: Their paths from the top of the tree, nested ones by their whole path; None for all, with nested ones.
    """

    paths: frozenset[PurePosixPath] | None = None

    def __str__(self) -> str:
        if self.paths is None:
            return ALL
        return " ".join(sorted(map(str, self.paths))) or NONE

    def needs(self, path: PurePosixPath) -> bool:
        """Return whether a submodule is needed: itself, or because a nested one is."""
        return self.paths is None or any(path == needed or path in needed.parents for needed in self.paths)

    @classmethod
    def parse(cls, words: Sequence[str], origin: str) -> Self:
        """Parse paths, or the single word `all` or `none`.

        Args:
            words: The words.
            origin: What they come from, for messages.

        Raises:
            UsageError: A path leads out of the tree, or `all` or `none` is among other words, or there are no words.
        """
        if list(words) == [ALL]:
            return cls()
        if list(words) == [NONE]:
            return cls(frozenset())
        hint = "give paths of submodules from the top of the repository, or the single word `all` or `none`"
        if not words:
            raise UsageError(f"{origin} names no submodule", hint=hint)
        for word in words:
            path = PurePosixPath(word)
            if word in {ALL, NONE} or path.is_absolute() or not path.parts or ".." in path.parts:
                raise UsageError(f"{origin}: `{word}` is no path of a submodule", hint=hint)
        return cls(frozenset(map(PurePosixPath, words)))


ALL_SUBMODULES: Final = SubmoduleSelection()
