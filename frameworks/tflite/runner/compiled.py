"""LiteRT's compiled model, by its C interface: half precision, and times of operators."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Mapping, Sequence
from ctypes import byref, c_size_t, c_void_p
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from frameworks.python_runner.engine import LoadRequest, OperatorTimes, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.tflite.runner import c_api
from frameworks.tflite.runner.tensors import arrange, described, sort_arguments

if TYPE_CHECKING:
    from frameworks.tflite.runner.engine import RuntimeOptions

_KERNEL_MODES = {"xnnpack": 0, "reference": 1, "none": 2}
_FORCE_F16 = 4
"""`TFLITE_XNNPACK_DELEGATE_FLAG_FORCE_FP16`."""

_SIGNATURE = 0
"""The first signature is executed."""


@cache
def load_library() -> c_api.Library:
    """Return LiteRT's library, loaded once.

    Raises:
        RunnerFailure: It cannot be loaded.
    """
    return c_api.Library()


class _Port(NamedTuple):
    """Input or output of the signature."""

    place: int
    tensor: Tensor
    buffer: c_void_p


class CompiledModel:
    """Model that LiteRT has compiled; it computes with one thread unless more are asked for.

    Args:
        request: The request.
        options: Its options.

    Raises:
        RunnerFailure: It cannot be loaded.
    """

    threads = None  # LiteRT tells none
    runs_on_caller = True

    def __init__(self, request: LoadRequest, options: RuntimeOptions) -> None:
        self._options = options
        self._library = load_library()
        self._executions: list[dict[str, tuple[str, float]]] = []
        self._profiler: c_void_p | None = None
        try:
            self._load(request)
        except RuntimeError as error:
            hint = " (can this CPU compute in half precision?)" if options.precision == "f16" else ""
            sentence = f"cannot load {request.model}: {error}{hint}"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error

    @property
    def consumes_inputs(self) -> bool:
        """Return whether the profiler runs: between executions its events are read, which is not timed."""
        return self._profiler is not None

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Inputs in the order of the model's arguments."""
        return [described(port.tensor, self._options.layout) for port in self._inputs]

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Set the inputs: images as the option `layout` says."""
        self._read_events()
        for given, port in zip(contents, self._inputs, strict=True):
            content = given
            if self._options.layout == "nhwc":
                content = arrange(given, port.tensor, np.dtype(port.tensor.dtype), self._options.layout).tobytes()
            with _Locked(self._library, port.buffer, c_api.WRITE) as address:
                ctypes.memmove(address, content, len(content))

    def execute(self) -> None:
        """Execute once."""
        self._library.call("LiteRtRunCompiledModel", *self._arguments)

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution."""
        found = []
        for port in self._outputs:
            size = c_size_t()
            self._library.call("LiteRtGetTensorBufferPackedSize", port.buffer, byref(size))
            with _Locked(self._library, port.buffer, c_api.READ) as address:
                found.append(Output(port.tensor, ctypes.string_at(address, size.value)))
        return found

    def describe(self) -> Mapping[str, str | int]:
        """Return the runtime and its options."""
        return {
            "runtime": self._options.runtime,
            "delegate": self._options.delegate,
            "precision": self._options.precision,
            "api": "compiled_model",
            "layout": self._options.layout,
        }

    def memory(self) -> Mapping[str, int]:
        """Return nothing: LiteRT does not tell it."""
        return {}

    def operator_times(self, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
        """Return the times of operators, by the profiler's clock of whole microseconds.

        Raises:
            RunnerFailure: Executions differ in their operators.
        """
        self._read_events()
        timed = self._executions[skipped : skipped + iterations]
        if len({tuple(execution) for execution in timed}) > 1:
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, "the iterations differ in the operators that were executed")
        samples: dict[str, list[float]] = defaultdict(list)
        for execution in timed:
            for key, (_, elapsed_us) in execution.items():
                samples[key].append(elapsed_us)
        names = {key: name for execution in timed[:1] for key, (name, _) in execution.items()}
        return [OperatorTimes(names[key], key.partition(":")[0], times) for key, times in samples.items()]

    def _load(self, request: LoadRequest) -> None:
        library = self._library
        environment = library.make("LiteRtCreateEnvironment", 0, None)
        model = library.make("LiteRtCreateModelFromFile", environment, str(request.model).encode())
        request.program_loaded()
        options = library.make("LiteRtCreateOptions")
        library.call("LiteRtSetOptionsHardwareAccelerators", options, c_api.CPU)
        flags = f"flags = {_FORCE_F16}\n" if self._options.precision == "f16" else ""
        threads = request.threads or 1
        mode = _KERNEL_MODES[self._options.delegate]
        library.add_options(options, "xnnpack", f"num_threads = {threads}\nkernel_mode = {mode}\n{flags}")
        if request.operators:
            library.add_options(options, "runtime_options_string", "enable_profiling = true\n")
        compiled = library.make("LiteRtCreateCompiledModel", environment, model, options)
        signature = library.make("LiteRtGetModelSignature", model, c_size_t(_SIGNATURE))
        self._inputs = self._ports("Input", environment, compiled, signature)
        self._outputs = self._ports("Output", environment, compiled, signature)
        self._arguments = (
            compiled, c_size_t(_SIGNATURE),
            c_size_t(len(self._inputs)), _array(self._inputs), c_size_t(len(self._outputs)), _array(self._outputs),
        )  # fmt: skip
        if request.operators:
            self._profiler = library.make("LiteRtCompiledModelGetProfiler", compiled)
            library.call("LiteRtResetProfiler", self._profiler)
            library.call("LiteRtStartProfiler", self._profiler)

    def _ports(self, kind: str, environment: c_void_p, compiled: c_void_p, signature: c_void_p) -> list[_Port]:
        """Return the tensors of a kind with their buffers, in the order of the model's arguments."""
        library = self._library
        ports, names = [], []
        for place in range(library.count(f"LiteRtGetNumSignature{kind}s", signature)):
            index = c_size_t(place)
            name = library.text(f"LiteRtGetSignature{kind}Name", signature, index)
            tensor = library.make(f"LiteRtGetSignature{kind}TensorByIndex", signature, index)
            described_type = library.tensor_type(tensor)
            dtype = c_api.ELEMENT_TYPES.get(described_type.element_type, f"type {described_type.element_type}")
            requirements = library.make(
                f"LiteRtGetCompiledModel{kind}BufferRequirements", compiled, c_size_t(_SIGNATURE), index
            )
            buffer = library.make(
                "LiteRtCreateManagedTensorBufferFromRequirements", environment, byref(described_type), requirements
            )
            ports.append(_Port(place, Tensor(name, dtype, described_type.layout.shape), buffer))
            names.append(name)
        return [ports[place] for place in sort_arguments(names)]

    def _read_events(self) -> None:
        """Read the events of the last execution, and forget them."""
        if self._profiler is None:
            return
        execution: dict[str, tuple[str, float]] = {}
        for event in self._library.events(self._profiler):
            if event.event_type in c_api.OPERATOR_EVENTS:
                # Only the interpreter numbers its operators as the model's file does.
                place = str(event.number) if event.event_type == c_api.INTERPRETER_EVENT else "?"
                name = (event.tag or b"").decode("utf-8", "replace")
                execution[f"{place}:{len(execution)}"] = (name, float(event.elapsed_us))
        self._library.call("LiteRtResetProfiler", self._profiler)
        self._library.call("LiteRtStartProfiler", self._profiler)
        if execution:
            self._executions.append(execution)


class _Locked:
    """Buffer that is mapped while the context lasts; the context gives its address."""

    def __init__(self, library: c_api.Library, buffer: c_void_p, mode: int) -> None:
        self._library, self._buffer, self._mode = library, buffer, mode

    def __enter__(self) -> c_void_p:
        address = c_void_p()
        self._library.call("LiteRtLockTensorBuffer", self._buffer, byref(address), self._mode)
        return address

    def __exit__(self, *_: object) -> None:
        self._library.call("LiteRtUnlockTensorBuffer", self._buffer)


def _array(ports: Sequence[_Port]) -> ctypes.Array[c_void_p]:
    """Return the buffers in the order of the signature."""
    buffers = [port.buffer.value for port in sorted(ports, key=lambda port: port.place)]
    return (c_void_p * len(buffers))(*buffers)
