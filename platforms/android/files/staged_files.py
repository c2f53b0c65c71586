"""Files that a benchmark needs on a phone, addressed by content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from harness import shell
from harness.core.errors import BenchmarkFailed
from platforms.staging import FileStamp, missing_program

_CHUNK = 8 << 20


class StagedFile(Struct, frozen=True):
    """One file that must be on the phone.

    Attributes:
        local: The local file.
        sha256: Its hash.
        size_bytes: Its size.
        item: Item of the store that it belongs to: `store/<sha256>`, or `programs/<digest of the set>`.
        location: Its place below our working folder.
        path: Where programs find it: a link in their folder, or the file itself.
    """

    local: Path
    sha256: str
    size_bytes: int
    item: str
    location: str
    path: str

    @property
    def is_program(self) -> bool:
        """True for a program, which lies beside what it loads."""
        return self.location != self.item


class DigestCache:
    """Hashes of local files, each computed once for as long as the file stays as it was."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[FileStamp, str]] = {}

    def address_files(self, files: Mapping[str, Path], folder: str) -> list[StagedFile]:
        """Return files under given names in a folder of the phone.

        Raises:
            BenchmarkFailed: An invalid name.
            OSError: A file cannot be read.
        """
        staged = []
        for name, local in files.items():
            if "\n" in name or ".." in Path(name).parts or name.startswith("/"):
                raise BenchmarkFailed(f"{name!r} cannot be a file's name on a phone", hint="give it another `filename`")
            sha256 = self._sha256(local)
            item = f"store/{sha256}"
            staged.append(StagedFile(local, sha256, local.stat().st_size, item, item, f"{folder}/{name}"))
        return staged

    def address_programs(self, programs: Mapping[str, Path], workdir: str) -> dict[str, StagedFile]:
        """Return all programs of a build, in one folder that is addressed by their names and contents.

        Args:
            programs: By placeholder.
            workdir: Our working folder on the phone.

        Raises:
            BenchmarkFailed: Two different programs have the same name.
            EnvironmentProblem: One of them does not exist.
        """
        hashes: dict[str, str] = {}
        for local in programs.values():
            if not local.is_file() or "\n" in local.name:
                raise missing_program(local)
            if hashes.setdefault(local.name, self._sha256(local)) != self._sha256(local):
                raise BenchmarkFailed(f"two different programs are called {local.name}", hint="rename one of them")
        listing = "".join(f"{name}\0{sha256}\n" for name, sha256 in sorted(hashes.items()))
        item = f"programs/{hashlib.sha256(listing.encode()).hexdigest()[:32]}"
        return {
            key: StagedFile(
                local,
                hashes[local.name],
                local.stat().st_size,
                item,
                location := f"{item}/{local.name}",
                f"{workdir}/{location}",
            )
            for key, local in programs.items()
        }

    def _sha256(self, local: Path) -> str:
        """Return the hash of a file in hex. By hand, because hashing gigabytes must end when the harness is stopped."""
        stamp = FileStamp.read(local)
        known = self._known.get(local)
        if known is not None and known[0] == stamp:
            return known[1]
        digest = hashlib.sha256()
        with local.open("rb", buffering=0) as content:
            while chunk := content.read(_CHUNK):
                shell.check_stopping()
                digest.update(chunk)
        self._known[local] = (stamp, digest.hexdigest())
        return digest.hexdigest()
