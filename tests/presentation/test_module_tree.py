"""Times of modules: parts add up to what contains them, whatever is known of the operators."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.program_graph import GraphNode, OperatorIdentity
from harness.presentation.module_tree import NO_MODULE, ModuleTime, build_module_tree, walk
from harness.presentation.profiles import ProfileRow


def operator(name: str, module: str | None, time_us: float, delegate: str = "") -> ProfileRow:
    nodes = () if module is None else (GraphNode(name=name, operator="aten.add.Tensor", module=module),)
    identity = OperatorIdentity(name=name, instruction=0, delegate=delegate, nodes=nodes)
    return ProfileRow(name, 1, time_us, 0.0, 0.0, delegate, identity)


def shape(tree: ModuleTime) -> list[tuple[int, str, float]]:
    return [(level, part.name, part.time_us) for part, level, _ in walk(tree)]


def test_modules_contain_their_operators_and_a_level_without_a_choice_is_left_out() -> None:
    rows = [
        operator("conv #1", "features.0.0", 4.0),
        operator("conv #2", "features.1.conv.0", 3.0, "X"),
        operator("add #1", "features.1", 2.0),
        operator("mean #1", "", 1.0),
        operator("rest #1", None, 5.0, "X"),
    ]
    tree = build_module_tree(rows, "net")

    assert shape(tree) == [
        (0, "features", 9.0),
        (1, "0.0", 4.0),
        (1, "1", 5.0),
        (2, "conv.0", 3.0),
        (2, "(itself)", 2.0),
        (0, "(mean)", 1.0),
        (0, "rest", 5.0),
    ]
    assert (tree.time_us, tree.delegated_us) == (15.0, 8.0)
    assert [part.path for part, _, _ in walk(tree)][1:4] == ["features.0.0", "features.1", "features.1.conv.0"]
    assert [start for _, level, start in walk(tree) if level == 0] == [0.0, 9.0, 10.0]


MODULES = st.one_of(st.none(), st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(".".join))


@given(st.lists(st.tuples(MODULES, st.floats(0.001, 1000), st.booleans()), min_size=1, max_size=30))
def test_parts_add_up_to_what_contains_them(
    operators: list[tuple[str | None, float, bool]],
) -> None:
    rows = [
        operator(f"op #{number}", module, time_us, "X" if delegated else "")
        for number, (module, time_us, delegated) in enumerate(operators)
    ]
    tree = build_module_tree(rows, "net")

    assert tree.time_us == pytest.approx(sum(time_us for _, time_us, _ in operators))
    assert sorted(tree.operators) == sorted(row.name for row in rows)
    for module in _with_parts(tree):
        assert sum(part.time_us for part in module.parts) == pytest.approx(module.time_us)
        assert sum(part.delegated_us for part in module.parts) == pytest.approx(module.delegated_us)
        assert sorted(name for part in module.parts for name in part.operators) == sorted(module.operators)


def _with_parts(module: ModuleTime) -> Iterator[ModuleTime]:
    if module.parts:
        yield module
    for part in module.parts:
        yield from _with_parts(part)


def test_operators_without_modules_come_last() -> None:
    rows = [operator("rest #1", None, 1.0), operator("added #1", None, 1.0), operator("conv #1", "stem", 1.0)]

    assert [name for level, name, _ in shape(build_module_tree(rows, "net")) if level == 0] == ["stem", NO_MODULE]
