"""What is to be on a phone, by content: which files a benchmark names, where they will be, and their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness import shell
from harness.core.errors import BenchmarkFailed, EnvironmentProblem

_CHUNK = 8 << 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file that must be on the phone.

    Attributes:
        local: The file here.
        sha256: Its hash.
        size_bytes: Its size.
        entry: What it belongs to in the store: `store/<sha256>`, or `programs/<digest of the set>`.
        place: Where it is below our folder.
        path: Where programs find it: a link in their folder, or the file itself.
    """

    local: Path
    sha256: str
    size_bytes: int
    entry: str
    place: str
    path: str

    @property
    def is_program(self) -> bool:
        """Whether it is started, and lies beside what it loads."""
        return self.place != self.entry


class _Stamp(NamedTuple):
    size_bytes: int
    mtime_ns: int
    inode: int


class Digests:
    """Hashes of files of this machine, each read once for as long as it is not changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_Stamp, str]] = {}

    def files(self, files: Mapping[str, Path], folder: str) -> list[Wanted]:
        """Files under given names in a folder of the phone.

        Raises:
            BenchmarkFailed: A name that cannot be.
            OSError: A file cannot be read.
        """
        wanted = []
        for name, local in files.items():
            if "\n" in name or ".." in Path(name).parts or name.startswith("/"):
                raise BenchmarkFailed(f"{name!r} cannot be a file's name on a phone", hint="give it another `filename`")
            sha256 = self.of(local)
            entry = f"store/{sha256}"
            wanted.append(Wanted(local, sha256, local.stat().st_size, entry, entry, f"{folder}/{name}"))
        return wanted

    def programs(self, programs: Mapping[str, Path], own: str) -> dict[str, Wanted]:
        """All programs of a build, in one folder that their names and contents name.

        Args:
            programs: By placeholder.
            own: Our folder on the phone.

        Raises:
            BenchmarkFailed: Two different ones have the same name.
            EnvironmentProblem: One of them is not there.
        """
        hashes: dict[str, str] = {}
        for local in programs.values():
            if not local.is_file() or "\n" in local.name:
                raise EnvironmentProblem(
                    f"no such program: {local}", hint="check --program, or delete the cached build"
                )
            if hashes.setdefault(local.name, self.of(local)) != self.of(local):
                raise BenchmarkFailed(f"two different programs are called {local.name}", hint="rename one of them")
        named = "".join(f"{name}\0{sha256}\n" for name, sha256 in sorted(hashes.items()))
        entry = f"programs/{hashlib.sha256(named.encode()).hexdigest()[:32]}"
        return {
            key: Wanted(
                local,
                hashes[local.name],
                local.stat().st_size,
                entry,
                place := f"{entry}/{local.name}",
                f"{own}/{place}",
            )
            for key, local in programs.items()
        }

    def of(self, local: Path) -> str:
        """The SHA-256 of a file, in hex.

        Raises:
            OSError: It cannot be read.
            Interrupted: The harness is being stopped.
        """
        found = local.stat()
        stamp = _Stamp(found.st_size, found.st_mtime_ns, found.st_ino)
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
