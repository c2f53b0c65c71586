"""Wheels of ExecuTorch for other processors: fetched once, and kept in the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.errors import BuildFailed
from harness.core.protocols import Progress
from harness.files.digests import sha256_of_file
from harness.files.drafts import open_draft
from harness.shell import pip

_PACKAGE: Final = "executorch"


class CachedWheel(Struct, frozen=True):
    """Wheel in the cache.

    Attributes:
        path: The file.
        sha256: Its hash.
    """

    path: Path
    sha256: str


def fetch_wheel(version: str, machine: str, cache_dir: Path, progress: Progress) -> CachedWheel:
    """Return the wheel of a version for Linux on a processor, from the cache or the package index.

    Args:
        version: The version.
        machine: The processor, such as `aarch64`.
        cache_dir: The harness's cache; the wheel is in `wheels/executorch-<version>-<machine>`.
        progress: Shows that it is downloaded.

    Raises:
        BuildFailed: There is no such wheel, or the one in the cache was changed.
        EnvironmentProblem: The index cannot be reached.
        OSError: The wheel cannot be kept.
    """
    folder = cache_dir / "wheels" / f"{_PACKAGE}-{version}-{machine}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open_draft(folder.parent) as draft, progress.task(f"fetching {_PACKAGE} {version} for {machine} (once)"):
            draft.mkdir()
            wheel = pip.download_wheel(_PACKAGE, version, draft, machine=machine)
            (draft / "sha256").write_text(sha256_of_file(wheel), encoding="ascii")
            try:
                draft.rename(folder)
            except OSError:
                if not folder.exists():  # else another process was quicker
                    raise
    return _read(folder)


def _read(folder: Path) -> CachedWheel:
    remedy = f"remove {folder}: it is fetched again then"
    wheels = list(folder.glob("*.whl"))
    checksum = folder / "sha256"
    if len(wheels) != 1 or not checksum.is_file():
        raise BuildFailed(f"{folder} is incomplete", hint=remedy)
    sha256 = sha256_of_file(wheels[0])
    if sha256 != checksum.read_text(encoding="ascii"):
        raise BuildFailed(f"{wheels[0]} was changed since it was fetched", hint=remedy)
    return CachedWheel(wheels[0], sha256)
