"""The two files by which FAI-PEP's continuous mode is controlled: the last commit, and a switch that stops it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec import Struct

from harness.core.errors import EnvironmentProblem
from harness.files.atomic import write_atomically
from harness.files.reading import read_bounded


def read_commit(file: Path) -> str | None:
    """Return the name of the commit in a commit file (`--commit-file`); None where there is none yet.

    Raises:
        EnvironmentProblem: The file cannot be read.
    """
    try:
        return read_bounded(file).decode().strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise EnvironmentProblem(f"cannot read the commit file {file}: {error}", hint="it holds one hash") from error


def write_commit(file: Path, commit: str) -> None:
    """Write a commit into a commit file, whole or not at all; on the disk when this returns.

    Raises:
        EnvironmentProblem: It cannot be written; what was there stays.
    """
    try:
        write_atomically(file, f"{commit}\n", durable=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write the commit file {file}: {error.strerror or error}", hint="results and state are safe"
        ) from error


class StopFile(Struct, frozen=True):
    """Switch of a watcher (`--status-file`): a person writes 0 into the file, and the watcher stops.

    Attributes:
        file: The file; None never stops.
    """

    file: Path | None = None

    def create(self) -> None:
        """Create the file with a 1 when it is missing. A 0 stays: who stopped a watcher starts it again.

        Raises:
            EnvironmentProblem: It cannot be created.
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

    def is_stop_requested(self) -> bool:
        """Return whether the file contains 0. A file that cannot be read does not stop the watcher."""
        if self.file is None:
            return False
        try:
            return read_bounded(self.file).decode(errors="replace").strip() == "0"
        except OSError:
            return False
