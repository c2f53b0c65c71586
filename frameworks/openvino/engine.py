"""OpenVINO's runtime as an engine of the runner.

The runtime is imported with this module, so that loading a model is reading and compiling it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from frameworks.openvino.archive import WEIGHTS, NotAnArchive, is_archive, locate
from frameworks.openvino.element_types import DTYPES
from frameworks.openvino.profile import NodeProfile
from frameworks.openvino.properties import Applied, apply_options, compile_properties
from frameworks.python_runner.engine import LoadRequest, OperatorTimes, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.telemetry import block_telemetry

block_telemetry()
import openvino  # noqa: E402 - which would start a process that reports its use

_FORMATS: Final = (".xml", ".onnx", ".tflite", ".pb", ".pdmodel")
"""Formats beside the archive, which OpenVINO tells by their suffix."""


class OpenVinoModel:
    """Compiled model with its only request.

    Args:
        compiled: The compiled model.
        applied: What OpenVINO says that it does.
        operators: Whether operators are timed.
        source: What the model was read from, which has to outlive it.
    """

    def __init__(self, compiled: openvino.CompiledModel, applied: Applied, source: object, *, operators: bool) -> None:
        self._source = source
        self._compiled = compiled
        self._request = compiled.create_infer_request()
        self._applied = applied
        self._profile = NodeProfile() if operators else None
        self.inputs = [_describe(index, port) for index, port in enumerate(compiled.inputs)]

    def __del__(self) -> None:
        for name in ("_request", "_compiled", "_source"):  # in this order
            self.__dict__.pop(name, None)

    @property
    def threads(self) -> int | None:
        """Number of threads of all streams, as OpenVINO tells it."""
        return self._applied.threads

    @property
    def runs_on_caller(self) -> bool:
        """A request that waits is executed by the processor's plug-in on the thread that waits."""
        return self._applied.devices == "CPU" and self._applied.streams == 1

    @property
    def consumes_inputs(self) -> bool:
        """Inputs are left as they are; where operators are timed, setting them is when their times are read."""
        return self._profile is not None

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Copy the contents into tensors of the request."""
        if self._profile is not None:
            self._profile.add(self._request.profiling_info)
        for index, content in enumerate(contents):
            data = self._request.get_input_tensor(index).data
            data.reshape(-1).view(np.uint8)[:] = np.frombuffer(content, np.uint8)

    def execute(self) -> None:
        """Execute once."""
        self._request.infer(share_outputs=True)

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution."""
        return [self._read_output(index) for index in range(len(self._compiled.outputs))]

    def describe(self) -> Mapping[str, str | int]:
        """Return version, device, and the options as OpenVINO says that it applied them."""
        return {"runtime": f"openvino {openvino.__version__}", **self._applied.texts()}

    def memory(self) -> Mapping[str, int]:
        """Return nothing: OpenVINO does not tell what it plans."""
        return {}

    def operator_times(self, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
        """Return the mean of each operator over the timed iterations: OpenVINO counts no single execution."""
        if self._profile is None:
            return ()
        self._profile.add(self._request.profiling_info)
        return self._profile.times(skipped, iterations)

    def _read_output(self, index: int) -> Output:
        tensor = self._request.get_output_tensor(index)
        dtype = tensor.element_type.get_type_name()
        if dtype not in DTYPES:
            sentence = f"output {index} is of type {dtype} and cannot be written"
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, sentence)
        return Output(Tensor(f"output_{index}", DTYPES[dtype], tuple(tensor.shape)), tensor.data.tobytes())


class OpenVinoEngine:
    """OpenVINO."""

    def load(self, request: LoadRequest) -> OpenVinoModel:
        """Read and compile a model: the archive of the harness, or a format that OpenVINO reads itself.

        Raises:
            RunnerFailure: It cannot be read or compiled, or OpenVINO does not do what an option asks for.
        """
        properties = compile_properties(request.options, request.threads, operators=request.operators)
        core = openvino.Core()
        model, source = _read(core, request.model)
        request.program_loaded()
        device = request.options.get("device", "CPU")
        try:
            compiled = core.compile_model(model, device, properties)
        except (RuntimeError, TypeError, ValueError) as error:
            raise RunnerFailure(ExitStatus.NOT_LOADED, f"{device} cannot run the model ({_reason(error)})") from error
        applied = apply_options(core, compiled, request.options, request.threads)
        return OpenVinoModel(compiled, applied, source, operators=request.operators)

    def files(self, model: Path) -> Sequence[Path]:
        """Return the model, and the weights beside a graph."""
        weights = _weights_beside(model)
        return (model, weights) if weights is not None and weights.is_file() else (model,)

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure | None:  # noqa: ARG002 - an Engine's
        """Return the innermost reason of OpenVINO's nested messages."""
        return RunnerFailure(ExitStatus.NOT_EXECUTED, f"{what} ({_reason(error)})")


ENGINE: Final = OpenVinoEngine()


def _weights_beside(model: Path) -> Path | None:
    return model.with_suffix(".bin") if model.suffix == ".xml" else None


def _read(core: openvino.Core, path: Path) -> tuple[openvino.Model, object]:
    """Read a model; also return what has to outlive it.

    Raises:
        RunnerFailure: It is of no known format, or damaged.
    """
    weights = _weights_beside(path)
    if weights is not None and not weights.is_file():
        hint = f"give the file of its weights the name {weights.name}, or the model as an archive of the harness"
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"{path} is a graph without weights: {hint}")
    try:
        if is_archive(path):
            return _read_archive(core, path)
        if path.suffix not in _FORMATS:
            known = f"an archive of the harness (model.xml and {WEIGHTS}), or a file {', '.join(_FORMATS)}"
            raise RunnerFailure(ExitStatus.NOT_LOADED, f"{path} is no model that OpenVINO reads: it takes {known}")
        return core.read_model(path), None
    except NotAnArchive as error:
        raise RunnerFailure(ExitStatus.NOT_LOADED, str(error)) from error
    except (RuntimeError, ValueError, OSError) as error:
        sentence = f"{path} cannot be read by OpenVINO ({_reason(error)})"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error


def _read_archive(core: openvino.Core, path: Path) -> tuple[openvino.Model, object]:
    """Read the model of an archive, whose weights are mapped as OpenVINO maps those of a file of their own."""
    located = locate(path)
    if not located.size_bytes:
        return core.read_model(located.graph, openvino.Tensor(np.zeros(1, np.uint8))), None
    # Copy-on-write, because OpenVINO shares only what can be written; it writes nothing.
    mapped = np.memmap(path, np.uint8, "c", located.begin, (located.size_bytes,))
    weights = openvino.Tensor(mapped, shared_memory=True)
    return core.read_model(located.graph, weights), (mapped, weights)


def _describe(index: int, port: openvino.ConstOutput) -> Tensor:
    dtype = port.element_type.get_type_name()
    if port.partial_shape.is_dynamic:
        sentence = f"input {index} has the shape {port.partial_shape}; the runner feeds tensors of fixed shapes only"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    return Tensor(port.any_name if port.names else f"input_{index}", DTYPES.get(dtype, dtype), tuple(port.shape))


def _reason(error: Exception) -> str:
    """Return what is at the end of OpenVINO's nested messages, each of which begins with a place in its sources."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith("Exception from src/")]
    return " ".join(" ".join(told or lines).split())[:400]
