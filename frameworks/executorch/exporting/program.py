"""Lowering of a requested model to a program file, with its report and its graph. Runs in the export process."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from executorch.devtools.backend_debug import get_delegation_info
from executorch.exir import EdgeCompileConfig, EdgeProgramManager
from executorch.exir.backend.utils import format_delegated_graph
from executorch.exir.sym_util import eval_expr, eval_upper_bound

from frameworks.executorch.exporting import recipe_steps
from frameworks.executorch.exporting.companions import GRAPH, NODES
from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.executorch.exporting.graph import identify_instructions, read_graph
from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.executorch.python.program_file import read_sections
from frameworks.exporting.capture import Constant, find_constants
from frameworks.exporting.child import ExportTask
from frameworks.exporting.companions import beside
from frameworks.exporting.models import dtype_name
from frameworks.exporting.writing import make_model, read_batches, write_model
from harness.core.cached_files import Delegation
from harness.core.errors import ExportFailed
from harness.core.examples import TensorInfo
from harness.files.atomic import write_atomically

_OPERATOR = re.compile(
    r"(?:aten_|dim_order_ops_|quantized_decomposed_)?(?P<name>\w+?)"
    r"(?:_(?:default|correction|dim|dim_intlist|int|int_scalar|scalar|scalar_mode|self|tensor|tensor_mode|tensor_scalar|vec))?",
    re.IGNORECASE,
)
"""Node names are `<namespace>_<operator>_<overload>`, for example `aten_convolution_default`."""


def write_program(task: ExportTask) -> None:
    """Make the model, lower it, and write the program last of all files.

    The graph and its nodes stand beside the program, as does the report.

    Raises:
        ExportFailed: The definition or the recipe cannot be used.
    """
    export, destination = task.export, task.destination
    lower = recipe_steps.load(RECIPES.find(export.recipe))
    model = make_model(task)
    constants = find_constants(model.module)
    with task.phase("lower", f"lowering by {export.recipe}"):
        edge = lower(model.module, model.example_inputs, read_batches(task, model.example_inputs))
        if not isinstance(edge, EdgeProgramManager):
            raise ExportFailed(
                f"recipe `{export.recipe}` returned {type(edge).__name__}",
                hint="it must return an EdgeProgramManager, as `to_edge_transform_and_lower` does",
            )
    module = edge.exported_program().graph_module  # Everything is read before emitting, which changes the graph.
    delegation, lowered, graph = _delegation(module), format_delegated_graph(module), read_graph(module)
    inputs, outputs = _interface(edge.exported_program(), [tensor.name for tensor in export.inputs])
    with task.phase("emit", "emitting the program"):
        emitted = _add_constants(edge, constants).to_executorch()
        program: bytes = emitted.buffer
    write_atomically(beside(destination, GRAPH), f"{lowered}\n".encode())
    write_atomically(beside(destination, NODES), identify_instructions(graph, emitted).model_dump_json().encode())
    write_model(
        task,
        EXPORTER,
        model,
        program,
        inputs=inputs,
        outputs=outputs,
        delegation=delegation,
        sections=read_sections(program),
        constants=constants,
    )


def _add_constants(edge: EdgeProgramManager, constants: Mapping[str, Constant]) -> EdgeProgramManager:
    """Return the program with further methods that return values, beside those that its recipe gave it."""
    if not constants:
        return edge
    programs = {method: edge.exported_program(method) for method in edge.methods}
    unchecked = EdgeCompileConfig(_check_ir_validity=False)  # It was checked when the recipe made it.
    methods = {name: list(value) if isinstance(value, tuple) else value for name, value in constants.items()}
    own = edge._config_methods or {}  # noqa: SLF001 - upstream tells their names alone
    return EdgeProgramManager(programs, {**own, **methods}, unchecked)


def _interface(
    program: torch.export.ExportedProgram, names: Sequence[str]
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """Return the tensors that a program takes and returns; inputs by the names of the request, if it has any.

    A size that varies is that of the example inputs.
    """
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
        TensorInfo(name=name, dtype=dtype_name(tensor.dtype), shape=tuple(map(_evaluate, tensor.shape)))
        for name, tensor in tensors
        if isinstance(tensor, torch.Tensor)
    )


def _evaluate(size: int | torch.SymInt) -> int:
    """Return a size without fixing it, as `int` does; where it depends on data, its upper bound."""
    size_of_example: int | None = eval_expr(size)
    return int(eval_upper_bound(size)) if size_of_example is None else size_of_example


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
