"""Times of operators, from the profile that a session writes: Chrome's trace events.

Nodes of an execution are told when they end, in the order of execution; a node that the graph's optimisation made has
the name that it was given then. Times are whole microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from frameworks.python_runner.engine import OperatorTimes

_LARGEST_BYTES: Final = 1 << 30
_END_OF_NODE: Final = "_kernel_time"
_EXECUTION: Final = "model_run"


def read_profile(file: Path, skipped: int, iterations: int) -> Sequence[OperatorTimes]:
    """Return the times of all operators in the timed executions.

    Args:
        file: The profile.
        skipped: Executions before the timed ones.
        iterations: Timed executions.

    Raises:
        ValueError: It is none, too large, or has other numbers of executions or operators.
    """
    if file.stat().st_size > _LARGEST_BYTES:
        raise ValueError(
            f"it has {file.stat().st_size} bytes, and is read up to {_LARGEST_BYTES}: set fewer iterations"
        )
    events = json.loads(file.read_text(encoding="utf-8"))
    executions = list(_split(events))
    if len(executions) != skipped + iterations:
        raise ValueError(f"it has {len(executions)} executions instead of {skipped + iterations}")
    timed = executions[skipped:]
    first = timed[0] if timed else []
    if any([name for name, *_ in nodes] != [name for name, *_ in first] for nodes in timed):
        raise ValueError("its executions have different operators")
    return [
        OperatorTimes(kind, place, tuple(nodes[index][2] for nodes in timed))
        for index, (_, (kind, place), _) in enumerate(first)
    ]


_Node = tuple[str, tuple[str, str], float]
"""Name, kind with place, and microseconds."""


def _split(events: object) -> Iterator[list[_Node]]:
    """Yield the nodes of each execution: those that began within it."""
    if not isinstance(events, list):
        raise ValueError("it is no list of events")  # noqa: TRY004 - a file is wrong, not a type
    nodes: list[tuple[float, _Node]] = []
    for event in events:
        if not isinstance(event, dict):
            continue
        name, began, took = event.get("name"), event.get("ts"), event.get("dur")
        if not isinstance(name, str) or not isinstance(began, int | float) or not isinstance(took, int | float):
            continue
        if event.get("cat") == "Node" and name.endswith(_END_OF_NODE):
            nodes.append((began, _read_node(name, event.get("args"), took)))
        elif event.get("cat") == "Session" and name == _EXECUTION:
            yield [node for began_node, node in nodes if began_node >= began]
            nodes = []


def _read_node(name: str, arguments: object, took_us: float) -> _Node:
    members: Mapping[str, object] = arguments if isinstance(arguments, dict) else {}
    kind, place = str(members.get("op_name") or "operator"), str(members.get("node_index") or "?")
    return name.removesuffix(_END_OF_NODE), (kind, place.replace(" ", "_")), float(took_us)
