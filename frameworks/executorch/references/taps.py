"""Taps: a program with intermediate values as further outputs, to look between its layers, inside delegates too.

A delegate returns only what leaves it, so an intermediate value has to become an output before the program is lowered.
What is tapped are values that the lowered program holds in any case: not those between a convolution and the
normalisation or activation that kernels take with it, and in quantised programs the stored 8-bit numbers, converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import torch
from executorch.exir import EdgeProgramManager
from msgspec import Struct
from msgspec.structs import replace
from torch._ops import OpOverload
from torch.fx.graph import CodeGen

from frameworks.executorch.exporting.graph import delegate_of, describe_node
from frameworks.exporting.example_folder import Inputs
from frameworks.references.stages import program_module

_QUANTISE: Final = "quantized_decomposed.quantize_per_tensor.default"
_QUANTISATION: Final = ("quantized_decomposed.", "torchao.", "quant.")

_FUSED: Final = frozenset({"batch_norm", "_native_batch_norm_legit_no_training", "relu", "relu6", "hardtanh"})
"""Operators that kernels compute together with the one before them."""

_MOVING: Final = frozenset(
    {
        *("alias", "clone", "contiguous", "detach", "dropout", "expand", "feature_dropout", "flatten", "pad"),
        *("permute", "reshape", "select", "slice", "squeeze", "t", "to", "transpose", "unsqueeze", "view", "_to_copy"),
    }
)
"""Operators that move or convert numbers and compute none."""


class Tap(Struct, frozen=True):
    """Intermediate value of a program.

    Attributes:
        name: Its node in the program that torch.export returned, before any quantiser; that of this program if unknown.
        operator: The operator, for example `conv2d`.
        module: Module that called it; empty for the model itself.
        source: Line of Python that called it; empty where unknown.
        node: Its node in the program.
        delegate: Backend that computes it; empty where none does, or it is not lowered.
    """

    name: str
    operator: str
    module: str
    source: str
    node: str
    delegate: str = ""


class TappedModule(Struct, frozen=True):
    """Module that returns the outputs of a program, and then the values of its taps.

    Attributes:
        module: The module.
        outputs: Number of the program's own outputs.
        taps: The taps, in the order of execution.
    """

    module: torch.fx.GraphModule
    outputs: int
    taps: Sequence[Tap]


def tap_layers(program: torch.export.ExportedProgram) -> TappedModule:
    """Tap every layer of a program that is to be lowered."""
    module = program_module(program)
    computed = _computed_from_inputs(module.graph)
    layers = [node for node in module.graph.nodes if node in computed and _is_layer(node)]
    return _return_values(module, [(_identify(node), _stored_value(node)) for node in layers])


def tap_named(program: torch.export.ExportedProgram, names: Sequence[str]) -> TappedModule:
    """Tap the nodes of these names in the program that torch.export returned, as far as it has them.

    Of a convolution whose normalisation a quantiser has folded into its weights, the normalised output is tapped.

    Args:
        program: The program, not quantised.
        names: Names of nodes, as in `Tap.name`.
    """
    module = program_module(program)
    nodes = {node.name: node for node in module.graph.nodes if node.op == "call_function"}
    wanted = set(names)
    values = []
    for name in dict.fromkeys(names):
        if name in nodes:
            node = _normalised(nodes[name], wanted)
            values.append((replace(_identify(node), name=name), node))
    return _return_values(module, values)


def find_delegates(tapped: TappedModule, edge: EdgeProgramManager) -> Sequence[Tap]:
    """Return the taps with the backend that computes each, by the lowered program."""
    graph = edge.exported_program().graph_module
    returned = tuple(_flat(graph.graph.output_node().args))
    values = returned[len(returned) - len(tapped.taps) :]
    return tuple(
        replace(tap, delegate=delegate_of(graph, value)) for tap, value in zip(tapped.taps, values, strict=True)
    )


def _is_layer(node: torch.fx.Node) -> bool:
    if node.op != "call_function" or not _is_floating(node) or _operator(node) in _MOVING:
        return False
    if str(node.target).startswith(_QUANTISATION) or not isinstance(node.target, OpOverload):
        return False
    return not node.users or any(_operator(user) not in _FUSED for user in node.users)


def _stored_value(node: torch.fx.Node) -> torch.fx.Node:
    """Return the node of what the program stores: where a value is quantised at once, the quantised one, converted."""
    quantisers = [user for user in node.users if str(user.target) == _QUANTISE]
    if len(quantisers) != len(node.users) or not quantisers:
        return node
    quantised = quantisers[0]
    with node.graph.inserting_after(quantised):
        converted = node.graph.call_function(
            torch.ops.quantized_decomposed.dequantize_per_tensor.default, (quantised, *quantised.args[1:])
        )
    converted.meta["val"] = node.meta["val"]
    return converted


def _return_values(module: torch.fx.GraphModule, values: Sequence[tuple[Tap, torch.fx.Node]]) -> TappedModule:
    output = module.graph.output_node()
    (returned,) = output.args
    own = [value for value in _flat(returned) if isinstance(value, torch.fx.Node)]
    output.args = ((*own, *(node for _, node in values)),)
    module.graph.set_codegen(CodeGen())  # The program's own builds its nested result.
    module.recompile()
    return TappedModule(module, len(own), tuple(tap for tap, _ in values))


def _flat(returned: object) -> Iterator[object]:
    if isinstance(returned, tuple | list):
        for value in returned:
            yield from _flat(value)
    else:
        yield returned


def _computed_from_inputs(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """Return the nodes whose values depend on an input; what depends on weights only is no layer."""
    computed: set[torch.fx.Node] = set()
    for node in graph.nodes:
        if node.op == "placeholder" or any(argument in computed for argument in node.all_input_nodes):
            computed.add(node)
    return computed


def _normalised(node: torch.fx.Node, wanted: set[str]) -> torch.fx.Node:
    users = tuple(node.users)
    if len(users) == 1 and _operator(users[0]) == "batch_norm" and users[0].name not in wanted:
        return users[0]
    return node


def _identify(node: torch.fx.Node) -> Tap:
    described = describe_node(node)
    return Tap(
        name=described.exported or node.name,
        operator=_operator(node),
        module=described.module,
        source=described.source.place if described.source else "",
        node=node.name,
    )


def _operator(node: torch.fx.Node) -> str:
    """Return the name of the operator without namespace, overload and the mark of in-place variants."""
    parts = str(node.target).split(".")
    return parts[1].rstrip("_") if isinstance(node.target, OpOverload) else str(node.target)


def _is_floating(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def inputs_of(program: torch.export.ExportedProgram, example: Inputs) -> Inputs:
    """Return the inputs of one example in the types that a program takes: half, where a recipe lowers to that."""
    nodes = {node.name: node for node in program.graph.nodes}
    dtypes = [nodes[str(name)].meta["val"].dtype for name in program.graph_signature.user_inputs]
    return tuple(
        tensor.to(dtype) if tensor.is_floating_point() else tensor
        for tensor, dtype in zip(example, dtypes, strict=True)
    )
