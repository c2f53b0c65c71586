"""Profiles: kinds of operators, each operator with its module, and sentences about them."""

from __future__ import annotations

import pytest

from harness.core.note import Note
from harness.core.program_graph import GraphNode, OperatorIdentity, SourceLine
from harness.core.result import Result
from harness.presentation.profiles import (
    build_kinds_table,
    build_operators_table,
    describe_profile,
    list_doubts,
    summarise_profile,
)
from harness.presentation.tables import Column
from harness.testing.results import ok_result, timing

TIMES_US = {"conv #1": 300.0, "conv #2": 100.0, "GEMM #1": 350.0, "GEMM #2": 200.0, "delegate call (rest) #1": 50.0}


def node(name: str, module: str, line: int = 7) -> GraphNode:
    source = SourceLine(file="nets/mine.py", line=line)
    return GraphNode(name=name, operator="aten.convolution.default", module=module, exported=name, source=source)


IDENTITIES = (
    OperatorIdentity(name="conv #1", instruction=0, nodes=(node("first", "stem"),)),
    OperatorIdentity(name="conv #2", instruction=1, nodes=(node("second", ""),)),
    OperatorIdentity(
        name="GEMM #1", instruction=2, delegate="XnnpackBackend", nodes=(node("q", ""), node("m", "head"))
    ),
    OperatorIdentity(name="GEMM #2", instruction=2, delegate="XnnpackBackend", nodes_inside=3),
    OperatorIdentity(name="delegate call (rest) #1", instruction=2, delegate="XnnpackBackend", nodes_inside=3),
)


def profiled(identities: tuple[OperatorIdentity, ...] = IDENTITIES, latency_ms: float = 1.1) -> Result:
    result = ok_result()
    operators = (timing(name, "latency", "us", [time] * 3) for name, time in TIMES_US.items())
    return result.model_copy(
        update={
            "metrics": (timing("NET", "latency", "ms", [latency_ms] * 3), *operators),
            "benchmark": result.benchmark.model_copy(update={"operators": True}),
            "operators": identities,
        }
    )


def untraced() -> Result:
    result = ok_result()
    return result.model_copy(update={"metrics": (timing("NET", "latency", "ms", [1.0] * 3),)})


def rows(columns: list[Column]) -> list[tuple[str, ...]]:
    return list(zip(*([cell.text for cell in column.cells] for column in columns), strict=True))


def test_operators_are_grouped_by_kind_and_backend_with_cumulative_shares() -> None:
    report = describe_profile(profiled(), untraced())
    assert report is not None
    assert rows(build_kinds_table(report)) == [
        ("GEMM", "2", "550 µs", "55.0 %", "55.0 %", "XnnpackBackend"),
        ("conv", "2", "400 µs", "40.0 %", "95.0 %", "no"),
        ("delegate call (rest)", "1", "50.0 µs", "5.0 %", "100.0 %", "XnnpackBackend"),
    ]


def test_each_operator_has_its_module_and_line_or_the_reason_for_having_none() -> None:
    report = describe_profile(profiled())
    assert report is not None
    found = [(row[0], *row[-2:]) for row in rows(build_operators_table(report))]
    assert found == [
        ("GEMM #1", "head", "nets/mine.py:7"),
        ("conv #1", "stem", "nets/mine.py:7"),
        ("GEMM #2", "inside delegate call 2: 3 nodes", ""),
        ("conv #2", "(second)", "nets/mine.py:7"),
        ("delegate call (rest) #1", "inside delegate call 2: 3 nodes", ""),
    ]


def test_the_cost_of_tracing_what_is_delegated_and_what_cannot_be_told_are_stated() -> None:
    report = describe_profile(profiled(), untraced())
    assert report is not None
    assert report.overhead == pytest.approx(0.1)
    assert list(summarise_profile(report)) == [
        "latency 1.00 ms; while operators are timed 1.10 ms (+10.0 %)",
        "5 operators take 90.9 % of the latency while they are timed, by their means",
        "of the operators' time: 60.0 % in XnnpackBackend, 40.0 % not delegated",
        "which nodes 1 of the operators executes cannot be told: their delegates do not report it",
    ]


def test_operators_below_a_step_of_their_clock_are_said_to_be() -> None:
    result = profiled()
    metrics = [
        metric.model_copy(update={"summary": {**metric.summary, "p50": 0.0}}) if metric.type == "conv #2" else metric
        for metric in result.metrics
    ]
    report = describe_profile(result.model_copy(update={"metrics": tuple(metrics)}))
    assert report is not None
    told = list(summarise_profile(report))
    assert "1 of them takes less than a step of the clock that times operators, which is shown as 0" in told


def test_what_speaks_against_either_pass_is_shown_once() -> None:
    noisy = Note(code="crowded", message="other programs used the CPU", trust=False)
    remark = Note(code="libc", message="another C library")
    passes = (each.model_copy(update={"notes": (noisy, remark)}) for each in (profiled(), untraced()))
    report = describe_profile(*passes)
    assert report is not None
    assert list_doubts(report) == ("! other programs used the CPU",)


def test_without_identities_nothing_is_said_of_modules_or_delegates() -> None:
    report = describe_profile(profiled(()))
    assert report is not None
    assert [row.delegate for row in report.kinds] == [None, None, None]
    assert {row[-1] for row in rows(build_operators_table(report))} == {""}
    assert "the modules are not known" in list(summarise_profile(report))[-1]
