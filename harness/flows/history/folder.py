"""Folder of pages: files are written where they differ, and files of pages that are no longer made are removed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.values import Value
from harness.files.atomic import replacing, write_atomically
from harness.files.reading import RESULT_BYTES, read_bounded

MANIFEST: Final = ".harness-history.json"


class Manifest(Value):
    """Files that an earlier call wrote into the folder.

    Attributes:
        files: SHA-256 of each file, by its path relative to the folder.
    """

    files: dict[str, str] = {}


class PageFolder:
    """Writer of a folder of pages.

    The folder is new, or empty, or one that an earlier call wrote: nothing else is ever replaced or removed.

    Args:
        folder: The folder; made if missing.

    Attributes:
        written: Number of files that were new or different.
        kept: Number of files that were there already.

    Raises:
        UsageError: It holds files of somebody else.
        EnvironmentProblem: It cannot be read or made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written = 0
        self.kept = 0
        self._files: dict[str, str] = {}
        with _disk(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._before = _read_manifest(folder).files
            if not self._before:  # so that a later call knows the folder even if this one is interrupted
                self._write_manifest()

    def write(self, page: PurePosixPath, text: str) -> None:
        """Write one page.

        Raises:
            EnvironmentProblem: It cannot be written; pages that are there stay whole.
        """
        content = text.encode(errors="replace")
        path = self.folder / page
        digest = sha256(content).hexdigest()
        self._files[page.as_posix()] = digest
        if self._before.get(page.as_posix()) == digest and path.is_file():
            self.kept += 1
            return
        with _disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        self.written += 1

    @contextlib.contextmanager
    def open_file(self, page: PurePosixPath, version: str) -> Iterator[Path | None]:
        """Give a path to write a file that is not a page, or None where the same version of it is there.

        Args:
            page: Its place.
            version: Digest of what determines its content.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        path = self.folder / page
        self._files[page.as_posix()] = version
        if self._before.get(page.as_posix()) == version and path.is_file():
            self.kept += 1
            yield None
            return
        with _disk(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as draft:
                yield draft
        self.written += 1

    def finish(self) -> int:
        """Remove the files of pages that are no longer made, and return their number.

        Raises:
            EnvironmentProblem: The folder cannot be written.
        """
        gone = sorted(self._before.keys() - self._files.keys())
        with _disk(self.folder):
            for name in gone:
                path = self.folder / name
                path.unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # others are in it
                    path.parent.rmdir()
            self._write_manifest()
        return len(gone)

    def _write_manifest(self) -> None:
        write_atomically(self.folder / MANIFEST, Manifest(files=self._files).model_dump_json(indent=1) + "\n")


def _read_manifest(folder: Path) -> Manifest:
    file = folder / MANIFEST
    try:
        manifest = Manifest.model_validate_json(read_bounded(file, RESULT_BYTES))
    except FileNotFoundError:
        if any(folder.iterdir()):
            raise UsageError(
                f"{folder} holds files that are not pages of a history",
                hint="name a new or an empty folder with --output",
            ) from None
        return Manifest()
    except ValidationError as error:
        raise UsageError(
            f"{file} is damaged: the pages in {folder} are not known", hint="remove that folder, or name another one"
        ) from error
    inside = {name: digest for name, digest in manifest.files.items() if _is_inside(name)}
    return Manifest(files=inside)


def _is_inside(name: str) -> bool:
    """Return whether a name of the manifest, which anybody may have edited, is one of a file below the folder."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and bool(path.parts)


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {error.filename or path}: {error.strerror or error}",
            hint="free disk space or fix permissions there, or name another folder with --output",
        ) from error
