"""FAI-PEP's `--commit_file`: a text file with the last commit. It is where a watcher begins, and never ahead of it."""

from __future__ import annotations

import os
from pathlib import Path

from harness.core.errors import EnvironmentProblem


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
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as stream:
            stream.write(f"{commit}\n")
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise EnvironmentProblem(
            f"cannot write the commit file {file}: {error.strerror or error}", hint="results and state are safe"
        ) from error
