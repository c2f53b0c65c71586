"""Places on this machine in which files of phones arrive."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import EnvironmentProblem


@contextlib.contextmanager
def temporary_folder(beside: Path) -> Iterator[Path]:
    """Make a folder that is removed at the end, in the same file system as another, which is made if needed.

    Raises:
        EnvironmentProblem: It cannot be made, or what arrived in it cannot be put into its place.
    """
    try:
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=beside.resolve()) as folder:
            yield Path(folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise EnvironmentProblem(f"cannot write to {beside}: {error.strerror}") from error
