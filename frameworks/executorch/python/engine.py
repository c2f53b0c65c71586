"""ExecuTorch's Python extension as an engine of the runner."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from frameworks.executorch.openvino_releases import REMEDY
from frameworks.executorch.python.extension import Method, Program, Runtime, load_operators, load_runtime, set_threads
from frameworks.executorch.python.failures import explain, explain_failures
from frameworks.executorch.python.language_model import ProgramLanguageModel
from frameworks.executorch.python.openvino_library import find_library_problem
from frameworks.executorch.python.program_file import DTYPES, read_signature
from frameworks.python_runner.engine import LoadRequest, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.python_runner.machine import is_mapped

if TYPE_CHECKING:
    import torch


class ExecuTorchProgram:
    """Loaded program.

    Args:
        program: The program. The method does not keep it alive.
        method: Its method.
        request: The request.
        threads: Size of the pool.
    """

    def __init__(self, program: Program, method: Method, request: LoadRequest, threads: int) -> None:
        self._program: Program | None = program
        self._method: Method | None = method
        self._request = request
        self.threads = threads
        self._meta = method.method_meta()
        self._uses_openvino = is_mapped("libopenvino_c.so")
        self.execute = method.execute

    def __del__(self) -> None:
        del self.execute
        self._method = None  # in this order
        self._program = None

    @property
    def runs_on_caller(self) -> bool:
        """Whether OpenVINO is not there, which has threads of its own."""
        return not self._uses_openvino

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Inputs of the method."""
        return [self._describe_input(index) for index in range(self._meta.num_inputs())]

    @property
    def consumes_inputs(self) -> bool:
        """Whether the memory of an input is free for intermediate values as soon as it was last read."""
        return any(self._meta.input_tensor_meta(index).is_memory_planned() for index in range(self._meta.num_inputs()))

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Set the inputs, in the layouts that the method expects."""
        signature = read_signature(self._request.model, self._request.method)
        orders = [() if tensor is None else tensor.dim_order for tensor in signature.inputs]
        self._own_method.set_inputs(list(map(_make_tensor, self.inputs, contents, orders)))

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution."""
        outputs = self._own_method.get_outputs(clone_outputs=False)
        return [_read_output(index, output) for index, output in enumerate(outputs)]

    def describe(self) -> Mapping[str, str | int]:
        """Return the version of the runtime; of OpenVINO only that it was there."""
        precision = {"openvino_precision": "unknown"} if is_mapped("libopenvino_c.so") else {}
        return {"runtime": f"executorch {metadata.version('executorch')} python", **precision}

    def memory(self) -> Mapping[str, int]:
        """Return the sizes of the buffers that the memory plan of the method has."""
        planned = read_signature(self._request.model, self._request.method).planned_bytes
        parts = {f"planned_memory_{index}": size for index, size in enumerate(planned)} if len(planned) > 1 else {}
        return {"planned_memory": sum(planned), **parts}

    def language_model(self) -> ProgramLanguageModel:
        """Return the program as one that predicts tokens."""
        if self._program is None:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, "the program was deleted")
        signature = read_signature(self._request.model, self._request.method)
        return ProgramLanguageModel(self._program, lambda: self._own_method, signature)

    @property
    def _own_method(self) -> Method:
        if self._method is None:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, "the method was deleted")
        return self._method

    def _describe_input(self, index: int) -> Tensor:
        try:
            info = self._meta.input_tensor_meta(index)
        except IndexError as error:
            sentence = f"input {index} of the method is not a tensor; the runner feeds tensors only"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error
        if info.dtype() not in DTYPES:
            sentence = f"input {index} of the method has a type that only the native runner can feed"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
        return Tensor(f"input_{index}", DTYPES[info.dtype()], tuple(info.sizes()))


class ExecuTorchEngine:
    """ExecuTorch's Python extension."""

    def import_runtime(self, request: LoadRequest) -> None:
        """Import the extension, and torch, which it needs, with the operators that the program names.

        Raises:
            RunnerFailure: It cannot be imported.
        """
        load_operators(load_runtime(), request.model)

    def load(self, request: LoadRequest) -> ExecuTorchProgram:
        """Load program and method.

        Raises:
            RunnerFailure: It cannot be loaded.
        """
        if request.options:
            name = next(iter(request.options))
            raise RunnerFailure(ExitStatus.USAGE, f"argument --option: ExecuTorch's Python runner has no option {name}")
        runtime = load_runtime()
        threads = set_threads(runtime, request.threads)
        request.log.truncate(request.log.seek(0))
        program, method = load_method(runtime, request.model, request.method, request.log, request.program_loaded)
        return ExecuTorchProgram(program, method, request, threads)

    def files(self, model: Path) -> Sequence[Path]:
        """Return the program alone."""
        return (model,)

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure:
        """Return the failure, from the log of the runtime where it tells more."""
        return explain(ExitStatus.NOT_EXECUTED, what, log, error)


ENGINE: Final = ExecuTorchEngine()


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
    program = _load_program(runtime, model, log)
    program_loaded()
    names = [program.get_method_name(index) for index in range(program.num_methods())]
    if name not in names:
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"the program has no method {name}; it has: {', '.join(names)}")
    _check_openvino(model, name)
    with explain_failures(ExitStatus.NOT_LOADED, f"method {name} cannot be loaded", log):
        return program, program.load_method(name)


def _check_openvino(model: Path, method: str) -> None:
    if "OpenvinoBackend" in read_signature(model, method).backends and (problem := find_library_problem()):
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"{problem}: {REMEDY}")


def _load_program(runtime: Runtime, model: Path, log: io.StringIO) -> Program:
    unreadable = f"{model} is not an ExecuTorch program, or is of a version this runtime cannot read"
    with model.open("rb") as stream:
        identifier = stream.read(8)[4:]
    if not re.fullmatch(rb"ET[0-9A-Z]{2}", identifier):  # checked here: quoting other bytes aborts the extension
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"{unreadable} (it does not begin like one)")
    with explain_failures(ExitStatus.NOT_LOADED, unreadable, log):
        return runtime._load_program(  # noqa: SLF001 - upstream has no public name that is light to import
            str(model), program_verification=runtime.Verification.InternalConsistency
        )


def _make_tensor(tensor: Tensor, content: bytes, order: tuple[int, ...]) -> torch.Tensor:
    """Return a tensor in the layout that the method expects."""
    import torch  # noqa: PLC0415 - imported by load_runtime

    dtype = getattr(torch, tensor.dtype)
    if not content:
        return torch.empty(tensor.shape, dtype=dtype)
    made = torch.frombuffer(bytearray(content), dtype=dtype).reshape(tensor.shape)
    if order in {(), tuple(range(len(tensor.shape)))}:
        return made
    inverse = [order.index(dimension) for dimension in range(len(tensor.shape))]
    return made.permute(order).contiguous().permute(inverse)


def _read_output(index: int, output: object) -> Output:
    import torch  # noqa: PLC0415 - imported by load_runtime

    if not isinstance(output, torch.Tensor):
        sentence = f"output {index} is not a tensor and cannot be written"
        raise RunnerFailure(ExitStatus.NOT_EXECUTED, sentence)
    info = Tensor(f"output_{index}", str(output.dtype).removeprefix("torch."), tuple(output.shape))
    stored = torch.empty(0, dtype=torch.uint8).set_(output.untyped_storage())
    numbers: Callable[[torch.Tensor], bytes] = lambda tensor: tensor.numpy().tobytes()  # noqa: E731 - twice below
    content = numbers(output.contiguous().reshape(-1).view(torch.uint8))
    return Output(info, content, tuple(output.dim_order()), numbers(stored))
