"""Python extension of the runtime: the part in use, typed, and its import without the packages around it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from frameworks.executorch.python.program_file import names_operators
from frameworks.python_runner.failure import ExitStatus, RunnerFailure

if TYPE_CHECKING:
    import torch


class MethodTensorInfo(Protocol):
    """`_C.TensorInfo`."""

    def sizes(self) -> tuple[int, ...]:
        """Dimensions; of a dynamic shape the largest."""

    def dtype(self) -> int:
        """Number of the scalar type."""

    def nbytes(self) -> int:
        """Size in bytes."""

    def is_memory_planned(self) -> bool:
        """Return whether its memory is part of the program's plan."""


class MethodMeta(Protocol):
    """`_C.MethodMeta`."""

    def num_inputs(self) -> int:
        """Number of inputs."""

    def input_tensor_meta(self, index: int) -> MethodTensorInfo:
        """Describe one input. Raises IndexError when it is not a tensor."""


class Method(Protocol):
    """`_C.ExecuTorchMethod`."""

    def set_inputs(self, inputs: Sequence[torch.Tensor]) -> None:
        """Copies planned inputs, keeps pointers to the others."""

    def execute(self) -> None:
        """Executes once."""

    def get_outputs(self, clone_outputs: bool = True) -> list[object]:
        """The outputs; unless cloned, valid until the next execution."""

    def method_meta(self) -> MethodMeta:
        """Describes the method."""


class Program(Protocol):
    """`_C.ExecuTorchProgram`."""

    def num_methods(self) -> int:
        """Number of methods."""

    def get_method_name(self, method_index: int) -> str:
        """Name of one method."""

    def load_method(self, method_name: str) -> Method:
        """Loads one and initialises its delegates."""


class VerificationLevels(Protocol):
    """`_C.Verification`."""

    InternalConsistency: object


class Runtime(Protocol):
    """Extension module: `_C` since 1.5, `_portable_lib` before. Not everything in use has a public name."""

    __file__: str
    Verification: VerificationLevels

    def _load_program(self, path: str, *, program_verification: object) -> Program: ...
    def _unsafe_reset_threadpool(self, num_threads: int) -> None: ...
    def _threadpool_get_thread_count(self) -> int: ...


_SUFFIX: Final = ".dylib" if sys.platform == "darwin" else ".so"
_KERNELS: Final = f"libexecutorch_kernels_quantized{_SUFFIX}"
_QUANTIZED: Final = "quantized_decomposed"
_LIBRARIES: Final = MappingProxyType(
    {
        "llama": Path("extension", "llm", "custom_ops", "libcustom_ops_aot_lib"),
        _QUANTIZED: Path("kernels", "quantized", "libquantized_ops_aot_lib"),
    }
)
"""Library of the operators of a namespace, within the package; without its suffix."""

_REMEDY: Final = "the extra `tested` of edge-harness brings releases of torch and executorch that belong together"


def load_runtime() -> Runtime:
    """Import the extension itself: the public modules around it import the exporter, some 3 s and 100 MB more.

    Raises:
        RunnerFailure: It cannot be imported.
    """
    try:
        import torch  # noqa: F401, PLC0415 - the extension needs its libraries; late, so that wrong arguments fail fast

        try:
            from executorch.extension.pybindings import _C as runtime  # noqa: N811, PLC0415 - since 1.5
        except ImportError:
            from executorch.extension.pybindings import _portable_lib as runtime  # noqa: PLC0415 - before 1.5
    except ImportError as error:
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"the runtime cannot be imported: {error} ({_REMEDY})") from error
    _load_quantized_kernels(Path(runtime.__file__).parents[2])
    loaded: Runtime = runtime
    return loaded


def load_operators(runtime: Runtime, model: Path) -> None:
    """Load the libraries of the operators that a program names and that the extension itself lacks.

    They also register the operators with torch, which they need; programs without them are not burdened.

    Raises:
        RunnerFailure: A library cannot be loaded.
    """
    import torch  # noqa: PLC0415 - see load_runtime

    package = Path(runtime.__file__).parents[2]
    for namespace, library in _LIBRARIES.items():
        path = package / library.with_suffix(_SUFFIX)
        if not path.exists() or not names_operators(model, namespace):
            continue
        if namespace == _QUANTIZED and (package / "lib" / _KERNELS).exists():  # loaded with the extension
            continue
        try:
            torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
        except OSError as error:
            sentence = f"the operators `{namespace}::` that the program needs cannot be loaded: {error} ({_REMEDY})"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error


def set_threads(runtime: Runtime, threads: int | None) -> int:
    """Set the size of the runtime's thread pool, where one is given, and return its size in use.

    Call before a program is loaded: delegates keep a pointer to the pool that existed when they were initialised.
    """
    if threads is not None:
        runtime._unsafe_reset_threadpool(threads)  # noqa: SLF001 - upstream has no public name
    return runtime._threadpool_get_thread_count()  # noqa: SLF001 - upstream has no public name


def _load_quantized_kernels(package: Path) -> None:
    """Load the kernels of quantised operators without a delegate, which only the SDK contains."""
    library = package / "lib" / _KERNELS
    if library.exists():
        ctypes.CDLL(str(library))
