"""Cache of the runners that are made here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from harness.core.errors import BuildFailed


def runners_folder(cache_dir: Path) -> Path:
    """Return the folder of all runners."""
    return cache_dir / "runners"


def runner_path(cache_dir: Path, digest: str) -> Path:
    """Return the path of a build's program, which may not exist yet; if it does, it is complete."""
    return runners_folder(cache_dir) / digest[:16] / "runner"


@contextlib.contextmanager
def disk_errors(cache_dir: Path) -> Iterator[None]:
    """Map errors of the operating system.

    Raises:
        BuildFailed: The runner cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise BuildFailed(
            f"the runner cannot be kept in {runners_folder(cache_dir)}: {error}",
            hint="choose another place with --cache-dir",
        ) from error
