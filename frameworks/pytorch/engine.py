"""PyTorch as an engine of the runner: programs of torch.export, TorchScript, and the Lite Interpreter."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from frameworks.python_runner.engine import LoadRequest, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure

if TYPE_CHECKING:
    import torch

    Forward = Callable[..., object]

_EXPORTED, _SCRIPT, _LITE = "exported", "torchscript", "lite_interpreter"


class _Archive(Struct, frozen=True):
    """What a file holds.

    Attributes:
        kind: `exported`, `torchscript` or `lite_interpreter`.
        inputs: The inputs that its exporter described; empty where it did not.
    """

    kind: str
    inputs: tuple[Tensor, ...] = ()


class PyTorchModule:
    """Loaded module.

    Args:
        forward: The module, or what calls it.
        archive: What the file holds.
        inputs: Its inputs.
        request: The request.
    """

    def __init__(self, forward: Forward, archive: _Archive, inputs: Sequence[Tensor], request: LoadRequest) -> None:
        self._forward = forward
        self._archive = archive
        self._request = request
        self._arguments: tuple[torch.Tensor, ...] = ()
        self._result: object = None
        self.inputs = tuple(inputs)

    @property
    def threads(self) -> int | None:
        """Size of torch's pool."""
        import torch  # noqa: PLC0415 - imported by the engine

        return torch.get_num_threads()

    @property
    def runs_on_caller(self) -> bool:
        """With one thread, the caller does all work."""
        return True

    @property
    def consumes_inputs(self) -> bool:
        """Inputs are left as they are."""
        return False

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Make tensors of the contents."""
        options = self._request.options
        self._arguments = tuple(
            _convert(_make_tensor(tensor, content), options)
            for tensor, content in zip(self.inputs, contents, strict=True)
        )

    def execute(self) -> None:
        """Execute once."""
        self._result = self._forward(*self._arguments)

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution."""
        return [_read_output(index, tensor) for index, tensor in enumerate(_flatten(self._result))]

    def describe(self) -> Mapping[str, str | int]:
        """Return version, form of the module, and options in use."""
        import torch  # noqa: PLC0415 - imported by the engine

        return {
            "runtime": f"torch {torch.__version__} {self._archive.kind}",
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            **self._request.options,
        }

    def memory(self) -> Mapping[str, int]:
        """Return nothing: torch plans no memory."""
        return {}


class PyTorchEngine:
    """PyTorch."""

    def import_runtime(self, request: LoadRequest) -> None:
        """Import torch; a file that is none of its own is told first, which takes no second.

        Raises:
            RunnerFailure: The file cannot be loaded.
        """
        _open_archive(request.model)
        import torch  # noqa: F401, PLC0415 - late, so that wrong files fail fast

    def load(self, request: LoadRequest) -> PyTorchModule:
        """Load a module in any of the forms that the recipes write.

        Raises:
            RunnerFailure: It cannot be loaded, or an option does not fit its form.
        """
        archive = _open_archive(request.model)
        import torch  # noqa: PLC0415 - late, so that wrong files fail fast

        if request.threads is not None:
            torch.set_num_threads(request.threads)
        torch.set_grad_enabled(False)
        unreadable = f"{request.model} cannot be loaded by torch {torch.__version__}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                forward, inputs = _load(archive, request)
                request.program_loaded()
                return PyTorchModule(_compile(forward, archive, request.options), archive, inputs, request)
        except (RuntimeError, ValueError, KeyError, OSError, EOFError) as error:
            reason = " ".join(str(error).split())[:400]
            raise RunnerFailure(ExitStatus.NOT_LOADED, f"{unreadable} ({reason})") from error

    def files(self, model: Path) -> Sequence[Path]:
        """Return the archive alone."""
        return (model,)

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure | None:  # noqa: ARG002 - an Engine's
        """Return nothing: torch's errors say all."""
        return None


ENGINE: Final = PyTorchEngine()


def _open_archive(model: Path) -> _Archive:
    """Recognise the form of a file by its members.

    Raises:
        RunnerFailure: It is none of them.
    """
    try:
        with zipfile.ZipFile(model) as archive:
            members = {name.partition("/")[2]: name for name in archive.namelist()}
            if "models/model.json" in members:
                return _Archive(_EXPORTED)
            kind = _LITE if "bytecode.pkl" in members else _SCRIPT if "constants.pkl" in members else None
            described = json.loads(archive.read(members["extra/inputs.json"])) if "extra/inputs.json" in members else []
            inputs = tuple(Tensor(f"input_{i}", dtype, tuple(shape)) for i, (dtype, shape) in enumerate(described))
    except (zipfile.BadZipFile, OSError, ValueError, TypeError, RecursionError) as error:
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"{model} is not an archive of torch ({error})") from error
    if kind is None:
        raise RunnerFailure(ExitStatus.NOT_LOADED, f"{model} is no archive of torch.export, TorchScript or lite")
    if not inputs:
        sentence = f"{model} does not describe its inputs, as the recipes of the harness do (extra/inputs.json)"
        raise RunnerFailure(ExitStatus.NOT_LOADED, sentence)
    return _Archive(kind, inputs)


def _load(archive: _Archive, request: LoadRequest) -> tuple[Forward, Sequence[Tensor]]:
    import torch  # noqa: PLC0415 - imported by the engine

    options = request.options
    if archive.kind == _LITE:
        from torch.jit.mobile import _load_for_lite_interpreter  # noqa: PLC0415 - there is no public name

        _refuse(options, archive, "precision", "memory_format", "compile", "freeze")
        return _load_for_lite_interpreter(str(request.model)), archive.inputs  # type: ignore[no-untyped-call]
    if archive.kind == _SCRIPT:
        module = torch.jit.load(str(request.model)).eval()  # type: ignore[no-untyped-call]
        _refuse(options, archive, "compile")
        _convert_module(module, options)
        if options.get("freeze") == "true":
            module = torch.jit.optimize_for_inference(torch.jit.freeze(module))
        return module, archive.inputs
    program = torch.export.load(str(request.model))
    _refuse(options, archive, "freeze")
    given = program.example_inputs[0] if program.example_inputs is not None else ()
    inputs = [
        Tensor(f"input_{index}", str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for index, tensor in enumerate(given)
    ]
    exported = program.module(check_guards=False)
    _convert_module(exported, options)
    return exported, inputs


def _compile(forward: Forward, archive: _Archive, options: Mapping[str, str]) -> Forward:
    import torch  # noqa: PLC0415 - imported by the engine

    backend = options.get("compile", "none")
    if archive.kind != _EXPORTED or backend == "none":
        return forward
    compiled: Forward = torch.compile(forward, backend=backend, fullgraph=True)
    return compiled


def _refuse(options: Mapping[str, str], archive: _Archive, *names: str) -> None:
    defaults = {"precision": "f32", "memory_format": "contiguous", "compile": "none", "freeze": "false"}
    for name in names:
        if options.get(name, defaults[name]) != defaults[name]:
            sentence = f"argument --option: {name}={options[name]} cannot be had with {archive.kind}"
            raise RunnerFailure(ExitStatus.USAGE, sentence)


def _convert_module(module: torch.nn.Module, options: Mapping[str, str]) -> None:
    import torch  # noqa: PLC0415 - imported by the engine

    if options.get("precision") == "bf16":
        module.to(torch.bfloat16)
    if options.get("memory_format") == "channels_last":
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _convert(tensor: torch.Tensor, options: Mapping[str, str]) -> torch.Tensor:
    import torch  # noqa: PLC0415 - imported by the engine

    if options.get("precision") == "bf16" and tensor.dtype is torch.float32:
        tensor = tensor.to(torch.bfloat16)
    if options.get("memory_format") == "channels_last" and tensor.dim() == 4:
        tensor = tensor.to(memory_format=torch.channels_last)
    return tensor


def _make_tensor(tensor: Tensor, content: bytes) -> torch.Tensor:
    import torch  # noqa: PLC0415 - imported by the engine

    dtype: torch.dtype = getattr(torch, tensor.dtype)
    if not content:
        return torch.empty(tensor.shape, dtype=dtype)
    return torch.frombuffer(bytearray(content), dtype=dtype).reshape(tensor.shape)


def _read_output(index: int, tensor: torch.Tensor) -> Output:
    import torch  # noqa: PLC0415 - imported by the engine

    info = Tensor(f"output_{index}", str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    content: bytes = flat.numpy().tobytes()
    return Output(info, content)


def _flatten(result: object) -> Sequence[torch.Tensor]:
    """Return the tensors of a result of any nesting, in order.

    Raises:
        RunnerFailure: Something in it is not a tensor.
    """
    import torch  # noqa: PLC0415 - imported by the engine
    from torch.utils import _pytree as pytree  # noqa: PLC0415 - likewise

    leaves = [leaf for leaf in pytree.tree_leaves(result) if leaf is not None]
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor):
            raise RunnerFailure(ExitStatus.NOT_EXECUTED, f"output {index} is not a tensor and cannot be written")
    return leaves
