"""Many examples in one launch: their inputs are read, and their outputs written, one example at a time."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from frameworks.executorch.python.extension import Method
from frameworks.executorch.python.program import check_file, check_input_count, check_output, describe_input
from frameworks.executorch.python.program_file import read_signature
from frameworks.python_runner.arguments import Arguments
from frameworks.python_runner.failure import ExitStatus, RunnerFailure, explain_failures

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class _InputFile:
    """One input of all examples.

    Attributes:
        stream: The open file.
        dtype: Type of its elements.
        sizes: Dimensions of one example.
        size_bytes: Size of one example.
        dim_order: Layout that the method expects.
    """

    stream: BinaryIO
    dtype: torch.dtype
    sizes: tuple[int, ...]
    size_bytes: int
    dim_order: tuple[int, ...]

    def read(self) -> torch.Tensor:
        """Return the next example in the layout that the method expects."""
        import torch  # noqa: PLC0415 - imported by load_runtime

        content = self.stream.read(self.size_bytes)
        if len(content) != self.size_bytes:
            raise RunnerFailure(ExitStatus.USAGE, f"cannot read {self.stream.name}")
        if not content:
            return torch.empty(self.sizes, dtype=self.dtype)
        example = torch.frombuffer(bytearray(content), dtype=self.dtype).reshape(self.sizes)
        if self.dim_order == tuple(range(len(self.sizes))):
            return example
        inverse = [self.dim_order.index(dimension) for dimension in range(len(self.sizes))]
        return example.permute(self.dim_order).contiguous().permute(inverse)


class _OutputFile:
    """One output of all examples."""

    def __init__(self, base: str, index: int) -> None:
        self._path = Path(f"{base}-{index}.bin")
        self._index = index
        self._description = ""
        with self._writing():
            self._stream = self._path.open("wb")

    @property
    def description(self) -> str:
        """Its type, shape and layout."""
        return self._description

    def write(self, output: torch.Tensor, example: int) -> None:
        """Write one example."""
        import torch  # noqa: PLC0415 - imported by load_runtime

        description = f"{_shape(output)} dim_order {list(output.dim_order())}"
        if example == 0:
            self._description = description
        elif description != self._description:
            first = self._description.partition(" dim_order")[0]
            raise RunnerFailure(
                ExitStatus.NOT_EXECUTED,
                f"output {self._index} of example {example} is {_shape(output)}, that of example 0 {first}: "
                "outputs of varying shape cannot be evaluated",
            )
        with self._writing():
            self._stream.write(output.contiguous().reshape(-1).view(torch.uint8).numpy().data)

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


def run_examples(method: Method, arguments: Arguments, log: io.StringIO) -> tuple[str, ...]:
    """Execute every example once.

    Args:
        method: The method.
        arguments: Files and number of examples.
        log: The log of the runtime.

    Returns:
        A description of each output: `float32 [1, 1000] dim_order [0, 1]`.

    Raises:
        RunnerFailure: A file does not fit the method, naming file, expected and actual bytes; an example fails; an
            output is not a tensor or changes its shape; or a file cannot be written.
    """
    examples = arguments.examples or 0
    outputs: list[_OutputFile] = []
    with contextlib.ExitStack() as files:
        inputs = [files.enter_context(_open_input(method, arguments, index)) for index in _indices(method, arguments)]
        for example in range(examples):
            tensors = [file.read() for file in inputs]
            failed = f"the program failed while it executed example {example}"
            with explain_failures(ExitStatus.NOT_EXECUTED, failed, log):
                method.set_inputs(tensors)
                method.execute()
            for index, output in enumerate(method.get_outputs(clone_outputs=False)):
                if example == 0:
                    outputs.append(_OutputFile(arguments.outputs, index))
                outputs[index].write(check_output(index, output), example)
    for file in outputs:
        file.close()
    return tuple(file.description for file in outputs)


def _indices(method: Method, arguments: Arguments) -> Sequence[int]:
    count = method.method_meta().num_inputs()
    check_input_count(arguments.inputs, count)
    return range(count)


@contextlib.contextmanager
def _open_input(method: Method, arguments: Arguments, index: int) -> Iterator[_InputFile]:
    info, dtype = describe_input(method.method_meta(), index)
    path, examples = arguments.inputs[index], arguments.examples or 0
    check_file(path, ExitStatus.USAGE)
    size_bytes, expected = path.stat().st_size, info.nbytes() * examples
    if size_bytes != expected:
        shape = f"{_name(dtype)} {list(info.sizes())}"
        sentence = f"{path} has {size_bytes} bytes; {examples} examples of input {index} ({shape}) need {expected}"
        raise RunnerFailure(ExitStatus.USAGE, sentence)
    tensor = read_signature(arguments.model, arguments.method).inputs[index]
    order = () if tensor is None else tensor.dim_order
    with path.open("rb") as stream:
        yield _InputFile(stream, dtype, tuple(info.sizes()), info.nbytes(), order)


def _shape(tensor: torch.Tensor) -> str:
    return f"{_name(tensor.dtype)} {list(tensor.shape)}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
