"""Evaluation of a model that a script has in memory: exported, run on a device, and compared with itself."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from harness.api import keywords
from harness.api.calls import Call, call
from harness.api.results import Results
from harness.api.specifications import Specifications
from harness.core.errors import BenchmarkFailed, UsageError
from harness.core.evaluation import Evaluation
from harness.core.result import Result

if TYPE_CHECKING:
    import torch

    from harness.core.errors import ExitCode
    from harness.files.tensors import Array

_DEFINITION: Final = "frameworks.definitions._saved:saved"
_DTYPES: Final = {
    "float32": "float",
    "float16": "half",
    "float64": "double",
    "int32": "int",
    **{name: name for name in ("int8", "uint8", "int16", "int64", "bool")},
}
"""Names of element types in specifications by those of torch."""


class EvaluatedModel(Struct, frozen=True):
    """A model that was executed on a device.

    Attributes:
        outputs: Each output of the lowered program for all examples, stacked: `[examples, *shape of the output]`.
        result: The result with latency, metrics and evaluation; it is stored like any other.
        messages: Everything that the call told a person.
    """

    outputs: tuple[torch.Tensor, ...]
    result: Result
    messages: tuple[str, ...]

    @property
    def latency_ms(self) -> float:
        """Median latency in milliseconds."""
        from harness.core.metric import LATENCY, convert  # noqa: PLC0415 - small, and only this needs them

        metric = self.result.metric(LATENCY)
        median = None if metric is None or metric.median is None else convert(metric.median, metric.unit, "ms")
        if median is None:
            raise UsageError("no latency was measured")
        return median

    @property
    def evaluation(self) -> Evaluation:
        """How far the outputs are from those of the model itself."""
        if self.result.evaluation is None:
            raise UsageError("the outputs were not evaluated")
        return self.result.evaluation


def evaluate_model(
    model: torch.nn.Module | torch.export.ExportedProgram,
    inputs: object,
    *,
    recipe: str,
    labels: Sequence[int] | None,
    progress: bool,
    settings: Mapping[str, object],
) -> EvaluatedModel:
    """Evaluate a model as `harness.evaluate` describes.

    Raises:
        UsageError: An argument is wrong.
        EnvironmentProblem: Nothing could be measured.
        BenchmarkFailed: It could not be exported, executed or compared.
    """
    import torch  # noqa: PLC0415 - an extra

    examples = _read_inputs(inputs)
    if labels is not None and len(labels) != len(examples):
        raise UsageError(f"{len(labels)} labels for {len(examples)} examples")
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        specification = _specify(_save(model, examples[0], Path(folder)), examples, recipe, labels, Path(folder))
        outputs = Path(folder, "outputs")
        results = evaluate_specifications(
            specification,
            data=None,
            examples=None,
            layers=False,
            progress=progress,
            settings=settings,
            kept_outputs=outputs,
        )
        result = results[0]
        if not result.ok:
            raise BenchmarkFailed(result.reason or result.outcome.words, hint=result.hint)
        from harness.files.examples import read_outputs  # noqa: PLC0415 - NumPy

        taken = list(read_outputs(outputs))
        columns = [
            torch.stack([torch.from_numpy(array.copy()) for array in column]) for column in zip(*taken, strict=True)
        ]
    return EvaluatedModel(tuple(columns), result, results.messages)


def _stack(arrays: Sequence[Array]) -> torch.Tensor:
    import torch  # noqa: PLC0415 - an extra

    return torch.stack([torch.from_numpy(array.copy()) for array in arrays])


def evaluate_specifications(
    spec: Specifications,
    *,
    data: str | None,
    examples: int | None,
    layers: bool,
    progress: bool,
    settings: Mapping[str, object],
    kept_outputs: Path | None = None,
) -> Results:
    """Evaluate the benchmarks of specifications as `harness.evaluate` describes.

    Raises:
        UsageError: An argument is wrong.
        EnvironmentProblem: Nothing could be measured.
    """
    request = keywords.read_run(spec, settings)
    if request.compare is not None:
        raise UsageError("a commit to build cannot be evaluated yet", hint="leave out commits and repositories")
    from harness.flows.evaluate import evaluate as flow  # noqa: PLC0415 - NumPy and more, after the arguments

    def work(state: Call) -> ExitCode:
        evaluation = flow.EvaluationRequest(data, examples, layers, kept_outputs)
        benchmarks = request.load_benchmarks()
        return flow.evaluate(evaluation, request.settings, state.display, benchmarks, [state.collector])

    return call(work, progress=progress)


def _read_inputs(inputs: object) -> list[tuple[torch.Tensor, ...]]:
    """Return the examples: a list has many; a tensor, or a tuple of the model's arguments, is one.

    Raises:
        UsageError: They are something else, or of unequal shapes.
    """
    import torch  # noqa: PLC0415 - an extra

    items = inputs if isinstance(inputs, list) else [inputs]
    examples = [item if isinstance(item, tuple) else (item,) for item in items]
    if not examples or not all(
        example and all(isinstance(part, torch.Tensor) for part in example) for example in examples
    ):
        raise UsageError(
            "inputs are neither tensors nor tuples of tensors",
            hint="give the arguments of the model as a tuple, or a list of such tuples: one for each example",
        )
    forms = {tuple((tuple(part.shape), part.dtype) for part in example) for example in examples}
    if len(forms) > 1:
        raise UsageError("the examples have different shapes or types", hint="an exported program takes one shape")
    if unknown := [part.dtype for part in examples[0] if str(part.dtype).removeprefix("torch.") not in _DTYPES]:
        raise UsageError(f"inputs of type {unknown[0]} cannot be given", hint=f"known: {', '.join(_DTYPES)}")
    return [tuple(part.detach().cpu() for part in example) for example in examples]


def _save(
    model: torch.nn.Module | torch.export.ExportedProgram, example: tuple[torch.Tensor, ...], folder: Path
) -> Path:
    """Save the model as a program; in the cache of files under the digest of its content, for later runs.

    Raises:
        UsageError: It is no model, or torch cannot export it.
    """
    import torch  # noqa: PLC0415 - an extra

    program = model
    if isinstance(model, torch.nn.Module):
        mode = model.training
        try:
            program = torch.export.export(model.eval(), example)
        except Exception as error:
            raise UsageError(f"torch cannot export the model: {type(error).__name__}: {error}") from error
        finally:
            model.train(mode)
    if not isinstance(program, torch.export.ExportedProgram):
        raise UsageError(f"{type(model).__name__} is neither a torch.nn.Module nor an exported program")
    program._example_inputs = (example, {})  # noqa: SLF001 - an exported program may have been saved without any
    path = folder / "model.pt2"
    torch.export.save(program, path)
    return path


def _specify(
    program: Path,
    examples: Sequence[tuple[torch.Tensor, ...]],
    recipe: str,
    labels: Sequence[int] | None,
    folder: Path,
) -> dict[str, Any]:
    """Return the specification of a saved program and its examples."""
    import numpy as np  # noqa: PLC0415 - not needed before

    inputs, paths = {}, {}
    for number, column in enumerate(zip(*examples, strict=True)):
        name, path = f"input{number}", folder / f"input-{number}.npy"
        dtype = str(column[0].dtype).removeprefix("torch.")
        inputs[name] = {"shape": list(column[0].shape), "type": _DTYPES[dtype]}
        np.save(path, np.stack([part.numpy() for part in column]))
        paths[name] = str(path)
    options: dict[str, Any] = {"path": paths}
    if labels is not None:
        np.save(folder / "labels.npy", np.asarray(labels, dtype=np.int64))
        options["labels"] = str(folder / "labels.npy")
    digest = hashlib.sha256(program.read_bytes()).hexdigest()[:12]
    export = {"definition": _DEFINITION, "recipe": recipe, "options": {"path": os.fspath(program)}}
    return {
        "model": {
            "name": f"model-{digest}",
            "format": "executorch",
            "framework": "executorch",
            "files": {"model": {"filename": "model.pte", "export": export}},
        },
        "tests": [
            {
                "metric": "delay",
                "identifier": recipe.rpartition(":")[2],
                "inputs": inputs,
                "data": {"provider": "files", "options": options},
                "warmup": 10,
                "iter": 50,
                "repeat": 3,
                "time_limit_s": 20,
            }
        ],
    }
