"""Times of operators from a session's profile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frameworks.onnxruntime.profile import read_profile


def node(name: str, began: int, took: int, index: str = "0") -> dict[str, object]:
    arguments = {"op_name": name, "node_index": index, "provider": "CPUExecutionProvider"}
    return {"cat": "Node", "name": f"{name}_1_kernel_time", "ts": began, "dur": took, "args": arguments}


def execution(began: int, *nodes: dict[str, object]) -> list[dict[str, object]]:
    return [*nodes, {"cat": "Session", "name": "model_run", "ts": began, "dur": 50, "args": {}}]


def write(folder: Path, *events: object) -> Path:
    file = folder / "profile.json"
    file.write_text(json.dumps(list(events)))
    return file


def test_warm_up_is_left_out(tmp_path: Path) -> None:
    runs = [execution(began, node("Conv", began + 1, 5 + began), node("Relu", began + 9, 1)) for began in (0, 100, 200)]
    times = read_profile(write(tmp_path, *(event for run in runs for event in run)), skipped=1, iterations=2)

    assert [(operator.name, operator.samples_us) for operator in times] == [
        ("Conv", (105.0, 205.0)),
        ("Relu", (1.0, 1.0)),
    ]


def test_nodes_of_the_initialisation_do_not_count(tmp_path: Path) -> None:
    file = write(tmp_path, node("Constant", 1, 7), *execution(100, node("Conv", 101, 5)))
    assert [operator.name for operator in read_profile(file, 0, 1)] == ["Conv"]


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "0 executions instead of 1"),
        ([*execution(0), *execution(100)], "2 executions instead of 1"),
        (["text", 7, {"cat": "Node"}, None], "0 executions instead of 1"),
    ],
)
def test_profiles_of_something_else_are_refused(tmp_path: Path, events: list[object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_profile(write(tmp_path, *events), 0, 1)


def test_executions_that_differ_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path, *execution(0, node("Conv", 1, 5)), *execution(100, node("Gemm", 101, 5)))
    with pytest.raises(ValueError, match="different operators"):
        read_profile(file, 0, 2)


@pytest.mark.parametrize("text", ["", "{", "{}", "null", '[{"cat": "Node", "name": 7}'])
def test_damaged_profiles_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "profile.json").write_text(text)
    with pytest.raises(ValueError, match=r"\S"):
        read_profile(tmp_path / "profile.json", 0, 1)
