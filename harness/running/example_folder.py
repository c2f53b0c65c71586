"""Files of an example folder on their way to a device: all examples, or a chunk of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, Self

from msgspec import Struct

from harness.core.errors import BenchmarkFailed
from harness.core.examples import ExampleManifest
from harness.files.examples import input_file, read_examples

_COPIED_BYTES: Final = 8 << 20


class ExampleFolder(Struct, frozen=True):
    """An example folder (`harness.core.examples`) whose files have the sizes that its manifest tells.

    Attributes:
        folder: The folder.
        manifest: Its description.
    """

    folder: Path
    manifest: ExampleManifest

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read the description of a folder, and check the sizes of its files.

        Raises:
            BenchmarkFailed: It has no examples.
            DataUnavailable: It is no example folder, or is damaged.
        """
        manifest = read_examples(folder).manifest
        if manifest.count < 1:
            raise BenchmarkFailed(f"{folder} has no examples", hint="ask for more of them (`count`)")
        return cls(folder, manifest)

    def stage_files(self, first: int, count: int, scratch: Path) -> dict[str, Path]:
        """Return the files with some examples, by their names on a device.

        Args:
            first: Index of the first example.
            count: Number of examples.
            scratch: Folder for copies of chunks; all examples together are used where they are.
        """
        files = [input_file(self.folder, index) for index in range(len(self.manifest.inputs))]
        if count == self.manifest.count:
            return {f"examples/{file.name}": file for file in files}
        chunk = scratch / "examples"
        chunk.mkdir(parents=True, exist_ok=True)
        parts = {f"examples/{file.name}": chunk / f"{first}-{file.name}" for file in files}
        for file, copy, info in zip(files, parts.values(), self.manifest.inputs, strict=True):
            with file.open("rb") as whole, copy.open("wb") as part:
                whole.seek(first * info.size_bytes)
                copy_bytes(whole, part, count * info.size_bytes)
        return parts

    def has(self, files: Mapping[str, Path]) -> bool:
        """Return whether these files are the folder's own, and not copies."""
        return any(path.parent == self.folder for path in files.values())


def copy_bytes(source: BinaryIO, target: BinaryIO, count: int) -> None:
    """Copy so many bytes piecewise."""
    target.writelines(source.read(size) for size in _pieces(count))


def _pieces(count: int) -> Iterator[int]:
    yield from itertools.repeat(_COPIED_BYTES, count // _COPIED_BYTES)
    if count % _COPIED_BYTES:
        yield count % _COPIED_BYTES
