"""FAI-PEP's `--commit_file`: a text file with the last commit. It is where a watcher begins, and never ahead of it."""

from __future__ import annotations

from pathlib import Path

from harness.core.errors import EnvironmentProblem
from harness.files.atomic import write_atomically


def read_commit(file: Path) -> str | None:
    """The name of the commit in it; None where there is none yet.

    Raises:
        EnvironmentProblem: It cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise EnvironmentProblem(f"cannot read the commit file {file}: {error}", hint="it holds one hash") from error


def write_commit(file: Path, commit: str) -> None:
    """Put a commit in it, whole or not at all; on the disk when this returns.

    Raises:
        EnvironmentProblem: It cannot be written; what was there stays.
    """
    try:
        write_atomically(file, f"{commit}\n", durable=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write the commit file {file}: {error.strerror or error}", hint="results and state are safe"
        ) from error
