"""Identity of instructions: which nodes of the lowered graph, hence modules and lines, each of them executes.

Runs in the export process. The emitter knows all of it while it emits; nothing is kept in the program, and an ETRecord,
which keeps it too, is ten times as large as a small program and takes three seconds to read.
"""

from __future__ import annotations

import operator
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import torch
from executorch.exir import ExecutorchProgramManager
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.exir.schema import DelegateCall, KernelCall
from msgspec import Struct

from frameworks.executorch.exporting.xnnpack_program import XNNPACK, read_operators
from harness.core.program_graph import DelegateOperator, GraphNode, Instruction, ProgramGraph, SourceLine

_FRAME: Final = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+), in .*(?:\n    (?P<code>.*))?', re.MULTILINE)
_METHOD: Final = "forward"
_TORCH: Final = Path(torch.__file__).parent


class LoweredGraph(Struct, frozen=True):
    """Graph before it is emitted, which changes it.

    Attributes:
        nodes: The nodes outside delegates.
        delegates: Each call of a delegate, in order of execution.
    """

    nodes: Sequence[GraphNode]
    delegates: Sequence[LoweredDelegate]


class LoweredDelegate(Struct, frozen=True):
    """Part of a graph that a delegate executes.

    Attributes:
        nodes: The nodes inside.
        operators: Operators of the delegate's own program, each with a debug handle; empty where they are not known.
    """

    nodes: Sequence[GraphNode]
    operators: Sequence[tuple[str, int]]


_UNKNOWN: Final = LoweredDelegate((), ())


def read_graph(module: torch.fx.GraphModule) -> LoweredGraph:
    """Read the nodes of a lowered graph."""
    calls = [_lowered_module(module, node) for node in module.graph.nodes if _is_delegate_call(node)]
    outside = [node for node in module.graph.nodes if node.op == "call_function" and not _is_delegate_call(node)]
    return LoweredGraph(
        tuple(map(describe_node, outside)),
        tuple(map(_read_delegate, calls)),
    )


def identify_instructions(graph: LoweredGraph, program: ExecutorchProgramManager) -> ProgramGraph:
    """Return which instruction of the emitted program executes which nodes of the graph that it was emitted from."""
    plan = next(plan for plan in program.executorch_program.execution_plan if plan.name == _METHOD)
    handles = program.debug_handle_map.get(_METHOD, {})
    by_handle = _group_by_handle(graph.nodes, 0)
    delegates = iter(_place_delegates(graph))
    instructions = []
    for index, instruction in enumerate(plan.chains[0].instructions):
        call, handle = instruction.instr_args, handles.get(index)
        if isinstance(call, DelegateCall):
            backend = plan.delegates[call.delegate_index].id
            first, delegate = next(delegates, (0, _UNKNOWN))
            if [node.handle for node in delegate.nodes if node.handle is not None] == handle:
                instructions.append(_describe_call(program, index, backend, first, delegate))
            else:  # emitted from another graph than the one that was read
                instructions.append(Instruction(index=index, delegate=backend))
        elif isinstance(call, KernelCall):
            operator = plan.operators[call.op_index]
            kernel = ".".join(part for part in (operator.name, operator.overload) if part)
            places = by_handle.get(handle, ()) if isinstance(handle, int) else ()
            instructions.append(Instruction(index=index, kernel=kernel, nodes=tuple(places)))
        else:
            instructions.append(Instruction(index=index, kernel=type(call).__name__))
    inside = (node for delegate in graph.delegates for node in delegate.nodes)
    return ProgramGraph(nodes=(*graph.nodes, *inside), instructions=tuple(instructions))


def _describe_call(
    program: ExecutorchProgramManager, index: int, backend: str, first: int, delegate: LoweredDelegate
) -> Instruction:
    """Describe the call of a delegate, the first node of which has this place."""
    by_handle = _group_by_handle(delegate.nodes, first)
    return Instruction(
        index=index,
        delegate=backend,
        nodes=tuple(range(first, first + len(delegate.nodes))),
        delegate_nodes=_map_identifiers(program, index, by_handle),
        delegate_operators=tuple(
            DelegateOperator(kind=kind, nodes=tuple(by_handle.get(own, ()))) for kind, own in delegate.operators
        ),
    )


def delegate_of(module: torch.fx.GraphModule, value: object) -> str:
    """Return the backend that computes a value of a lowered graph; empty for a kernel.

    A conversion from 8-bit numbers outside the delegate is looked through.
    """
    while isinstance(value, torch.fx.Node) and value.op == "call_function":
        if _is_delegate_call(value):
            return str(_lowered_module(module, value).backend_id)
        is_passed_on = value.target is operator.getitem or "dequantize_per_tensor" in str(value.target)
        value = value.args[0] if is_passed_on else None
    return ""


def _place_delegates(graph: LoweredGraph) -> Iterator[tuple[int, LoweredDelegate]]:
    """Yield each delegate with the place of its first node."""
    first = len(graph.nodes)
    for delegate in graph.delegates:
        yield first, delegate
        first += len(delegate.nodes)


def _read_delegate(lowered: LoweredBackendModule) -> LoweredDelegate:
    calls = (node for node in lowered.original_module.graph.nodes if node.op == "call_function")
    operators = read_operators(lowered.processed_bytes) if lowered.backend_id == XNNPACK else ()
    return LoweredDelegate(tuple(map(describe_node, calls)), operators)


def _is_delegate_call(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and node.target is executorch_call_delegate


def _lowered_module(module: torch.fx.GraphModule, call: torch.fx.Node) -> LoweredBackendModule:
    attribute = call.args[0]
    lowered: object = getattr(module, str(attribute.target)) if isinstance(attribute, torch.fx.Node) else None
    if not isinstance(lowered, LoweredBackendModule):
        raise TypeError(f"{call.name} calls no lowered module")
    return lowered


def describe_node(node: torch.fx.Node) -> GraphNode:
    """Return the identity of a node of an exported or lowered graph."""
    module, module_type = _module(node)
    handle = node.meta.get("debug_handle")
    return GraphNode(
        name=node.name,
        operator=_operator(node),
        handle=handle if isinstance(handle, int) else None,
        module=module,
        module_type=module_type,
        exported=_exported_name(node),
        source=_source(node.meta.get("stack_trace")),
        output=_output(node.meta.get("val")),
    )


def _operator(node: torch.fx.Node) -> str:
    """Return `namespace.operator.overload`, or the name of a function; as a text, an edge operator is its schema."""
    name: object = getattr(node.target, "__name__", None)
    return name if isinstance(name, str) else str(node.target)


def _module(node: torch.fx.Node) -> tuple[str, str]:
    stack: Mapping[str, tuple[str, object]] = node.meta.get("nn_module_stack") or {}
    if not stack:
        return "", ""
    path, type_ = tuple(stack.values())[-1]
    name = type_ if isinstance(type_, str) else f"{type_.__module__}.{getattr(type_, '__qualname__', type_)}"
    return ("", "") if name.startswith("torch.export.") else (path, name)  # a wrapper of the exporter's own


def _exported_name(node: torch.fx.Node) -> str:
    """Return the name of the earliest node that this one was made from."""
    name, origins = "", node.meta.get("from_node")
    while origins:
        name, origins = origins[-1].name, origins[-1].from_node
    return name


def _source(trace: object) -> SourceLine | None:
    """Return the innermost line outside torch: that of a layer's implementation is the same for all layers."""
    frames = list(_FRAME.finditer(trace)) if isinstance(trace, str) else []
    if not frames:
        return None
    outside = [frame for frame in frames if not Path(frame["file"]).is_relative_to(_TORCH)]
    frame = (outside or frames)[-1]
    return SourceLine(file=_shorten(Path(frame["file"])), line=int(frame["line"]), code=(frame["code"] or "").strip())


def _shorten(file: Path) -> str:
    """Return the path below the innermost folder of modules, so that it is the same on each machine."""
    roots = [Path(entry or ".").resolve() for entry in sys.path]
    below = [file.relative_to(root).as_posix() for root in roots if file.is_relative_to(root)]
    return min(below, key=len, default=str(file))


def _output(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {[str(size) for size in value.shape]}".replace("'", "")
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_output, value)))
    return ""


def _group_by_handle(nodes: Sequence[GraphNode], first: int) -> Mapping[int, Sequence[int]]:
    """Return the places of nodes by their handle, for nodes that stand one after the other from `first` on."""
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for place, node in enumerate(nodes, start=first):
        if node.handle is not None:
            groups[node.handle].append(place)
    return groups


def _map_identifiers(
    program: ExecutorchProgramManager, index: int, by_handle: Mapping[int, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """Return the nodes by the delegate's own identifiers, as far as its preprocessing gave them."""
    by_method: Mapping[str, Mapping[int, Mapping[str, Mapping[object, object]]]] = program.delegate_map or {}
    mapped = by_method.get(_METHOD, {}).get(index, {}).get("delegate_map") or {}
    return {
        str(identifier): tuple(
            place
            for handle in (handles if isinstance(handles, list | tuple) else (handles,))
            for place in by_handle.get(handle, ())
        )
        for identifier, handles in mapped.items()
    }
