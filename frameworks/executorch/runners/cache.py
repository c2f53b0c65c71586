"""Where runners are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import BuildFailed


def runners_folder(cache_dir: Path) -> Path:
    """The folder of all runners."""
    return cache_dir / "runners"


def place(cache_dir: Path, digest: str) -> Path:
    """The program of a build, whether it is there or not. What is there is finished."""
    return runners_folder(cache_dir) / digest[:16] / "runner"


@contextlib.contextmanager
def disk_errors(cache_dir: Path) -> Iterator[None]:
    """Map what the disk has against a runner.

    Raises:
        BuildFailed: It cannot be kept there.
    """
    try:
        yield
    except OSError as error:
        raise BuildFailed(
            f"the runner cannot be kept in {runners_folder(cache_dir)}: {error}",
            hint="choose another place with --cache-dir",
        ) from error
