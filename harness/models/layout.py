"""Where files stand in the cache.

    <folder>/<format>/<model>/<tag>/<filename>                    downloads and copies
    <folder>/exports/<definition>/<recipe>/<key>/<filename>       exports, beside their `export.json`

A path always has the same content, so that a file cannot change under a running benchmark:

- The tag begins the promised MD5. Two specifications that give one name to different contents have a folder each,
  and two that promise the same content share it, whatever URL they name.
- Without a promise the tag is a digest of the location; for local files also of their size and modification time.
- The key is a digest of everything that determines an export.

Beside a file stand its stamp (see `stamps`), its lock and, while it is incomplete, its part.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from harness.core.benchmark import Export, Model, ModelFile
from harness.models.failures import unavailable
from harness.models.sources import Download, Source

EXPORT_REPORT = "export.json"
"""Name of the `ExportReport` in the folder of an export."""

_LAYOUT = 1
"""Part of every export key; raised when the meaning of a key changes."""

_TAG_LENGTH = 12
_KEY_LENGTH = 32
_LONGEST_SEGMENT = 80


@dataclass(frozen=True, slots=True)
class Place:
    """Where one file stands, and what stands beside it."""

    path: Path

    @property
    def part(self) -> Path:
        """The incomplete file; in the same folder, so that it becomes the file by renaming."""
        return self._beside(".part")

    @property
    def part_note(self) -> Path:
        """What the part is a part of."""
        return self._beside(".part.json")

    @property
    def stamp(self) -> Path:
        """What is known about the whole file."""
        return self._beside(".stamp.json")

    @property
    def lock(self) -> Path:
        """Held by the process that brings the file."""
        return self._beside(".lock")

    def discard_part(self) -> None:
        """Forget what was brought so far."""
        self.part_note.unlink(missing_ok=True)
        self.part.unlink(missing_ok=True)

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


@dataclass(frozen=True, slots=True)
class ExportPlace:
    """Where one export stands: a folder that is moved there whole.

    Attributes:
        folder: Named by the key.
        filename: The program's name in it.
    """

    folder: Path
    filename: str

    @property
    def program(self) -> Place:
        """The exported program."""
        return Place(self.folder / self.filename)

    @property
    def lock(self) -> Path:
        """Held by the process that exports; outside of the folder, which comes and goes."""
        return self.folder.with_name(f".{self.folder.name}.lock")

    @property
    def partial(self) -> Path:
        """The folder while it is incomplete."""
        return self.folder.with_name(f".{self.folder.name}.partial")

    @property
    def old(self) -> Path:
        """A folder that is being replaced."""
        return self.folder.with_name(f".{self.folder.name}.old")


def place_of(folder: Path, file: ModelFile, model: Model, source: Source) -> Place:
    """Where a downloaded or copied file stands.

    Raises:
        FileUnavailable: Its name leaves the cache.
        OSError: A local source cannot be looked at.
    """
    home = folder / segment(model.format) / segment(model.name) / _tag(file, source)
    return Place(inside(home, file))


def export_place_of(folder: Path, file: ModelFile, export: Export, fingerprint: Mapping[str, str]) -> ExportPlace:
    """Where an exported file stands.

    Raises:
        FileUnavailable: Its name leaves the cache, or is the one that the report has.
    """
    request = {
        "layout": _LAYOUT,
        "export": export.model_dump(mode="json"),
        "fingerprint": dict(fingerprint),
        "filename": file.filename,
    }
    key = _digest(json.dumps(request, sort_keys=True))[:_KEY_LENGTH]
    home = folder / "exports" / segment(export.definition) / segment(export.recipe) / key
    path = inside(home, file)
    if str(path.relative_to(home)).casefold() == EXPORT_REPORT:
        raise unavailable(file, "this name is the one of the export's own report", "choose another `filename`")
    return ExportPlace(home, file.filename)


def segment(name: str) -> str:
    """A name from a specification as one harmless path segment; different names may become equal."""
    plain = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:_LONGEST_SEGMENT].lstrip(".")
    return plain or "_"


def inside(folder: Path, file: ModelFile) -> Path:
    """The file's place in a folder: never outside of it, never the folder itself.

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


def _tag(file: ModelFile, source: Source) -> str:
    if file.md5 is not None:
        return segment(file.md5[:_TAG_LENGTH])
    if isinstance(source, Download):
        return "at-" + _digest(source.url, file.filename)[:_TAG_LENGTH]
    seen = source.path.stat()
    return "at-" + _digest(str(source.path), file.filename, str(seen.st_size), str(seen.st_mtime_ns))[:_TAG_LENGTH]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
