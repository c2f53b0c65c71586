"""Comparability of the figures of both sides."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from harness.analysis.compare.statistics import launch_statistics
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.comparison import Pair
from harness.core.device import DeviceState
from harness.core.errors import BenchmarkFailed
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Session
from harness.core.result import Outcome
from harness.running.failures import TooManyFailures
from harness.running.interleaving import SequentialLaunches
from harness.running.launch import record_launch
from harness.running.launcher import Launcher
from harness.running.pairs import PairedLaunches
from tests.running.players import Players, benchmark, player


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


class Sampling(Reporting):
    """Framework whose every launch reports the same samples."""

    def __init__(self, journal: Path, samples: Sequence[float]) -> None:
        super().__init__(journal, (1.0, "us"))
        self._samples = tuple(samples)

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        return (Observation(type="NET", metric="latency", unit="us", samples=self._samples),), ()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def _pairs(session: Session, control: Reporting, treatment: Reporting, scratch: Path) -> PairedLaunches:
    return _pair_up(*(_launcher(session, side, scratch) for side in (control, treatment)))


def _launcher(session: Session, framework: Reporting, scratch: Path) -> Launcher:
    return Launcher(Job(benchmark(), player("good")), session, framework, scratch, time.time)


def _pair_up(control: Launcher, treatment: Launcher) -> PairedLaunches:
    return PairedLaunches(
        control, treatment, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches()
    )


def _sampling(
    session: Session, journal: Path, control: Sequence[float], treatment: Sequence[float]
) -> tuple[Pair, list[Note]]:
    """Return one pair of launches that report given samples, and the notes about unequal numbers of them."""
    launchers = [_launcher(session, Sampling(journal, samples), journal.parent) for samples in (control, treatment)]
    pairs = _pair_up(*launchers)
    pairs.begin()
    pair = pairs.measure_pair().pair
    pairs.end()
    assert pair is not None
    notes = launchers[1].measurement(Outcome.OK, None, None).notes
    return pair, [note for note in notes if note.code.endswith("_samples")]


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


@pytest.mark.parametrize("shape", ["rising", "falling", "scattered"])
def test_launches_of_equal_builds_are_equal_whatever_the_number_of_samples(
    session: Session, journal: Path, shape: str
) -> None:
    """Fifteen samples have a better best and a worse tail than ten, and not the same iterations of a launch."""
    chance = random.Random(1)
    more = {
        "rising": [100.0 + number for number in range(15)],
        "falling": [100.0 + 8 * math.exp(-number / 4) for number in range(15)],
        "scattered": [100.0 + chance.random() for _ in range(15)],
    }[shape]
    pair, notes = _sampling(session, journal, more, more[:10])
    assert pair.control == pair.treatment == launch_statistics(more[:10])
    assert [(note.code, note.trust) for note in notes] == [("unused_samples", True)]
    assert "15 samples, one of the treatment 10: the first 10 of both were compared" in notes[0].message


def test_equal_numbers_of_samples_stay_as_they_are(session: Session, journal: Path) -> None:
    pair, notes = _sampling(session, journal, (3.0, 1.0, 2.0), (4.0, 5.0, 6.0))
    assert (pair.control, pair.treatment) == (launch_statistics((3.0, 1.0, 2.0)), launch_statistics((4.0, 5.0, 6.0)))
    assert notes == []


def test_a_program_with_too_much_output_fails_without_a_crash() -> None:
    state = DeviceState(time=0.0)
    ended = Completed(Command(("loud",)), exit_code=None, signal=9, flooded=True, stderr="it wrote more than 64 MiB")
    record = record_launch(0, [ended], started=0.0, before=state, after=state).launch
    assert record.outcome is Outcome.FAILED
    assert record.reason == "the program was killed because it printed too much: it wrote more than 64 MiB"
