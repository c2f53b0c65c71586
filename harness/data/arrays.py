"""Provider `files`: arrays in files of NumPy and torch, of one example or of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.data.array_files import SUFFIXES, read_arrays
from harness.data.array_shapes import convert_type, split_examples
from harness.data.choice import choose
from harness.data.labels import read_labels
from harness.data.options import ProviderOptions, describe_inputs, parse_options
from harness.data.provider import DataSet, Example
from harness.files.digests import sha256_of_file
from harness.files.tensors import Array


class FileOptions(ProviderOptions):
    """Options of `files`.

    Attributes:
        path: A file or folder with all inputs; or one for each input, by its name or in their order.
        labels: File with the class of each example.
        classes: Names of the classes.
    """

    path: str | list[str] | dict[str, str]
    labels: str | None = None
    classes: list[str] | None = None


class ArrayFiles:
    """Arrays of files, as they are, in the types of the model's inputs."""

    def fingerprint(
        self,
        request: DataRequest,
        inputs: tuple[Input, ...],
        split: Split,  # noqa: ARG002 - the same file holds both
    ) -> Mapping[str, str]:
        """Return the digests of all files."""
        options = parse_options(request, FileOptions)
        groups = [files for _, files in self._groups(options, _tensors(inputs))]
        files = [*(file for files in groups for file in files), *([Path(options.labels)] if options.labels else [])]
        return {f"file {number}": sha256_of_file(file) for number, file in enumerate(files)}

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        """Return the examples in the order of the files, or as many as are asked for in an order by the seed."""
        options, tensors = parse_options(request, FileOptions), _tensors(inputs)
        columns: dict[str, list[Array]] = {}
        for group, files in self._groups(options, tensors):
            for file in files:
                arrays = read_arrays(file, [tensor.name for tensor in group])
                for tensor, array in zip(group, arrays, strict=True):
                    columns.setdefault(tensor.name, []).append(split_examples(array, tensor, file))
        counts = {name: sum(map(len, arrays)) for name, arrays in columns.items()}
        if len(set(counts.values())) > 1:
            numbers = ", ".join(f"{count} of `{name}`" for name, count in counts.items())
            raise DataUnavailable(f"data `files`: the inputs have unequally many examples: {numbers}")
        available = next(iter(counts.values()))
        labels = read_labels(Path(options.labels), available) if options.labels else None
        chosen = choose(request, available, split)
        rows = {name: [(part, row) for part in parts for row in range(len(part))] for name, parts in columns.items()}

        def examples() -> Iterator[Example]:
            for number in chosen:
                arrays = []
                for tensor in tensors:
                    part, row = rows[tensor.name][number]
                    arrays.append(convert_type(part[row, ...], tensor, f"example {number}"))
                yield Example(tuple(arrays), None if labels is None else labels[number])

        converted = {
            f"{part.dtype} to {tensor.dtype}"
            for tensor in tensors
            for part in columns[tensor.name]
            if part.dtype != np.dtype(tensor.dtype)
        }
        names = ", ".join(_names(options))
        description = f"files {names}: {len(chosen)} of {available} examples"
        if converted:
            description += f", converted from {', '.join(sorted(converted))}"
        classes = None if options.classes is None else tuple(options.classes)
        return DataSet(tensors, len(chosen), description, examples(), classes)

    def _groups(
        self, options: FileOptions, tensors: Sequence[TensorInfo]
    ) -> list[tuple[Sequence[TensorInfo], list[Path]]]:
        """Return inputs with the files that hold them."""
        path = options.path
        if isinstance(path, str):
            return [(tensors, _files(Path(path)))]
        names = [tensor.name for tensor in tensors]
        if isinstance(path, list):
            if len(path) != len(tensors):
                raise DataUnavailable(
                    f"data `files`: {len(path)} paths for {len(tensors)} inputs",
                    hint=f"give one for each of: {', '.join(names)}",
                )
            path = dict(zip(names, path, strict=True))
        if path.keys() != set(names):
            raise DataUnavailable(
                f"data `files`: paths of {', '.join(path) or 'nothing'}, but the inputs are {', '.join(names)}"
            )
        return [((tensor,), _files(Path(path[tensor.name]))) for tensor in tensors]


def create(_settings: object) -> ArrayFiles:
    """Return the provider."""
    return ArrayFiles()


def _tensors(inputs: tuple[Input, ...]) -> tuple[TensorInfo, ...]:
    if not inputs:
        raise DataUnavailable(
            "data `files` needs the shapes of the model's inputs", hint="name them in `inputs` of the test"
        )
    return describe_inputs(inputs)


def _files(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of their names."""
    if not path.is_dir():
        if not path.is_file():
            raise DataUnavailable(f"data `files`: there is no {path}", hint="paths are relative to the specification")
        return [path]
    files = sorted((file for file in path.iterdir() if file.suffix in SUFFIXES), key=lambda file: file.name)
    if not files:
        raise DataUnavailable(f"data `files`: no file in {path} ends in {', '.join(SUFFIXES)}")
    return files


def _names(options: FileOptions) -> list[str]:
    paths = [options.path] if isinstance(options.path, str) else options.path
    return [Path(path).name for path in (paths.values() if isinstance(paths, dict) else paths)]
