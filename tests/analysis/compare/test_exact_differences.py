from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.compare.exact import exact_difference, exact_differences
from harness.core.benchmark import Export
from harness.core.cached_files import Delegation, ExportReport
from harness.core.metric import Direction, Metric
from harness.core.result import BenchmarkInfo, FileInfo, Outcome, Result
from harness.core.verdict import Verdict

SPECIFICATION = Path("mv2.json")


def program(size: int, delegated: int, left: int) -> FileInfo:
    report = ExportReport(
        export=Export(definition="mv2", recipe="xnnpack_q8"),
        versions={},
        md5="0" * 32,
        size_bytes=size,
        delegation=Delegation(subgraphs=1, delegated={"conv": delegated}, non_delegated={"add": left}),
    )
    return FileInfo(filename="mv2.pte", md5="0" * 32, size_bytes=size, source="export", export=report)


def metric(name: str, samples: list[float], *, unit: str = "", higher: bool = False) -> Metric:
    return Metric(
        name=name,
        type=name.split(maxsplit=1)[0],
        metric=name.split()[1],
        unit=unit,
        direction=Direction.HIGHER if higher else Direction.LOWER,
        samples=tuple(samples),
        launches=tuple(range(len(samples))),
    )


def result(*metrics: Metric, files: dict[str, FileInfo] | None = None) -> Result:
    info = BenchmarkInfo(
        model="mv2",
        identifier="q8",
        id=0,
        metric="delay",
        framework="executorch",
        specification=SPECIFICATION.name,
        digest="0",
    )
    return Result(
        harness_version="0",
        uid="0",
        started=0,
        finished=0,
        outcome=Outcome.OK,
        benchmark=info,
        metrics=metrics,
        files=files or {},
    )


@pytest.mark.parametrize(
    ("treatment", "higher", "verdict"),
    [
        (5.0, False, Verdict.NO_CHANGE),
        (5.1, False, Verdict.REGRESSION),
        (4.9, False, Verdict.IMPROVEMENT),
        (5.1, True, Verdict.IMPROVEMENT),
        (4.9, True, Verdict.REGRESSION),
    ],
)
def test_an_exact_difference_is_decided_by_its_direction(treatment: float, higher: bool, verdict: Verdict) -> None:
    assert exact_difference("top1", "", 5.0, treatment, higher_is_better=higher).verdict is verdict


def test_programs_are_compared_by_size_and_delegation() -> None:
    files = {"files.model": program(1000, 90, 5)}, {"files.model": program(1010, 92, 3)}
    verdicts = {
        difference.metric: (difference.unit, difference.verdict)
        for difference in exact_differences(*(result(files=side_files) for side_files in files))
    }
    assert verdicts == {
        "program size": ("bytes", Verdict.REGRESSION),
        "delegated operators": ("", Verdict.IMPROVEMENT),
        "non-delegated operators": ("", Verdict.IMPROVEMENT),
    }


def test_files_of_one_side_and_files_that_were_not_exported_are_left_out() -> None:
    plain = program(1, 1, 1).model_copy(update={"export": None})
    sides = {"files.a": plain, "files.b": program(1, 1, 1)}, {"files.a": plain, "files.c": program(1, 1, 1)}
    assert exact_differences(*(result(files=side_files) for side_files in sides)) == ()


def test_a_constant_metric_is_compared_exactly() -> None:
    before = result(metric("NET accuracy", [0.70, 0.70], higher=True))
    after = result(metric("NET accuracy", [0.69, 0.69], higher=True))
    (difference,) = exact_differences(before, after)
    assert (difference.metric, difference.control, difference.treatment) == ("NET accuracy", 0.70, 0.69)
    assert difference.verdict is Verdict.REGRESSION


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (metric("RUN peak_memory", [1.0, 2.0]), metric("RUN peak_memory", [1.0, 1.0])),
        (metric("NET latency", [1.0, 1.0], unit="ms"), metric("NET latency", [2.0, 2.0], unit="ms")),
        (metric("RUN energy", [1.0, 1.0], unit="mJ"), metric("RUN energy", [2.0, 2.0], unit="mJ")),
        (metric("NET accuracy", [1.0]), metric("NET accuracy", [2.0, 2.0])),
        (metric("NET accuracy", [1.0, 1.0]), metric("NET size", [2.0, 2.0])),
        (metric("NET size", [1.0, 1.0], unit="KiB"), metric("NET size", [2.0, 2.0], unit="B")),
    ],
    ids=["varies", "a time", "energy", "one launch", "other name", "other unit"],
)
def test_metrics_that_are_not_deterministic_on_both_sides_are_left_out(before: Metric, after: Metric) -> None:
    assert exact_differences(result(before), result(after)) == ()
