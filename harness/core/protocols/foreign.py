"""Formats of files that other tools write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # only `harness import` needs them
    from harness.core.foreign import ForeignContent


class ForeignFormat(Protocol):
    """Format of files in which another tool keeps its measurements. Stateless; used from any thread."""

    name: str
    """Name that `--format` takes."""

    marks: str
    """What a file of it contains, for people: they see it where no format recognises their file."""

    def recognises(self, text: str, name: str) -> bool:
        """Return whether a file is of this format, judged by its content first. Must be quick, and never raises.

        Args:
            text: Whole content of the file.
            name: Its name, without folders and without `.gz`; `-` for standard input.
        """

    def read(self, text: str, name: str) -> ForeignContent:
        """Read a file, of this format or not. Never raises: what cannot be understood is a problem with its place.

        Failures that the file reports are records with an outcome and a reason. Nothing is left out silently.

        Args:
            text: Whole content of the file, which may be hostile.
            name: Its name, as above.
        """
