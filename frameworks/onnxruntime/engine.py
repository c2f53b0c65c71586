"""ONNX Runtime as an engine of the runner. Inputs and outputs are bound once: an execution copies neither."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from frameworks.onnxruntime.options import DEFAULTS, LEVELS, MODES, PROVIDERS
from frameworks.onnxruntime.profile import read_profile
from frameworks.python_runner.engine import LoadRequest, OperatorTimes, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TYPES: Final = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(int8)": "int8",
    "tensor(uint8)": "uint8",
    "tensor(int16)": "int16",
    "tensor(uint16)": "uint16",
    "tensor(int32)": "int32",
    "tensor(uint32)": "uint32",
    "tensor(int64)": "int64",
    "tensor(uint64)": "uint64",
    "tensor(bool)": "bool",
}
"""Element types by ONNX Runtime's names; it feeds no `bfloat16` from NumPy."""


class OnnxModel:
    """Session with bound inputs and outputs.

    Args:
        session: The session.
        options: Options in use, by name.
        profile: Folder of its profile; None where operators are not timed.
    """

    threads = None
    """ONNX Runtime tells no size of its pool: a session's options repeat what was asked for."""

    def __init__(
        self,
        session: Any,  # noqa: ANN401 - the library has no types
        options: Mapping[str, str],
        profile: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        self._session = session
        self._options = options
        self._profile = profile
        self._binding = session.io_binding()
        self._arrays: list[NDArray[np.generic]] = []
        self.inputs = tuple(map(_describe, session.get_inputs()))
        self._run = session.run_with_iobinding

    @property
    def runs_on_caller(self) -> bool:
        """The caller is one of the threads: with one thread it does all work."""
        return True

    @property
    def consumes_inputs(self) -> bool:
        """Bound inputs are read only."""
        return False

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Bind inputs and outputs."""
        import numpy as np  # noqa: PLC0415 - imported by the engine

        self._arrays = [
            np.frombuffer(bytearray(content), dtype=np.dtype(tensor.dtype)).reshape(tensor.shape)
            for tensor, content in zip(self.inputs, contents, strict=True)
        ]
        self._binding.clear_binding_inputs()
        self._binding.clear_binding_outputs()
        for tensor, array in zip(self.inputs, self._arrays, strict=True):
            self._binding.bind_cpu_input(tensor.name, array)
        for output in self._session.get_outputs():
            self._binding.bind_output(output.name)

    def execute(self) -> None:
        """Execute once."""
        self._run(self._binding)

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution."""
        names = [output.name for output in self._session.get_outputs()]
        return [
            Output(Tensor(name, str(array.dtype), tuple(array.shape)), array.tobytes())
            for name, array in zip(names, self._binding.copy_outputs_to_cpu(), strict=True)
        ]

    def describe(self) -> Mapping[str, str | int]:
        """Return the version, the providers that the session has, and the options in use."""
        import onnxruntime  # noqa: PLC0415 - imported by the engine

        providers = ", ".join(self._session.get_providers())
        return {"runtime": f"onnxruntime {onnxruntime.__version__} python", "providers": providers, **self._options}

    def memory(self) -> Mapping[str, int]:
        """Return nothing: ONNX Runtime plans its memory, and tells nothing of it."""
        return {}

    def operator_times(self, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
        """Return the times of operators, from the profile of the session."""
        if self._profile is None:
            return ()
        try:
            return read_profile(Path(self._session.end_profiling()), skipped, iterations)
        except (OSError, ValueError) as error:
            sentence = f"the profile of ONNX Runtime cannot be read: {error}"
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, sentence) from error
        finally:
            self._profile.cleanup()


class OnnxRuntimeEngine:
    """ONNX Runtime."""

    def import_runtime(self, request: LoadRequest) -> None:  # noqa: ARG002 - an Engine's
        """Import the library.

        Raises:
            RunnerFailure: It cannot be imported.
        """
        try:
            import onnxruntime  # noqa: F401, PLC0415 - late, so that wrong arguments fail fast
        except ImportError as error:
            sentence = f"onnxruntime cannot be imported: {error} (the extra `onnxruntime` of edge-harness brings it)"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error

    def load(self, request: LoadRequest) -> OnnxModel:
        """Make a session.

        Raises:
            RunnerFailure: It cannot be made, or this build lacks a provider.
        """
        self.import_runtime(request)
        import onnxruntime  # noqa: PLC0415 - imported above

        options = {**DEFAULTS, **request.options}
        provider = PROVIDERS[options["execution_provider"]]
        available = onnxruntime.get_available_providers()
        if provider not in available:
            sentence = f"this build of ONNX Runtime has no {provider}; it has {', '.join(available)}"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
        profile = tempfile.TemporaryDirectory(prefix="harness-onnxruntime-") if request.operators else None
        settings = _make_settings(request, options, profile)
        providers = list(dict.fromkeys((provider, PROVIDERS["cpu"])))
        try:
            session = onnxruntime.InferenceSession(str(request.model), settings, providers=providers)
        except self.own_errors() as error:
            reason = " ".join(str(error).split())[:400]
            sentence = f"{request.model} cannot be loaded by ONNX Runtime ({reason})"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error
        used = session.get_providers()
        if provider not in used:
            sentence = f"ONNX Runtime did not take {provider}, and would have used {', '.join(used)}"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
        return OnnxModel(session, options, profile)

    def own_errors(self) -> tuple[type[Exception], ...]:
        """Return the classes of its errors, which have no common one but Exception."""
        from onnxruntime.capi import onnxruntime_pybind11_state as state  # noqa: PLC0415 - imported by the engine

        kinds = (kind for kind in vars(state).values() if isinstance(kind, type))
        return (RuntimeError, ValueError, *(kind for kind in kinds if issubclass(kind, Exception)))

    def files(self, model: Path) -> Sequence[Path]:
        """Return the model, and the file of its weights where they lie beside it."""
        return tuple(file for file in (model, model.with_name(f"{model.name}.data")) if file.exists())

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure | None:  # noqa: ARG002 - an Engine's
        """Return nothing: its errors say all."""
        return None


ENGINE: Final = OnnxRuntimeEngine()


def _make_settings(
    request: LoadRequest, options: Mapping[str, str], profile: tempfile.TemporaryDirectory[str] | None
) -> Any:  # noqa: ANN401 - the library has no types
    import onnxruntime  # noqa: PLC0415 - imported by the engine

    settings = onnxruntime.SessionOptions()
    if request.threads is not None:
        settings.intra_op_num_threads = request.threads
        settings.inter_op_num_threads = request.threads
    settings.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, LEVELS[options["graph_optimization"]]
    )
    settings.execution_mode = getattr(onnxruntime.ExecutionMode, MODES[options["execution_mode"]])
    settings.enable_cpu_mem_arena = options["arena"] == "true"
    settings.enable_mem_pattern = options["memory_pattern"] == "true"
    spins = "1" if options["spinning"] == "true" else "0"
    settings.add_session_config_entry("session.intra_op.allow_spinning", spins)
    settings.add_session_config_entry("session.inter_op.allow_spinning", spins)
    denormals = "1" if options["denormals_as_zero"] == "true" else "0"
    settings.add_session_config_entry("session.set_denormal_as_zero", denormals)
    if profile is not None:
        settings.enable_profiling = True
        settings.profile_file_prefix = str(Path(profile.name) / "profile")
    return settings


def _describe(given: Any) -> Tensor:  # noqa: ANN401 - the library has no types
    """Describe an input.

    Raises:
        RunnerFailure: It is no tensor of a known type and shape.
    """
    dtype = _TYPES.get(given.type)
    if dtype is None:
        sentence = f"input `{given.name}` is a {given.type}, which the runner cannot feed"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    if not all(isinstance(size, int) and size >= 0 for size in given.shape):
        sentence = f"input `{given.name}` has the dynamic shape {given.shape}: export it with fixed sizes"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    return Tensor(given.name, dtype, tuple(given.shape))
