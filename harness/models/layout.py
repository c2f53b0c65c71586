"""Layout of the cache.

    <folder>/<format>/<model>/<tag>/<filename>                    downloads and copies
    <folder>/exports/<definition>/<recipe>/<key>/<filename>       exports, beside their `export.json`

A path always has the same content, so that a file cannot change under a running benchmark:

- The tag begins the promised MD5. Two specifications that give one name to different contents have a folder each,
  and two that promise the same content share it, whatever URL they name.
- Without a promise the tag is a digest of the location; for local files also of their size and modification time.
- The key is a digest of everything that determines an export.

Beside a file are its fingerprint (`fingerprints`), its lock and, while it is incomplete, its part.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from msgspec import Struct

from harness.core.benchmark import Export, Model, ModelFile
from harness.models.errors import unavailable
from harness.models.locations import Download, FileLocation

EXPORT_REPORT = "export.json"
"""Name of the `ExportReport` in the folder of an export."""

_LAYOUT = 1
"""Part of every export key; raised when the meaning of a key changes."""

_TAG_LENGTH = 12
_KEY_LENGTH = 32
_LONGEST_SEGMENT = 80


class CachePlace(Struct, frozen=True):
    """Path of one file in the cache, and of what lies beside it."""

    path: Path

    @property
    def part(self) -> Path:
        """The incomplete file; in the same folder, because renaming completes it."""
        return self._beside(".part")

    @property
    def part_note(self) -> Path:
        """Source of the incomplete file (`download.PartialDownload`)."""
        return self._beside(".part.json")

    @property
    def fingerprint(self) -> Path:
        """Fingerprint of the complete file."""
        return self._beside(".stamp.json")

    @property
    def lock(self) -> Path:
        """Lock of the process that fetches the file."""
        return self._beside(".lock")

    def discard_part(self) -> None:
        """Delete what was fetched so far."""
        self.part_note.unlink(missing_ok=True)
        self.part.unlink(missing_ok=True)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


class ExportPlace(Struct, frozen=True):
    """Folder of one export in the cache, which is complete or not there.

    Attributes:
        folder: Its name is the key.
        filename: Name of the program in it.
    """

    folder: Path
    filename: str

    @property
    def program(self) -> CachePlace:
        """The exported program."""
        return CachePlace(self.folder / self.filename)

    @property
    def lock(self) -> Path:
        """Lock of the process that exports; outside of the folder, which is replaced."""
        return self.folder.with_name(f".{self.folder.name}.lock")

    @property
    def partial(self) -> Path:
        """The folder while it is incomplete."""
        return self.folder.with_name(f".{self.folder.name}.partial")

    @property
    def old(self) -> Path:
        """A folder that is being replaced."""
        return self.folder.with_name(f".{self.folder.name}.old")


def choose_place(folder: Path, file: ModelFile, model: Model, source: FileLocation) -> CachePlace:
    """Return the place of a downloaded or copied file.

    Raises:
        FileUnavailable: Its name leads out of the cache.
        OSError: A local source cannot be read.
    """
    home = folder / path_segment(model.format) / path_segment(model.name) / _tag(file, source)
    return CachePlace(path_inside(home, file))


def choose_export_place(folder: Path, file: ModelFile, export: Export, fingerprint: Mapping[str, str]) -> ExportPlace:
    """Return the place of an exported file.

    Raises:
        FileUnavailable: Its name leads out of the cache, or is that of the report.
    """
    request = {
        "layout": _LAYOUT,
        "export": export.model_dump(mode="json"),
        "fingerprint": dict(fingerprint),
        "filename": file.filename,
    }
    key = _digest(json.dumps(request, sort_keys=True))[:_KEY_LENGTH]
    home = folder / "exports" / path_segment(export.definition) / path_segment(export.recipe) / key
    path = path_inside(home, file)
    if path.relative_to(home).as_posix().casefold() == EXPORT_REPORT:
        raise unavailable(file, "this name is the one of the export's own report", "choose another `filename`")
    return ExportPlace(home, file.filename)


def path_segment(name: str) -> str:
    """Return a name as one harmless path segment; different names may become equal."""
    plain = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:_LONGEST_SEGMENT].lstrip(".")
    return plain or "_"


def path_inside(folder: Path, file: ModelFile) -> Path:
    """Return the path of the file in a folder: never outside of it, never the folder itself.

    Names that mean something else on another system are refused too, because the name is also used on devices.

    Raises:
        FileUnavailable: The name would lead elsewhere, or can be no name of a file.
    """
    name = file.filename
    windows = PureWindowsPath(name)
    leads_away = bool(windows.drive or windows.root) or ".." in windows.parts
    if leads_away or not _is_file_name(name):
        raise unavailable(
            file,
            f"`filename` {name!r} is not a relative path within the cache",
            "give a plain name such as `model.pte`",
        )
    return folder / PurePosixPath(name)


def _is_file_name(name: str) -> bool:
    if not name.isprintable() or "\\" in name:  # not printable: control characters, lone surrogates
        return False
    return all(part not in {"", ".", ".."} for part in name.split("/"))


def _tag(file: ModelFile, source: FileLocation) -> str:
    if file.md5 is not None:
        return path_segment(file.md5[:_TAG_LENGTH])
    if isinstance(source, Download):
        return "at-" + _digest(source.url, file.filename)[:_TAG_LENGTH]
    status = source.path.stat()
    return "at-" + _digest(str(source.path), file.filename, str(status.st_size), str(status.st_mtime_ns))[:_TAG_LENGTH]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
