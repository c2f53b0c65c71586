"""Lowering of a requested model to a program file, with its report and its graph. Runs in the export process."""

from __future__ import annotations

import hashlib
import platform
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from executorch.devtools.backend_debug import get_delegation_info
from executorch.exir import EdgeProgramManager
from executorch.exir.backend.utils import format_delegated_graph

from frameworks.executorch.exporting import provenance, recipe_steps
from frameworks.executorch.exporting.catalogue import RECIPES
from frameworks.executorch.exporting.example_folder import Inputs
from frameworks.executorch.exporting.graph import identify_instructions, read_graph
from frameworks.executorch.exporting.model import calibration_batches, dtype_name, prepare, weights_md5
from frameworks.executorch.exporting.process import GRAPH, NODES, REPORT, Say, beside
from frameworks.executorch.python.machine import memory_bytes
from frameworks.executorch.python.program_file import read_sections
from harness.core.benchmark import Export
from harness.core.cached_files import Delegation, ExportReport
from harness.core.errors import ExportFailed
from harness.core.examples import TensorInfo
from harness.files.atomic import write_atomically

_OPERATOR = re.compile(
    r"(?:aten_|dim_order_ops_|quantized_decomposed_)?(?P<name>\w+?)"
    r"(?:_(?:default|correction|dim|dim_intlist|int|int_scalar|scalar|scalar_mode|self|tensor|tensor_mode|tensor_scalar|vec))?",
    re.IGNORECASE,
)
"""Node names are `<namespace>_<operator>_<overload>`, for example `aten_convolution_default`."""


def write_program(
    export: Export, destination: Path, say: Say, began: float, *, calibration: Path | None = None
) -> None:
    """Make the model, lower it, and write the program last of all files.

    Args:
        export: The request.
        destination: The program; the report, the graph and its nodes stand beside it.
        say: Reports progress.
        began: Start of the process, by the monotonic clock.
        calibration: Folder of the examples to calibrate with; None for random numbers.

    Raises:
        ExportFailed: The definition or the recipe cannot be used.
    """
    seconds: dict[str, float] = {}
    lower = recipe_steps.load(RECIPES.find(export.recipe))
    seconds["import"] = time.monotonic() - began
    say(f"making {export.definition}")
    with _record_time(seconds, "model"):
        prepared = prepare(export)
        weights = weights_md5(prepared.module)
        parameters = sum(parameter.numel() for parameter in prepared.module.parameters())
    say(f"lowering by {export.recipe}")
    with _record_time(seconds, "lower"):
        batches = calibration_batches(prepared.example_inputs, export, calibration)
        edge = lower(prepared.module, prepared.example_inputs, _with_progress(batches, export.calibration, say))
        if not isinstance(edge, EdgeProgramManager):
            raise ExportFailed(
                f"recipe `{export.recipe}` returned {type(edge).__name__}",
                hint="it must return an EdgeProgramManager, as `to_edge_transform_and_lower` does",
            )
    module = edge.exported_program().graph_module  # Everything is read before emitting, which changes the graph.
    delegation, lowered, graph = _delegation(module), format_delegated_graph(module), read_graph(module)
    inputs, outputs = _interface(edge.exported_program(), [tensor.name for tensor in export.inputs])
    say("emitting the program")
    with _record_time(seconds, "emit"):
        emitted = edge.to_executorch()
        program: bytes = emitted.buffer
    report = ExportReport(
        export=export,
        versions=versions(export),
        md5=hashlib.md5(program, usedforsecurity=False).hexdigest(),
        size_bytes=len(program),
        sections=read_sections(program),
        weights_md5=weights,
        parameters=parameters,
        delegation=delegation,
        inputs=inputs,
        outputs=outputs,
        seconds={phase: round(spent, 3) for phase, spent in seconds.items()},
        peak_memory_bytes=_peak_memory_bytes(),
    )
    write_atomically(beside(destination, GRAPH), f"{lowered}\n".encode())
    write_atomically(beside(destination, NODES), identify_instructions(graph, emitted).model_dump_json().encode())
    write_atomically(beside(destination, REPORT), report.model_dump_json(indent=2).encode())
    write_atomically(destination, program)


@contextmanager
def _record_time(seconds: dict[str, float], phase: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    seconds[phase] = time.monotonic() - began


def _with_progress(batches: Iterator[Inputs], count: int, say: Say) -> Iterator[Inputs]:
    for number, batch in enumerate(batches, start=1):
        say(f"quantising {number}/{count}")
        yield batch
    if count:
        say("lowering the quantised model")


def _interface(
    program: torch.export.ExportedProgram, names: Sequence[str]
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Return the tensors that a program takes and returns; inputs by the names of the request, if it has any."""
    nodes = {node.name: node for node in program.graph.nodes}
    inputs = [nodes[str(name)] for name in program.graph_signature.user_inputs if str(name) in nodes]
    outputs = [nodes[str(name)] for name in program.graph_signature.user_outputs if str(name) in nodes]
    input_names = names if len(names) == len(inputs) else [node.name for node in inputs]
    return _tensors(zip(input_names, inputs, strict=True)), _tensors(
        (f"output_{number}", node) for number, node in enumerate(outputs)
    )


def _tensors(nodes: Iterable[tuple[str, torch.fx.Node]]) -> tuple[TensorInfo, ...]:
    tensors = ((name, node.meta.get("val")) for name, node in nodes)
    return tuple(
        TensorInfo(name=name, dtype=dtype_name(tensor.dtype), shape=tuple(int(size) for size in tensor.shape))
        for name, tensor in tensors
        if isinstance(tensor, torch.Tensor)
    )


def _delegation(graph: torch.fx.GraphModule) -> Delegation:
    """Count operators by kind, with the overloads of one operator together."""
    info = get_delegation_info(graph)
    delegated: Counter[str] = Counter()
    non_delegated: Counter[str] = Counter()
    for operator, count in info.delegation_by_operator.items():
        delegated[_clean(operator)] += count.delegated
        non_delegated[_clean(operator)] += count.non_delegated
    return Delegation(
        subgraphs=info.num_delegated_subgraphs,
        delegated=dict(sorted((+delegated).items())),
        non_delegated=dict(sorted((+non_delegated).items())),
    )


def _clean(operator: str) -> str:
    matched = _OPERATOR.fullmatch(operator)
    return matched["name"] if matched else operator


def versions(export: Export) -> dict[str, str]:
    """Return versions, and the instruction set that torch uses, on which sums and thus quantised programs depend."""
    return {
        **provenance.versions(),
        **provenance.versions_used_by(RECIPES.find(export.recipe).module),
        "python": platform.python_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def _peak_memory_bytes() -> int:
    """Return the peak resident memory of this program; where unknown, of this and the parent process."""
    scale = 1 if sys.platform == "darwin" else 1024
    return memory_bytes("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
