"""Operators as the nodes of the model's graph, by places that a runner reports and by what an export wrote."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from frameworks.executorch.exporting.companions import NODES
from frameworks.executorch.identification import PLACES, align, identify_operators
from frameworks.exporting.companions import beside
from harness.core.metric import Metric
from harness.core.program_graph import DelegateOperator, GraphNode, Instruction, ProgramGraph

RECORDED = Path(__file__).parent / "recorded" / "mlp_xnnpack_q8.pte"
"""What a real export of a network of two layers wrote, and below what XNNPACK reported of it."""
OF_MLP = (
    "Convert (NC) #1",
    "Fully Connected (NC, QS8, QC8W) GEMM #1",
    "Fully Connected (NC, QS8, QC8W) GEMM #2",
    "Convert (NC) #2",
    "delegate call (rest) #1",
)


def metrics(names: Sequence[str], places: str | None) -> list[Metric]:
    timed = [Metric(name=f"{name} latency", type=name, metric="latency", unit="us") for name in names]
    if places is None:
        return timed
    told = Metric(name=PLACES, type="RUN", metric="operator_places", unit="", direction=None, info=places)
    return [*timed, told]


def node(name: str, module: str = "") -> GraphNode:
    return GraphNode(name=name, operator="aten.add.Tensor", module=module)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A kernel, a delegate that identifies its operators itself, and one of which nothing is known."""
    graph = ProgramGraph(
        nodes=tuple(node(name, f"layer.{name}") for name in "abcde"),
        instructions=(
            Instruction(index=0, kernel="aten::add.out", nodes=(0,)),
            Instruction(index=1, delegate="Vendor", nodes=(1, 2, 3), delegate_nodes={"7": (2, 3), "first": (1,)}),
            Instruction(index=2, delegate="Other", nodes=(4,)),
        ),
    )
    file = tmp_path / "model.pte"
    beside(file, NODES).write_text(graph.model_dump_json())
    return file


def test_operators_of_xnnpack_are_those_that_its_program_lists_in_the_same_order() -> None:
    identities = identify_operators(metrics(OF_MLP, "0.0 0.1 0.2 0.3 0"), RECORDED)

    assert [identity.name for identity in identities] == list(OF_MLP)
    assert {identity.delegate for identity in identities} == {"XnnpackBackend"}
    main = [identity.main_node for identity in identities]
    assert [each.module for each in main if each is not None] == ["", "0", "2", "2"]
    assert [each.exported for each in main if each is not None][1:] == ["linear", "linear_1", "linear_1"]
    assert (identities[-1].nodes, identities[-1].nodes_inside) == ((), 11)


def test_operators_of_a_generation_are_found_in_both_phases() -> None:
    names = [f"{phase}: {name}" for phase in ("prefill", "decode") for name in OF_MLP]
    identities = identify_operators(metrics(names, " ".join(["0.0 0.1 0.2 0.3 0"] * 2)), RECORDED)

    assert [identity.name for identity in identities] == names
    main = [identity.main_node for identity in identities]
    assert [each.module for each in main if each is not None] == ["", "0", "2", "2"] * 2


@pytest.mark.parametrize(
    "names",
    [
        OF_MLP[:3] + OF_MLP[4:],
        (OF_MLP[1], OF_MLP[0], *OF_MLP[2:]),
        (OF_MLP[0], "Softmax (NC, F32) #1", *OF_MLP[2:]),
    ],
    ids=["one is missing", "in another order", "another kind"],
)
def test_operators_that_do_not_correspond_are_not_guessed(names: Sequence[str]) -> None:
    places = " ".join([*(f"0.{number}" for number in range(len(names) - 1)), "0"])

    identities = identify_operators(metrics(names, places), RECORDED)

    assert [identity.nodes for identity in identities] == [()] * len(names)
    assert [identity.nodes_inside for identity in identities] == [11] * len(names)


def test_kernels_are_their_instructions_and_delegates_may_name_their_operators(program: Path) -> None:
    names = ("add.out #1", "first #1", "delegated 7 #1", "unknown #1", "delegate call (rest) #1", "delegate call #1")

    identities = identify_operators(metrics(names, "0 1.0 1.1=7 1.2 1 2"), program)

    assert ["".join(each.name for each in identity.nodes) for identity in identities] == ["a", "b", "cd", "", "", ""]
    assert [identity.nodes_inside for identity in identities] == [None, None, None, 3, 3, 1]
    assert [identity.delegate for identity in identities] == ["", "Vendor", "Vendor", "Vendor", "Vendor", "Other"]


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (("add.out #1",), None),
        (("add.out #1", "mul.out #1"), "0"),
        (("mul.out #1",), "0"),
        (("add.out #1",), "?"),
        (("add.out #1",), "9"),
    ],
    ids=["no places", "too few places", "another kernel", "a program that branches", "no such instruction"],
)
def test_metrics_of_another_program_or_runner_are_not_identified(
    program: Path, names: Sequence[str], places: str | None
) -> None:
    assert identify_operators(metrics(names, places), program) == ()


def test_a_program_without_nodes_beside_it_is_not_identified(tmp_path: Path) -> None:
    assert identify_operators(metrics(("add.out #1",), "0"), tmp_path / "given.pte") == ()


def test_what_a_delegate_added_itself_has_no_nodes() -> None:
    operators = (DelegateOperator(kind="XNNStaticTranspose"), DelegateOperator(kind="XNNConv2d", nodes=(3,)))
    call = Instruction(index=0, delegate="XnnpackBackend", nodes=(3,), delegate_operators=operators)

    assert align(call, ("Transpose (ND, X32)", "Convolution (NHWC, F32) IGEMM")) == [(), (3,)]


def test_limits_that_were_not_fused_are_operators() -> None:
    operators = tuple(
        DelegateOperator(kind=kind, nodes=(place,)) for place, kind in enumerate(("XNNAdd", "XNNClamp", "XNNClamp"))
    )
    call = Instruction(index=0, delegate="XnnpackBackend", nodes=(0, 1, 2), delegate_operators=operators)

    assert align(call, ("Add (ND)", "Clamp (NC, F32)")) is None, "which of the two was fused is not certain"
    assert align(call, ("Add (ND)", "Clamp (NC, F32)", "Clamp (NC, F32)")) == [(0,), (1,), (2,)]
    assert align(call, ("Add (ND)",)) == [(0, 1, 2)]


def test_a_conversion_belongs_to_the_product_that_quantises_its_input_itself() -> None:
    operators = tuple(
        DelegateOperator(kind=kind, nodes=(place,)) for place, kind in enumerate(("XNNConvert", "XNNFullyConnected"))
    )
    call = Instruction(index=0, delegate="XnnpackBackend", nodes=(0, 1), delegate_operators=operators)

    assert align(call, ("Fully Connected (NC, QDU8, F32, QC8W) GEMM",)) == [(0, 1)]
    assert align(call, ("Fully Connected (NC, F32) GEMM",)) is None
