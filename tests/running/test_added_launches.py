"""Launches that are added until the median is precise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core.measurement import Measurement
from harness.core.metric import Observation
from harness.core.protocols import Session
from harness.core.result import Outcome
from harness.running.launch import with_remaining_time
from harness.running.measure import _has_time
from harness.running.precision import is_precise
from tests.running.test_measure import benchmark, line, measure_job


def measure_values(
    *values: float,
    session: Session,
    scratch: Path,
    metric: str = "latency",
    **fields: Any,  # noqa: ANN401 - whatever a benchmark has
) -> Measurement:
    """Measure a program whose launches report these values, one each; without a value it fails."""
    script = scratch.parent / "program.sh"
    texts = " ".join(map(str, values))
    unit = "us" if metric == "latency" else ""
    shown = line(7, metric).replace("us", unit).replace('"', '\\"').replace("7", "$1")
    script.write_text(
        f'i=$1; set -- {texts}; shift $i || exit 1; [ $# -gt 0 ] || exit 1; echo "PyTorchObserver {shown}"'
    )
    return measure_job(benchmark(f"sh {script} {{INDEX}}", **fields), session, scratch)


STEADY = [100.0, 100.1, 100.2, 100.1, 100.0] * 8
WILD = [100.0, 150.0] * 20


def test_a_steady_program_is_launched_as_often_as_intervals_need(session: Session, scratch: Path) -> None:
    measured = measure_values(*STEADY, session=session, scratch=scratch, launches=2, max_launches=8, precision=0.02)
    assert len(measured.launches) == 5


def test_launches_are_added_until_the_largest_number(session: Session, scratch: Path) -> None:
    measured = measure_values(*WILD, session=session, scratch=scratch, launches=2, max_launches=8, precision=0.02)
    assert len(measured.launches) == 8
    assert measured.outcome is Outcome.OK


def test_a_wider_precision_needs_fewer_launches(session: Session, scratch: Path) -> None:
    measured = measure_values(*WILD, session=session, scratch=scratch, launches=2, max_launches=8, precision=0.9)
    assert len(measured.launches) == 5


@pytest.mark.parametrize("fields", [{}, {"max_launches": 2, "precision": 0.02}, {"precision": 0.02}])
def test_a_fixed_number_of_launches_stays(session: Session, scratch: Path, fields: dict[str, Any]) -> None:
    assert len(measure_values(*WILD, session=session, scratch=scratch, launches=2, **fields).launches) == 2


def test_accuracy_needs_no_further_launches(session: Session, scratch: Path) -> None:
    measured = measure_values(
        *WILD, session=session, scratch=scratch, launches=2, max_launches=8, precision=0.02, metric="top1"
    )
    assert len(measured.launches) == 2


def test_an_added_launch_that_fails_is_a_failure(session: Session, scratch: Path) -> None:
    measured = measure_values(1.0, 2.0, session=session, scratch=scratch, launches=2, max_launches=8, precision=0.02)
    assert measured.outcome is Outcome.FAILED
    assert len(measured.launches) == 3


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def test_an_added_launch_begins_only_if_it_can_end_in_time() -> None:
    limited = benchmark(launches=5, max_launches=30, precision=0.02, time_limit_s=20.0)
    assert _has_time(limited, 4, spent_s=19.9, longest_s=4.0), "one that was asked for gets what is left"
    assert not _has_time(limited, 4, spent_s=20.1, longest_s=4.0)
    assert _has_time(limited, 5, spent_s=15.0, longest_s=4.0)
    assert not _has_time(limited, 5, spent_s=17.0, longest_s=4.0)
    assert _has_time(limited.model_copy(update={"time_limit_s": None}), 5, spent_s=1e6, longest_s=4.0)


def test_an_added_launch_has_as_much_time_as_one_that_was_asked_for() -> None:
    limited = benchmark(launches=5, max_launches=30, precision=0.02, time_limit_s=20.0)
    assert with_remaining_time(limited, 2.0, 0).time_limit_s == pytest.approx(3.6)
    assert with_remaining_time(limited, 2.0, 7).time_limit_s == pytest.approx(4.0)
    assert with_remaining_time(limited, 19.0, 7).time_limit_s == pytest.approx(1.0)


def latency(*samples: float, unit: str = "us", type_: str = "NET") -> Observation:
    return Observation(type=type_, metric="latency", unit=unit, samples=samples)


def test_the_latency_of_the_model_decides_and_not_that_of_an_operator() -> None:
    steady = [(latency(9.0 + 4 * (number % 2), type_="conv"), latency(100.0)) for number in range(6)]
    assert is_precise(steady, 0.02, looks=5)
    assert not is_precise([observations[:1] for observations in steady], 0.02, looks=5)


def test_what_cannot_be_combined_asks_for_no_launches() -> None:
    assert is_precise([(latency(100.0),), (latency(1.0, unit="ms"),)], 0.02, looks=5)
    assert is_precise([(), ()], 0.02, looks=5)
