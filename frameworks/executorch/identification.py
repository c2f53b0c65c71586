"""Operators that a runner timed, identified by what the export wrote beside the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from frameworks.executorch.exporting.companions import NODES
from frameworks.exporting.companions import beside
from harness.core.metric import Metric
from harness.core.program_graph import Instruction, OperatorIdentity, ProgramGraph

PLACES: Final = "RUN operator_places"
"""Metric with the places of all operators, in the order in which the runner reports them."""

_PLACE: Final = re.compile(r"(?P<instruction>\d+)(?:\.(?P<inside>\d+))?(?:=(?P<identifier>\d+))?")
_NUMBER: Final = re.compile(r" #\d+$")
_PHASE: Final = re.compile(r"(prefill|decode): ")
"""What the runner writes before the name of an operator in a generation."""
_NAMELESS: Final = "operator"
_LIMITS: Final = "XNNClamp"
"""What XNNPACK executes as part of the operator before it, where that can have limits."""
_CONVERSION: Final = "XNNConvert"
"""What XNNPACK executes as part of the operator after it, where that quantises its input itself."""
_DYNAMIC: Final = re.compile(r"\(\w+, QDU?8,")
"""Types of an operator whose input is quantised while it is executed."""

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "XNNAbs": ("Abs",),
    "XNNAdd": ("Add",),
    "XNNArgMaxPooling2d": ("ArgMax Pooling",),
    "XNNAvgPooling2d": ("Average Pooling",),
    "XNNBatchMatrixMultiply": ("Batch Matrix Multiply",),
    "XNNCeiling": ("Ceiling",),
    "XNNClamp": ("Clamp",),
    "XNNConv2d": ("Convolution", "Fully Connected"),
    "XNNConvTranspose2d": ("Deconvolution",),
    "XNNConvert": ("Convert",),
    "XNNCopy": ("Copy",),
    "XNNCos": ("Cosine",),
    "XNNDepthwiseConv2d": ("Convolution",),
    "XNNDiv": ("Divide",),
    "XNNExp": ("Exp",),
    "XNNFloor": ("Floor",),
    "XNNFullyConnected": ("Fully Connected", "Dynamic Fully Connected"),
    "XNNGelu": ("GELU",),
    "XNNGlobalAvgPooling2d": ("Mean", "Global Average Pooling"),
    "XNNHardswish": ("HardSwish",),
    "XNNLeakyReLU": ("LeakyReLU",),
    "XNNLog": ("Log",),
    "XNNMaxPooling2d": ("Max Pooling",),
    "XNNMaximum": ("Maximum",),
    "XNNMinimum": ("Minimum",),
    "XNNMultiply": ("Multiply",),
    "XNNNegate": ("Negate",),
    "XNNPReLU": ("PReLU",),
    "XNNReciprocalSquareRoot": ("Reciprocal Square Root",),
    "XNNSigmoid": ("Sigmoid",),
    "XNNSin": ("Sine",),
    "XNNSoftmax": ("Softmax",),
    "XNNSquare": ("Square",),
    "XNNStaticConstantPad": ("Constant Pad",),
    "XNNStaticReshape": ("Static Reshape", "Copy"),
    "XNNStaticResizeBilinear2D": ("Resize Bilinear",),
    "XNNStaticSlice": ("Slice",),
    "XNNStaticTranspose": ("Transpose",),
    "XNNSubtract": ("Subtract",),
    "XNNTanh": ("TanH",),
}
"""Beginnings of the names under which XNNPACK reports what the serialised program calls by the key. A convolution of
one pixel is a matrix product."""


def identify_operators(metrics: Sequence[Metric], program: Path) -> Sequence[OperatorIdentity]:
    """Identify each operator of a result.

    Args:
        metrics: All metrics of the result, in the order in which they were reported.
        program: The program that was measured.

    Returns:
        One identity for each operator, in their order; empty where the runner does not report places, or where the
        program has no nodes beside it (it was not exported here), or others than those of the metrics.
    """
    names = [metric.type for metric in metrics if metric.is_of_operator]
    places = next((metric.info.split() for metric in metrics if metric.name == PLACES and metric.info), [])
    graph = _read_graph(program)
    if graph is None or len(places) != len(names):
        return ()
    matches = [_PLACE.fullmatch(place) for place in places]
    calls: dict[tuple[str, int], list[str]] = {}
    for name, match in zip(names, matches, strict=True):
        if match is not None and match["inside"] is not None:
            calls.setdefault((_phase_of(name), int(match["instruction"])), []).append(_plain_name(name))
    instructions = {instruction.index: instruction for instruction in graph.instructions}
    aligned = {call: align(instructions[call[1]], calls[call]) for call in calls if call[1] in instructions}
    identities = []
    for name, match in zip(names, matches, strict=True):
        instruction = instructions.get(int(match["instruction"])) if match is not None else None
        if match is None or instruction is None or not _fits(name, instruction):
            return ()  # of another program, or of one that branches: then no place is certain
        identities.append(_identify(name, match, instruction, graph, aligned))
    return tuple(identities)


def align(instruction: Instruction, names: Sequence[str]) -> Sequence[tuple[int, ...]] | None:
    """Return the nodes of each operator that a delegate executed in one call.

    XNNPACK executes its program in order, one operator for each that was serialised; it fuses limits into the operator
    before them, and the conversion of a dynamically quantised input into the one after it. So the places of both lists
    correspond, if the names fit at every place and nothing remains.

    Args:
        instruction: The call.
        names: Names of the operators that it executed, in order and without numbers.

    Returns:
        Places of nodes; None where the two lists do not correspond.
    """
    remaining = list(names)
    aligned: list[tuple[int, ...]] = []
    kind = ""  # the last that was executed by itself
    pending: tuple[int, ...] = ()  # nodes that the next operator executes too
    for operator in instruction.delegate_operators:
        if remaining and remaining[0].startswith(_KINDS.get(operator.kind, (operator.kind,))):
            aligned.append(pending + operator.nodes)
            kind, pending = operator.kind, ()
            del remaining[0]
        elif operator.kind == _LIMITS and kind not in {"", _LIMITS}:
            aligned[-1] += operator.nodes
        elif operator.kind == _CONVERSION and remaining and _DYNAMIC.search(remaining[0]):
            pending = operator.nodes
        else:
            return None
    return aligned if aligned and not remaining and not pending else None


def _identify(
    name: str,
    match: re.Match[str],
    instruction: Instruction,
    graph: ProgramGraph,
    aligned: Mapping[tuple[str, int], Sequence[tuple[int, ...]] | None],
) -> OperatorIdentity:
    identity = OperatorIdentity(name=name, instruction=instruction.index, delegate=instruction.delegate or "")
    if instruction.delegate is None:
        return identity.model_copy(update={"nodes": graph.nodes_of(instruction)})
    if match["inside"] is None:  # the call, or what it takes beside its operators
        return identity.model_copy(update={"nodes_inside": len(instruction.nodes) or None})
    places = None
    for identifier in _identifiers(match, name):
        places = instruction.delegate_nodes.get(identifier, places)
    operators = aligned.get((_phase_of(name), instruction.index))
    if places is None and operators is not None:
        places = operators[int(match["inside"])]
    if places is None:
        return identity.model_copy(update={"nodes_inside": len(instruction.nodes) or None})
    return identity.model_copy(update={"nodes": tuple(graph.nodes[place] for place in dict.fromkeys(places))})


def _identifiers(match: re.Match[str], name: str) -> Iterator[str]:
    yield _plain_name(name)
    if match["identifier"] is not None:
        yield match["identifier"]


def _fits(name: str, instruction: Instruction) -> bool:
    """Return whether an operator can be this instruction: a kernel has its name, unless the runtime has none for it."""
    if instruction.kernel is None:
        return True
    return _plain_name(name) in {_NAMELESS, instruction.kernel.rpartition("::")[2]}


def _plain_name(name: str) -> str:
    """Return the name that the runtime gives an operator: without phase and number."""
    return _NUMBER.sub("", name.removeprefix(_phase_of(name)))


def _phase_of(name: str) -> str:
    phase = _PHASE.match(name)
    return phase[0] if phase is not None else ""


def _read_graph(program: Path) -> ProgramGraph | None:
    try:
        return ProgramGraph.model_validate_json(beside(program, NODES).read_bytes())
    except (OSError, ValidationError):
        return None
