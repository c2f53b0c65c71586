"""Padding moves the stack of each launch, so that no side keeps a lucky place."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.statistics import launch_statistics
from harness.core.app import App
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.device import ADDRESS_RANDOMISATION, Device, DeviceState
from harness.core.measurement import Job
from harness.core.metric import Observation
from harness.core.note import Note
from harness.core.protocols import Session
from harness.core.result import Launch, Outcome
from harness.core.verdict import Verdict
from harness.running.comparability import layout_notes
from harness.running.interleaving import SequentialLaunches
from harness.running.launch import record_launch
from harness.running.launcher import Launcher
from harness.running.padding import VARIABLE, pad_environment, padding_length
from harness.running.pairs import PairedLaunches
from tests.analysis.compare.made_pairs import PARAMETERS, flat
from tests.running.players import Players, benchmark, player

DEVICE = Device(platform="host", identity="1", name="vm")


def test_lengths_depend_on_seed_benchmark_pair_and_side_alone() -> None:
    assert padding_length(1, "k", 0, "control") == padding_length(1, "k", 0, "control")
    others = [(1, "k", 0, "treatment"), (1, "k", 1, "control"), (1, "other", 0, "control"), (2, "k", 0, "control")]
    assert len({padding_length(*case) for case in [(1, "k", 0, "control"), *others]}) == 5


def test_every_offset_of_a_cache_line_is_reached_equally_often_and_independently() -> None:
    offsets = Counter(
        tuple(padding_length(7, "k", index, side) // 16 % 4 for side in ("control", "treatment"))
        for index in range(3200)
    )
    assert len(offsets) == 16
    assert all(130 <= count <= 270 for count in offsets.values())


def test_apps_and_variables_of_the_benchmark_are_left_alone() -> None:
    app = Command(("name", "1"), app=App(package="p", activity="a"))
    own = Command(("true",), env={VARIABLE: ""})
    plain = Command(("true",), env={"A": "b"})
    assert pad_environment([app, own, plain], 3) == (app, own, replace(plain, env={"A": "b", VARIABLE: "xxx"}))


def test_a_launch_records_the_length_and_not_the_text() -> None:
    state = DeviceState(time=0.0)
    (command,) = pad_environment([Command(("true",), env={"A": "b"})], 1234)
    launch = record_launch(0, [Completed(command, 0)], started=0.0, before=state, after=state).launch
    assert (launch.env, launch.padding) == ({"A": "b"}, 1234)
    unpadded = Completed(Command(("true",)), 0)
    assert record_launch(0, [unpadded], started=0.0, before=state, after=state).launch.padding is None


class _Reporting(Players):
    """Framework whose runner reports three samples of a unit."""

    def __init__(self, journal: Path, unit: str) -> None:
        super().__init__(journal)
        self._unit = unit

    def command(self, benchmark: Benchmark, build: Build, files: Mapping[str, str]) -> Command:
        return Command(("true",))

    def parse(
        self, completed: Sequence[Completed], benchmark: Benchmark
    ) -> tuple[Sequence[Observation], Sequence[Note]]:
        name = "latency" if self._unit else "instructions"
        return (Observation(type="NET", metric=name, unit=self._unit, samples=(5.0, 6.0, 7.0)),), ()


def _launches(session: Session, scratch: Path, unit: str) -> tuple[Launcher, Launcher]:
    job = Job(benchmark(), player("good"))
    control, treatment = (
        Launcher(job, session, _Reporting(scratch / "journal", unit), scratch, time.time) for _ in range(2)
    )
    pairs = PairedLaunches(
        control, treatment, seed=1, key="k", statistics=launch_statistics, interleaving=SequentialLaunches()
    )
    pairs.begin()
    for _ in range(4):
        pairs.measure_pair()
    return control, treatment


def _paddings(launcher: Launcher) -> list[int | None]:
    return [launch.padding for launch in launcher.measurement(Outcome.OK, None, None).launches]


def test_each_launch_of_a_pair_has_a_length_of_its_own(session: Session, tmp_path: Path) -> None:
    control, treatment = _launches(session, tmp_path, "us")
    assert _paddings(control) == [None, *(padding_length(1, "k", index, "control") for index in range(4))]
    assert _paddings(treatment) == [None, *(padding_length(1, "k", index, "treatment") for index in range(4))]


def test_counts_are_not_disturbed_by_padding(session: Session, tmp_path: Path) -> None:
    assert [set(_paddings(launcher)) for launcher in _launches(session, tmp_path, "")] == [{None}, {None}]


def _start_of_stack(env: Mapping[str, str]) -> int | None:
    """Return the address at which the stack of a program begins without random addresses; None if that is refused."""
    done = subprocess.run(
        ["setarch", "-R", "cat", "/proc/self/stat"],
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return int(done.stdout.split()[27]) if done.returncode == 0 else None


@pytest.mark.skipif(
    not Path("/usr/bin/setarch").exists(), reason="setarch of util-linux starts without random addresses"
)
def test_padding_moves_the_stack_where_addresses_are_fixed() -> None:
    if _start_of_stack({}) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "fixed addresses are forbidden on this machine"
        )
    commands = [pad_environment([Command(("cat",))], padding_length(1, "k", index, "control"))[0] for index in range(8)]
    starts = [_start_of_stack(command.env) for command in commands]
    assert len(set(starts)) == 8
    assert len({start % 64 for start in starts if start is not None}) > 1
    assert _start_of_stack(commands[0].env) == starts[0]


@pytest.mark.skipif(
    not Path("/usr/bin/setarch").exists(), reason="setarch of util-linux starts without random addresses"
)
def test_fixed_addresses_of_this_machine_are_seen() -> None:
    code = "from platforms.host.identity import _attributes; print(_attributes()['address_randomisation'])"
    fixed = subprocess.run(["setarch", "-R", sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if _start_of_stack({}) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
            "fixed addresses are forbidden on this machine"
        )
    assert fixed.stdout.strip() == "off", fixed.stderr


def _slowness(offset: int) -> float:
    """A program that loads vectors from its stack: 30 % slower unless the stack is aligned to them."""
    return 1.3 if offset // 16 * 16 % 64 else 1.0


def _compare_equal_programs(seed: int, *, padded: bool) -> Verdict | None:
    """Compare a program with itself at a path that is 16 characters longer, where addresses are fixed."""
    chance, test = random.Random(seed), SequentialTest(PARAMETERS, higher_is_better=False)
    while test.verdict() is None:
        lengths = [padding_length(seed, "k", test.pairs, side) if padded else 0 for side in ("control", "treatment")]
        control, treatment = _slowness(lengths[0]), _slowness(lengths[1] + 16)
        (pair,) = flat([chance.gauss(0, 0.005)])
        moved = tuple(figure * treatment / control for figure in pair.treatment)
        test.add(pair.model_copy(update={"index": test.pairs, "treatment": moved}))
    return test.decided


def test_a_lucky_place_of_the_stack_is_no_difference_with_padding() -> None:
    assert {_compare_equal_programs(seed, padded=False) for seed in range(3)} == {Verdict.REGRESSION}
    verdicts = Counter(_compare_equal_programs(seed, padded=True) for seed in range(12))
    assert verdicts[Verdict.REGRESSION] + verdicts[Verdict.IMPROVEMENT] <= 1


def _launch(*words: str, env: Mapping[str, str] | None = None, padding: int | None = None) -> Launch:
    return Launch(index=0, outcome=Outcome.OK, commands=(words,), env=dict(env or {}), padding=padding, started=0.0)


def test_unequal_lengths_of_paths_and_environments_are_noted() -> None:
    control = _launch("/a/runner", env={"LD_LIBRARY_PATH": "/a"})
    treatment = _launch("/abc/runner", env={"LD_LIBRARY_PATH": "/abc"})
    paths, environments = layout_notes(control, treatment, DEVICE)
    assert (paths.code, environments.code) == ("unequal_paths", "unequal_environments")
    assert paths.message == "the command lines are 9 (control) and 11 characters (treatment) long"
    assert "17 (control) and 19" in environments.message
    assert paths.hint is not None
    assert layout_notes(control, control, DEVICE) == ()


def test_a_note_says_that_padding_averages_out_what_unequal_paths_do() -> None:
    (note,) = layout_notes(_launch("/a", padding=17), _launch("/ab", padding=4), DEVICE)
    assert "averages out what that does to the stack" in note.message
    assert note.hint is None


@pytest.mark.parametrize(("setting", "noted"), [("off", True), ("partial", False), ("on", False), (None, False)])
def test_fixed_addresses_are_noted(setting: str | None, *, noted: bool) -> None:
    attributes = {} if setting is None else {ADDRESS_RANDOMISATION: setting}
    notes = layout_notes(_launch("/a"), _launch("/b"), DEVICE.model_copy(update={"attributes": attributes}))
    assert [note.code for note in notes] == (["fixed_addresses"] if noted else [])
