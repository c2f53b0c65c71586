"""Example folders and output folders: written one example at a time, read one example at a time.

A folder is complete or not there: it is made under a hidden name, its manifest is written last, and renaming completes
it. `harness.core.examples` describes the layout. Arrays are those of
`harness.files.tensors`. NumPy is imported when a folder is opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, Generic, TypeVar

from pydantic import ValidationError

from harness.core.errors import DataUnavailable
from harness.core.examples import (
    ITEM_BYTES,
    MANIFEST,
    DataRequest,
    ExampleManifest,
    OutputManifest,
    Split,
    Stage,
    TensorInfo,
)
from harness.files.atomic import sync, write_atomically
from harness.files.digests import sha256_of_file, sha256_of_texts
from harness.files.drafts import open_draft

if TYPE_CHECKING:
    from harness.files.tensors import Array

_REMEDY: Final = "delete the folder; it is made again when it is needed"

AnyManifest = TypeVar("AnyManifest", ExampleManifest, OutputManifest)


def input_file(folder: Path, number: int) -> Path:
    """Return the file with one input of all examples."""
    return folder / f"input-{number}.bin"


def output_file(folder: Path, number: int) -> Path:
    """Return the file with one output of all examples."""
    return folder / f"output-{number}.bin"


class TensorFolder(Generic[AnyManifest]):
    """Examples or outputs of a folder, in their order; each is read from the disk when it is asked for.

    Floating-point numbers and integers are NumPy arrays in the type of the file, read-only and not copied; `bfloat16`
    is converted to `float32`.

    Args:
        manifest: Its manifest.
        tensors: The inputs or outputs of one example.
        files: The file of each of them.
    """

    def __init__(self, manifest: AnyManifest, tensors: Sequence[TensorInfo], files: Sequence[Path]) -> None:
        from harness.files.tensors import map_tensor  # noqa: PLC0415 - NumPy takes 0.1 s

        self.manifest: AnyManifest = manifest
        self.tensors = tuple(tensors)
        self.files = tuple(files)
        self._maps = tuple(map_tensor(file, tensor, len(self)) for file, tensor in zip(files, tensors, strict=True))

    def __len__(self) -> int:
        return self.manifest.count

    def __getitem__(self, number: int) -> tuple[Array, ...]:
        """Return the arrays of one example, one for each input or output."""
        from harness.files.tensors import decode  # noqa: PLC0415

        if not 0 <= number < len(self):
            raise IndexError(number)
        pairs = zip(self._maps, self.tensors, strict=True)
        return tuple(decode(tensors[number, ...], tensor) for tensors, tensor in pairs)

    def __iter__(self) -> Iterator[tuple[Array, ...]]:
        return (self[number] for number in range(len(self)))


def read_examples(folder: Path) -> TensorFolder[ExampleManifest]:
    """Open an example folder.

    Raises:
        DataUnavailable: It is missing, incomplete, or its files do not fit its manifest.
    """
    manifest = _read_manifest(folder, ExampleManifest, "examples")
    if manifest.labels is not None and len(manifest.labels) != manifest.count:
        raise _damaged(folder, f"{MANIFEST} has {len(manifest.labels)} labels for {manifest.count} examples")
    return _open(folder, manifest, manifest.inputs, input_file)


def read_manifest(folder: Path) -> ExampleManifest:
    """Return the manifest of an example folder, without a look at its other files.

    Raises:
        DataUnavailable: It is missing or damaged.
    """
    return _read_manifest(folder, ExampleManifest, "examples")


def read_outputs(folder: Path) -> TensorFolder[OutputManifest]:
    """Open an output folder.

    Raises:
        DataUnavailable: It is missing, incomplete, or its files do not fit its manifest.
    """
    manifest = _read_manifest(folder, OutputManifest, "outputs")
    return _open(folder, manifest, manifest.outputs, output_file)


def verify_examples(folder: Path) -> ExampleManifest:
    """Return the manifest of an example folder after its digest was computed again.

    Raises:
        DataUnavailable: As for `read_examples`, or the content is not that of the digest.
    """
    manifest = read_examples(folder).manifest
    digests = [sha256_of_file(input_file(folder, number)) for number in range(len(manifest.inputs))]
    if _digest(manifest.inputs, digests, manifest.labels) != manifest.digest:
        raise _damaged(folder, "the content of its files has changed since they were written")
    return manifest


class FolderWriter:
    """Writer of a folder of tensors: one example after the other."""

    def __init__(self, tensors: Sequence[TensorInfo], files: Sequence[BinaryIO]) -> None:
        self._tensors = tuple(tensors)
        self._files = tuple(files)
        self._hashes = tuple(hashlib.sha256() for _ in files)
        self.count = 0
        self.labels: list[int] = []

    def add(self, arrays: Sequence[Array], label: int | None = None) -> None:
        """Write one example.

        Args:
            arrays: One array for each tensor, of its type and shape (`float32` for `bfloat16`).
            label: Its class; either each example has one, or none has.

        Raises:
            DataUnavailable: An array has another type or shape, or only some examples have labels.
        """
        from harness.files.tensors import encode  # noqa: PLC0415

        example = f"example {self.count}"
        if len(arrays) != len(self._tensors):
            raise DataUnavailable(f"{example} has {len(arrays)} tensors, expected {len(self._tensors)}")
        encoded = [encode(array, tensor, example) for array, tensor in zip(arrays, self._tensors, strict=True)]
        if (label is not None) != (len(self.labels) == self.count) and self.count:
            raise DataUnavailable(f"{example} has {'a' if label is not None else 'no'} label, unlike those before it")
        for content, file, digest in zip(encoded, self._files, self._hashes, strict=True):
            file.write(content)
            digest.update(content)
        if label is not None:
            self.labels.append(label)
        self.count += 1

    @property
    def digests(self) -> list[str]:
        """SHA-256 of each file so far."""
        return [digest.hexdigest() for digest in self._hashes]


@contextmanager
def write_examples(
    folder: Path,
    inputs: Sequence[TensorInfo],
    *,
    request: DataRequest,
    split: Split,
    description: str,
    classes: tuple[str, ...] | None = None,
) -> Iterator[FolderWriter]:
    """Give a writer; when the context ends without an error, the folder is complete, in place of one that was there.

    Args:
        folder: The folder; its parent is made when needed.
        inputs: Inputs of one example.
        request: The request that it fulfils.
        split: The part of the data set.
        description: Origin and preprocessing, for people.
        classes: Names of the classes.

    Raises:
        OSError: The folder cannot be written.
    """

    def manifest(writer: FolderWriter) -> ExampleManifest:
        labels = tuple(writer.labels) if writer.labels else None
        return ExampleManifest(
            request=request,
            split=split,
            description=description,
            inputs=tuple(inputs),
            count=writer.count,
            labels=labels,
            classes=classes,
            digest=_digest(inputs, writer.digests, labels),
        )

    with _writing(folder, inputs, input_file, manifest) as writer:
        yield writer


@contextmanager
def write_outputs(
    folder: Path, outputs: Sequence[TensorInfo], *, stage: Stage, examples: str, versions: dict[str, str] | None = None
) -> Iterator[FolderWriter]:
    """Give a writer, as `write_examples` does, of the outputs of one stage.

    Args:
        folder: The folder; its parent is made when needed.
        outputs: Outputs of one example.
        stage: The form of the model that computes them.
        examples: Digest of the examples.
        versions: Versions of what computes them.

    Raises:
        OSError: The folder cannot be written.
    """

    def manifest(writer: FolderWriter) -> OutputManifest:
        return OutputManifest(
            stage=stage, outputs=tuple(outputs), count=writer.count, examples=examples, versions=versions or {}
        )

    with _writing(folder, outputs, output_file, manifest) as writer:
        yield writer


def complete_outputs(folder: Path, manifest: OutputManifest) -> None:
    """Make an output folder of files that a runner wrote: `output-0.bin`, ... are there, the manifest is not yet.

    Raises:
        DataUnavailable: A file is missing, or its size does not fit the manifest.
        OSError: The manifest cannot be written.
    """
    _check_sizes(folder, manifest, manifest.outputs, output_file)
    write_atomically(folder / MANIFEST, manifest.model_dump_json(indent=2) + "\n")


@contextmanager
def _writing(
    folder: Path,
    tensors: Sequence[TensorInfo],
    file: Callable[[Path, int], Path],
    manifest: Callable[[FolderWriter], ExampleManifest | OutputManifest],
) -> Iterator[FolderWriter]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open_draft(folder.parent) as draft:
        draft.mkdir()
        paths = [file(draft, number) for number in range(len(tensors))]
        with ExitStack() as files:
            writer = FolderWriter(tensors, [files.enter_context(path.open("wb")) for path in paths])
            yield writer
        for path in paths:
            sync(path)
        write_atomically(draft / MANIFEST, manifest(writer).model_dump_json(indent=2) + "\n", durable=True)
        with open_draft(folder.parent) as old:
            if folder.exists():
                folder.rename(old)
            draft.rename(folder)


def _read_manifest(folder: Path, kind: type[AnyManifest], what: str) -> AnyManifest:
    try:
        return kind.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise DataUnavailable(f"{folder}: no folder of {what}: it has no {MANIFEST}", hint=_REMEDY) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise _damaged(folder, f"{MANIFEST}: {place + ': ' if place else ''}{first['msg']}") from error
    except OSError as error:
        raise DataUnavailable(f"{folder / MANIFEST}: {error.strerror or error}") from error


def _open(
    folder: Path, manifest: AnyManifest, tensors: Sequence[TensorInfo], file: Callable[[Path, int], Path]
) -> TensorFolder[AnyManifest]:
    _check_sizes(folder, manifest, tensors, file)
    return TensorFolder(manifest, tensors, [file(folder, number) for number in range(len(tensors))])


def _check_sizes(
    folder: Path,
    manifest: ExampleManifest | OutputManifest,
    tensors: Sequence[TensorInfo],
    file: Callable[[Path, int], Path],
) -> None:
    for number, tensor in enumerate(tensors):
        path = file(folder, number)
        if tensor.dtype not in ITEM_BYTES:
            raise _damaged(folder, f"{path.name} has the unknown element type `{tensor.dtype}`")
        expected = manifest.count * tensor.size_bytes
        try:
            actual = path.stat().st_size
        except OSError as error:
            raise _damaged(folder, f"{path.name}: {error.strerror or error}") from error
        if actual != expected:
            parts = f"{manifest.count} examples of {tensor.dtype} {list(tensor.shape)}"
            raise _damaged(folder, f"{path.name} has {actual} bytes; {parts} have {expected}")


def _damaged(folder: Path, problem: str) -> DataUnavailable:
    return DataUnavailable(f"{folder} is damaged: {problem}", hint=_REMEDY)


def _digest(tensors: Sequence[TensorInfo], digests: Sequence[str], labels: Sequence[int] | None) -> str:
    described = {
        f"input {number}": f"{tensor.dtype} {list(tensor.shape)} {digest}"
        for number, (tensor, digest) in enumerate(zip(tensors, digests, strict=True))
    }
    return sha256_of_texts({**described, "labels": json.dumps(None if labels is None else list(labels))})
