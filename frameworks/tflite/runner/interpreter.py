"""The interpreter of TensorFlow Lite, by LiteRT's Python package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from frameworks.python_runner.engine import LoadRequest, Output, Tensor
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from frameworks.tflite.runner.tensors import arrange, described, sort_arguments

if TYPE_CHECKING:
    from frameworks.tflite.runner.engine import RuntimeOptions

_RESOLVERS = {
    "xnnpack": OpResolverType.BUILTIN,
    "none": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "reference": OpResolverType.BUILTIN_REF,
}
_DELEGATED = "DELEGATE"
"""Operator that stands for what a delegate took."""


class InterpreterModel:
    """Model that the interpreter has loaded; the interpreter's number of threads is 1 unless another is asked for.

    Args:
        request: The request.
        options: Its options.

    Raises:
        RunnerFailure: It cannot be loaded.
    """

    threads = None  # the interpreter tells none
    runs_on_caller = True
    consumes_inputs = False  # the planner of memory keeps inputs until the end

    def __init__(self, request: LoadRequest, options: RuntimeOptions) -> None:
        self._options = options
        try:
            self._interpreter = Interpreter(
                model_path=str(request.model),
                num_threads=request.threads or 1,
                experimental_op_resolver_type=_RESOLVERS[options.delegate],
            )
            request.program_loaded()
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            sentence = f"cannot load {request.model}: {' '.join(str(error).split())}"
            raise RunnerFailure(ExitStatus.NOT_LOADED, sentence) from error
        self._signature = next(iter(self._interpreter._get_full_signature_list().values()), None)  # noqa: SLF001 - the only one with the places of tensors
        self._inputs = self._sort(self._interpreter.get_input_details(), "inputs")
        self._outputs = self._sort(self._interpreter.get_output_details(), "outputs")

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Inputs in the order of the model's arguments."""
        return [described(_describe(details), self._options.layout) for details in self._inputs]

    def set_inputs(self, contents: Sequence[bytes]) -> None:
        """Set the inputs: images as the option `layout` says."""
        for content, details in zip(contents, self._inputs, strict=True):
            value = arrange(content, _describe(details), np.dtype(details["dtype"]), self._options.layout)
            self._interpreter.set_tensor(details["index"], value)

    def execute(self) -> None:
        """Execute once."""
        self._interpreter.invoke()

    def outputs(self) -> Sequence[Output]:
        """Return the outputs of the last execution."""
        found = []
        for details in self._outputs:
            value = self._interpreter.get_tensor(details["index"])
            tensor = Tensor(str(details["name"]), value.dtype.name, tuple(value.shape))
            found.append(Output(tensor, value.tobytes()))
        return found

    def describe(self) -> Mapping[str, str | int]:
        """Return the runtime and its options; the delegate as the loaded graph shows it."""
        operators = [str(operator["op_name"]) for operator in self._interpreter._get_ops_details()]  # noqa: SLF001 - the only way
        delegate = self._options.delegate
        if delegate == "xnnpack" and _DELEGATED not in operators:
            delegate = "none"
        return {
            "runtime": self._options.runtime,
            "delegate": delegate,
            "delegate_partitions": operators.count(_DELEGATED),
            "precision": "f32",
            "api": "interpreter",
            "layout": self._options.layout,
        }

    def memory(self) -> Mapping[str, int]:
        """Return nothing: the interpreter does not tell it."""
        return {}

    def _sort(self, details: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
        """Sort tensors as the arguments of the model's only signature; without one they keep their order."""
        if self._signature is None:
            return list(details)
        names = {int(index): str(name) for name, index in self._signature[kind].items()}
        if len(names) != len(details) or any(tensor["index"] not in names for tensor in details):
            return list(details)
        return [details[place] for place in sort_arguments([names[tensor["index"]] for tensor in details])]


def _describe(details: Mapping[str, Any]) -> Tensor:
    shape = tuple(int(size) for size in details["shape"])
    return Tensor(str(details["name"]), np.dtype(details["dtype"]).name, shape)
