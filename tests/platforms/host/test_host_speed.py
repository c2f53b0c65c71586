"""Fixed work around launches: its lower time, the best of earlier sessions, and what becomes of the file of these."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from harness.core.command import Command, Completed
from harness.testing.progress import RecordedProgress
from platforms.host.platform import Host
from platforms.host.speed import SpeedGauge, spin_once

CPU = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
pytestmark = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads are pinned on Linux only")


def times(*values: float) -> Callable[[], float]:
    """Return work that takes so long: before a launch, after it, before the next; the last one for good."""
    state = {"launch": 0}

    def spin() -> float:
        return values[min(state["launch"], len(values) - 1)]

    def following() -> None:
        state["launch"] += 1

    spin.following = following  # type: ignore[attr-defined]
    return spin


def gauge_launches(path: Path, *values: float, cpus: Iterable[int] = (CPU,), model: str = "m") -> list[Completed]:
    """Gauge launches in one session; two times each."""
    spin = times(*values)
    gauge = SpeedGauge(path, model, spin)

    def run() -> Completed:
        spin.following()  # type: ignore[attr-defined]
        return Completed(Command(("true",)), 0)

    launches = []
    for _ in range(len(values) // 2):
        launches.append(gauge.gauge(tuple(cpus), run))
        spin.following()  # type: ignore[attr-defined]
    gauge.save()
    return launches


def test_the_lower_of_both_times_and_the_best_so_far_are_kept(tmp_path: Path) -> None:
    launches = gauge_launches(tmp_path / "speed.json", 0.5, 0.4, 0.3, 0.6, 0.5, 0.5)
    assert [(launch.spin_ms, launch.best_spin_ms) for launch in launches] == [(0.4, 0.4), (0.3, 0.3), (0.5, 0.3)]


def test_a_session_knows_the_best_of_earlier_ones_on_the_same_kind_of_cpu(tmp_path: Path) -> None:
    path = tmp_path / "host" / "speed.json"
    gauge_launches(path, 0.2, 0.3)
    (same,) = gauge_launches(path, 0.5, 0.6)
    (other,) = gauge_launches(path, 0.5, 0.6, model="another processor")
    assert (same.best_spin_ms, other.best_spin_ms) == (0.2, 0.5)


def test_after_many_sessions_an_old_best_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "speed.json"
    gauge_launches(path, 0.2, 0.2)
    launches = [gauge_launches(path, 0.4, 0.4)[0] for _ in range(31)]
    assert launches[0].best_spin_ms == 0.2
    assert launches[-1].best_spin_ms == 0.4
    assert all(len(kept) == 30 for kept in json.loads(path.read_text()).values())


def test_a_program_that_is_not_pinned_is_not_gauged(tmp_path: Path) -> None:
    (launch,) = gauge_launches(tmp_path / "speed.json", 0.4, 0.4, cpus=())
    assert launch.spin_ms is None
    assert not (tmp_path / "speed.json").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[1]", b'{"m": 3}', b"[" * 100_000, b'{"KIND": [-1, 0, null, "x", true, 1e999, [2], {"a": 1}]}'],
)
def test_a_damaged_file_of_earlier_times_counts_as_none(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "speed.json"
    gauge_launches(path, 0.4, 0.4)
    (kind,) = json.loads(path.read_text())
    path.write_bytes(content.replace(b"KIND", json.dumps(kind)[1:-1].encode()))
    (launch,) = gauge_launches(path, 0.6, 0.5)
    assert (launch.spin_ms, launch.best_spin_ms) == (0.5, 0.5)
    assert json.loads(path.read_text())[kind] == [0.5]


def test_times_that_cannot_be_kept_fail_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (launch,) = gauge_launches(tmp_path / "file" / "speed.json", 0.4, 0.4)
    assert launch.spin_ms == 0.4


def test_the_thread_is_placed_as_before_and_so_are_its_programs(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    inside: list[set[int]] = []
    gauge = SpeedGauge(tmp_path / "speed.json", "m")

    def run() -> Completed:
        inside.append(os.sched_getaffinity(0))
        return Completed(Command(("true",)), 0)

    launch = gauge.gauge((CPU,), run)
    assert inside == [allowed]
    assert os.sched_getaffinity(0) == allowed
    assert launch.spin_ms is not None
    assert launch.spin_ms > 0


def test_the_work_takes_some_time_and_not_much() -> None:
    assert 0 < min(spin_once() for _ in range(5)) < 10


def test_a_session_times_the_work_around_pinned_programs_and_keeps_its_best(tmp_path: Path) -> None:
    host = Host(tmp_path / "work", lock_path=tmp_path / "lock")
    with host.open(host.devices()[0], RecordedProgress()) as session:
        pinned = session.run(Command((sys.executable, "-c", ""), threads=1))
        free = session.run(Command((sys.executable, "-c", "")))
    assert pinned.spin_ms is not None
    assert pinned.best_spin_ms is not None
    assert pinned.best_spin_ms <= pinned.spin_ms
    assert free.spin_ms is None
    (bests,) = json.loads((tmp_path / "work" / "speed.json").read_text()).values()
    assert bests == [pytest.approx(pinned.best_spin_ms, abs=1e-6)]
