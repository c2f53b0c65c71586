"""Program that is loaded and ready to be executed, with its inputs and outputs."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from frameworks.executorch.python.extension import Method, MethodMeta, Program, Runtime, TensorInfo
from frameworks.python_runner.failure import ExitStatus, RunnerFailure, explain_failures

if TYPE_CHECKING:
    import torch


def load_method(
    runtime: Runtime, model: Path, name: str, log: io.StringIO, program_loaded: Callable[[], None] = lambda: None
) -> tuple[Program, Method]:
    """Load program and method. The method does not keep the program alive: keep both.

    Args:
        runtime: The runtime.
        model: The program.
        name: The method.
        log: The log of the runtime.
        program_loaded: Called between the program and the method.

    Raises:
        RunnerFailure: It cannot be loaded.
    """
    check_file(model, ExitStatus.NOT_LOADED)
    unreadable = f"{model} is not an ExecuTorch program, or is of a version this runtime cannot read"
    with model.open("rb") as stream:
        identifier = stream.read(8)[4:]
    if not re.fullmatch(rb"ET[0-9A-Z]{2}", identifier):  # checked here: quoting other bytes aborts the extension
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"{unreadable} (it does not begin like one)")
    with explain_failures(ExitStatus.NOT_LOADED, unreadable, log):
        program = runtime._load_program(  # noqa: SLF001 - upstream has no public name that is light to import
            str(model), program_verification=runtime.Verification.InternalConsistency
        )
    program_loaded()
    names = [program.get_method_name(index) for index in range(program.num_methods())]
    if name not in names:
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"the program has no method {name}; it has: {', '.join(names)}")
    with explain_failures(ExitStatus.NOT_LOADED, f"method {name} cannot be loaded", log):
        return program, program.load_method(name)


def make_inputs(meta: MethodMeta, files: Sequence[Path]) -> list[torch.Tensor]:
    """Make the inputs: from files, or ones.

    Raises:
        RunnerFailure: Files do not fit the method, naming file, expected and actual bytes.
    """
    count = meta.num_inputs()
    if files:
        check_input_count(files, count)
    return [_make_input(meta, index, files[index] if files else None) for index in range(count)]


def check_input_count(files: Sequence[Path], count: int) -> None:
    """Check that there is a file for each input of the method.

    Raises:
        RunnerFailure: There are more, or fewer.
    """
    if len(files) != count:
        sentence = f"argument --inputs: {len(files)} files given; the method has {count} inputs"
        raise RunnerFailure(ExitStatus.USAGE, sentence)


def describe_input(meta: MethodMeta, index: int) -> tuple[TensorInfo, torch.dtype]:
    """Return the description of an input, and its type.

    Raises:
        RunnerFailure: It is not a tensor, or of a type that cannot be fed.
    """
    try:
        info = meta.input_tensor_meta(index)
    except IndexError as error:
        sentence = f"input {index} of the method is not a tensor; the runner feeds tensors only"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error
    return info, _dtype(info.dtype(), index)


def _make_input(meta: MethodMeta, index: int, file: Path | None) -> torch.Tensor:
    import torch  # noqa: PLC0415 - imported by load_runtime

    info, dtype = describe_input(meta, index)
    if file is None:
        return torch.ones(info.sizes(), dtype=dtype)
    check_file(file, ExitStatus.USAGE)
    content = file.read_bytes()
    if len(content) != info.nbytes():
        sentence = f"{file} has {len(content)} bytes; input {index} of the method needs {info.nbytes()}"
        raise RunnerFailure(ExitStatus.USAGE, sentence)
    return torch.frombuffer(bytearray(content), dtype=dtype).reshape(info.sizes())


def _dtype(number: int, index: int) -> torch.dtype:
    """Return the type that has this number in runtime/core/portable_type/scalar_type.h."""
    import torch  # noqa: PLC0415 - imported by load_runtime

    dtypes = {
        0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16,
        6: torch.float32, 7: torch.float64, 11: torch.bool, 15: torch.bfloat16, 27: torch.uint16, 28: torch.uint32,
        29: torch.uint64,
    }  # fmt: skip
    if number not in dtypes:
        sentence = f"input {index} of the method has a type that only the native runner can feed"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    return dtypes[number]


def write_outputs(outputs: Sequence[object], base: str) -> None:
    """Write `BASE-0.bin`, `BASE-1.bin`, ...: raw little-endian, in the output's own memory layout.

    Raises:
        RunnerFailure: An output is not a tensor, or a file cannot be written.
    """
    import torch  # noqa: PLC0415 - imported by load_runtime

    for index, output in enumerate(map(check_output, range(len(outputs)), outputs)):
        file = Path(f"{base}-{index}.bin")
        stored = torch.empty(0, dtype=torch.uint8).set_(output.untyped_storage())
        try:
            file.write_bytes(stored.numpy().tobytes())
        except OSError as error:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, f"cannot write {file}") from error


def check_output(index: int, output: object) -> torch.Tensor:
    """Return an output of the method.

    Raises:
        RunnerFailure: It is not a tensor.
    """
    import torch  # noqa: PLC0415 - imported by load_runtime

    if not isinstance(output, torch.Tensor):
        raise RunnerFailure(ExitStatus.NOT_EXECUTED, f"output {index} is not a tensor and cannot be written")
    return output


def check_file(path: Path, status: ExitStatus) -> None:
    """Check that there is a file.

    Raises:
        RunnerFailure: There is none, with this status.
    """
    if not path.exists():
        raise RunnerFailure(status, f"no such file: {path}")
    if not path.is_file():
        raise RunnerFailure(status, f"not a file: {path}")
