"""The status file of FAI-PEP's `--status_file`: a person writes 0 into it, and the watcher stops."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from harness.core.errors import EnvironmentProblem


@dataclass(frozen=True, slots=True)
class Switch:
    """Whether a watcher shall go on.

    Attributes:
        file: The status file; None is always on.
    """

    file: Path | None = None

    def install(self) -> None:
        """Make the file, saying 1, when it is missing. One that says 0 stays: who stopped a watcher starts it again.

        Raises:
            EnvironmentProblem: It cannot be made.
        """
        if self.file is None:
            return
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError), self.file.open("x", encoding="utf-8") as file:
                file.write("1\n")
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot make the status file {self.file}: {error.strerror or error}", hint="is its folder yours?"
            ) from error

    def off(self) -> bool:
        """Whether it says 0. A file that cannot be read says nothing."""
        if self.file is None:
            return False
        try:
            return self.file.read_text(encoding="utf-8", errors="replace").strip() == "0"
        except OSError:
            return False
