"""Comparability of the figures of both sides."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.analysis.compare.statistics import launch_statistics
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.errors import BenchmarkFailed
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Session
from harness.core.result import Outcome
from harness.run.interleaving import SequentialLaunches
from harness.run.launch import record_launch
from harness.run.launcher import Launcher
from harness.run.pairs import PairedLaunches, TooManyFailures
from tests.run.players import Players, benchmark, player


class Reporting(Players):
    """Framework that reports one given value per launch; the last one repeatedly."""

    def __init__(self, journal: Path, *reports: tuple[float, str]) -> None:
        super().__init__(journal)
        self._reports = iter(reports)
        self._last = reports[-1]

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command(("true",))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        value, unit = next(self._reports, self._last)
        return (Observation(type="NET", metric="latency", unit=unit, samples=(value,)),), ()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def _pairs(session: Session, control: Reporting, treatment: Reporting, scratch: Path) -> PairedLaunches:
    job = Job(benchmark(), player("good"))
    launchers = (Launcher(job, session, side, scratch, time.time) for side in (control, treatment))
    return PairedLaunches(*launchers, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches())


@pytest.mark.parametrize(
    ("control", "treatment", "reason"),
    [
        ("bytes", "us", "it reports NET latency in us, and the control in bytes"),
        ("us", "", "it reports NET latency in no unit, and the control in us"),
        ("", "us", "it reports NET latency in us, and the control in no unit"),
    ],
)
def test_inconvertible_units_are_named_before_the_first_pair(
    session: Session, tmp_path: Path, journal: Path, *, control: str, treatment: str, reason: str
) -> None:
    pairs = _pairs(session, Reporting(journal, (5.0, control)), Reporting(journal, (5.0, treatment)), tmp_path)
    with pytest.raises(BenchmarkFailed, match=f"the treatment cannot be compared: {reason}"):
        pairs.begin()


def test_a_side_that_reports_zeros_is_named(session: Session, tmp_path: Path, journal: Path) -> None:
    pairs = _pairs(session, Reporting(journal, (5.0, "us")), Reporting(journal, (5.0, "us"), (0.0, "us")), tmp_path)
    pairs.begin()
    assert [pairs.measure_pair().pair, pairs.measure_pair().pair] == [None, None]
    with pytest.raises(
        TooManyFailures, match="the treatment failed in 3 of 3 launches: it reported 0 us, of which there is no ratio"
    ):
        pairs.measure_pair()


def test_a_program_with_too_much_output_fails_without_a_crash() -> None:
    state = DeviceState(time=0.0)
    ended = Completed(Command(("loud",)), exit_code=None, signal=9, flooded=True, stderr="it wrote more than 64 MiB")
    record = record_launch(0, [ended], started=0.0, before=state, after=state).launch
    assert record.outcome is Outcome.FAILED
    assert record.reason == "the program was killed because it printed too much: it wrote more than 64 MiB"
