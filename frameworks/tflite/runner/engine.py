"""The engine: options, and which of the two ways of LiteRT loads a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from frameworks.python_runner.engine import LoadedModel, LoadRequest
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.tflite.runner.options import CHOICES

COMPILED_VERSIONS = "2.3."
"""Releases whose C interface `c_api` describes."""


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """Options of a launch.

    Attributes:
        delegate: `xnnpack`, `none` (the interpreter's own kernels) or `reference` (its plain kernels).
        precision: `f32`, or `f16`: XNNPACK computes in half precision.
        api: `interpreter`, or `compiled_model`.
        layout: `nhwc` where images enter the model as NHWC, and are given as NCHW; `nchw` leaves inputs alone.
    """

    delegate: str = "xnnpack"
    precision: str = "f32"
    api: str = "interpreter"
    layout: str = "nchw"

    @property
    def runtime(self) -> str:
        """Return the package with its version."""
        return f"ai-edge-litert {metadata.version('ai-edge-litert')}"


class LiteRtEngine:
    """Engine of LiteRT."""

    def import_runtime(self, request: LoadRequest) -> None:
        """Import the interpreter, or load the library for compiled models.

        Raises:
            RunnerFailure: An option is unknown or cannot be had, or the library cannot be loaded.
        """
        self._choose(request, parse_options(request.options))

    def load(self, request: LoadRequest) -> LoadedModel:
        """Load a model.

        Raises:
            RunnerFailure: It cannot be loaded, or an option is unknown or cannot be had.
        """
        options = parse_options(request.options)
        return self._choose(request, options)(request, options)

    def _choose(
        self, request: LoadRequest, options: RuntimeOptions
    ) -> Callable[[LoadRequest, RuntimeOptions], LoadedModel]:
        """Import and return the class that loads the model."""
        wants_compiled = options.api == "compiled_model" or options.precision == "f16"
        has_compiled = metadata.version("ai-edge-litert").startswith(COMPILED_VERSIONS)
        if wants_compiled and not has_compiled:
            sentence = f"half precision and compiled models need ai-edge-litert {COMPILED_VERSIONS}x"
            raise RunnerFailure(ExitStatus.NOT_LOADED, f"{sentence}, not {metadata.version('ai-edge-litert')}")
        if wants_compiled or (request.operators and has_compiled):
            from frameworks.tflite.runner.compiled import CompiledModel, load_library  # noqa: PLC0415 - what is used

            load_library()
            return CompiledModel
        from frameworks.tflite.runner.interpreter import InterpreterModel  # noqa: PLC0415 - loads its library

        return InterpreterModel

    def files(self, model: Path) -> Sequence[Path]:
        """Return the model, which is all that is read."""
        return (model,)

    def explain(self, error: Exception, what: str, log: str) -> RunnerFailure | None:  # noqa: ARG002 - an Engine's
        """Return nothing: LiteRT's errors are sentences."""
        return None


def parse_options(given: Mapping[str, str]) -> RuntimeOptions:
    """Parse the options of a launch.

    Raises:
        RunnerFailure: One is unknown, or has no such value, or they contradict one another.
    """
    for name, value in given.items():
        if value not in CHOICES.get(name, ()):
            raise RunnerFailure(ExitStatus.USAGE, f"argument --option: {name}={value} is unknown")
    options = RuntimeOptions(**given)
    if options.precision == "f16" and options.delegate != "xnnpack":
        raise RunnerFailure(ExitStatus.USAGE, "argument --option: precision=f16 needs delegate=xnnpack")
    if options.precision == "f16" and given.get("api") == "interpreter":
        raise RunnerFailure(ExitStatus.USAGE, "argument --option: precision=f16 needs api=compiled_model")
    return options


ENGINE = LiteRtEngine()
