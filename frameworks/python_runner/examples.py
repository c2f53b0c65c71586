"""Many examples in one launch: their inputs are read, and their outputs written, one example at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from frameworks.python_runner.arguments import Arguments
from frameworks.python_runner.engine import LoadedModel, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.tensors import check_file, check_input_count, size_bytes

Explaining = Callable[[str], AbstractContextManager[None]]
"""Context that turns what a runtime raises into a `RunnerFailure` with this sentence."""


class _OutputFile:
    """One output of all examples."""

    def __init__(self, base: str, index: int) -> None:
        self._path = Path(f"{base}-{index}.bin")
        self._index = index
        self._first: Output | None = None
        with self._writing():
            self._stream = self._path.open("wb")

    @property
    def description(self) -> str:
        """Its type, shape and layout."""
        return "" if self._first is None else f"{_shape(self._first)} dim_order {_order(self._first)}"

    def write(self, output: Output, example: int) -> None:
        """Write one example."""
        first = self._first = self._first or output
        if (_shape(output), _order(output)) != (_shape(first), _order(first)):
            raise RunnerFailure(
                ExitStatus.NOT_EXECUTED,
                f"output {self._index} of example {example} is {_shape(output)}, that of example 0 {_shape(first)}: "
                "outputs of varying shape cannot be evaluated",
            )
        with self._writing():
            self._stream.write(output.content)

    def close(self) -> None:
        """Write what is left."""
        with self._writing():
            self._stream.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            sentence = f"cannot write {self._path}: {error.strerror}"
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, sentence) from error


def run_examples(model: LoadedModel, arguments: Arguments, explaining: Explaining) -> tuple[str, ...]:
    """Execute every example once.

    Args:
        model: The model.
        arguments: Files and number of examples.
        explaining: Explains what the runtime raises.

    Returns:
        A description of each output: `float32 [1, 1000] dim_order [0, 1]`.

    Raises:
        RunnerFailure: A file does not fit the model, naming file, expected and actual bytes; an example fails; an
            output is not a tensor or changes its shape; or a file cannot be written.
    """
    count = arguments.examples or 0
    outputs: list[_OutputFile] = []
    tensors = model.inputs
    check_input_count(arguments.inputs, len(tensors))
    with contextlib.ExitStack() as files:
        streams = [files.enter_context(_open_input(tensor, arguments, index)) for index, tensor in enumerate(tensors)]
        for example in range(count):
            contents = [_read(stream, size_bytes(tensor)) for stream, tensor in zip(streams, tensors, strict=True)]
            with explaining(f"the program failed while it executed example {example}"):
                model.set_inputs(contents)
                model.execute()
            for index, output in enumerate(model.outputs()):
                if example == 0:
                    outputs.append(_OutputFile(arguments.outputs, index))
                outputs[index].write(output, example)
    for file in outputs:
        file.close()
    return tuple(file.description for file in outputs)


@contextlib.contextmanager
def _open_input(tensor: Tensor, arguments: Arguments, index: int) -> Iterator[BinaryIO]:
    path, examples = arguments.inputs[index], arguments.examples or 0
    check_file(path, ExitStatus.USAGE)
    actual, expected = path.stat().st_size, size_bytes(tensor) * examples
    if actual != expected:
        shape = f"{tensor.dtype} {list(tensor.shape)}"
        sentence = f"{path} has {actual} bytes; {examples} examples of input {index} ({shape}) need {expected}"
        raise RunnerFailure(ExitStatus.USAGE, sentence)
    with path.open("rb") as stream:
        yield stream


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) != size:
        raise RunnerFailure(ExitStatus.USAGE, f"cannot read {stream.name}")
    return content


def _shape(output: Output) -> str:
    return f"{output.tensor.dtype} {list(output.tensor.shape)}"


def _order(output: Output) -> list[int]:
    return list(output.dim_order or range(len(output.tensor.shape)))
