from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.analysis.compare.statistics import launch_statistics
from harness.core.benchmark import Benchmark, OutputFile
from harness.core.comparison import Interleave
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed
from harness.core.generation import GenerationRequest
from harness.core.measurement import Job
from harness.core.protocols import Framework, Session
from harness.core.result import Outcome
from harness.running.failures import TooManyFailures
from harness.running.interleaving import InterleavedProcesses, Interleaving, SequentialLaunches, choose_interleave
from harness.running.launcher import Launcher
from harness.running.pairs import PairedLaunches, control_goes_first
from platforms.host.identity import allowed_cpus
from platforms.host.session import HostSession
from tests.running.players import DuetPlayers, InterleavablePlayers, Players, benchmark, player, read_journal

pytestmark = pytest.mark.slow  # waits for programs that do not answer

Contest = Callable[..., PairedLaunches]
TOKENS = GenerationRequest(new_tokens=9)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


class Launchers:
    """Both sides of a comparison, and its pairs."""

    def __init__(
        self,
        folder: Path,
        session: Session,
        framework: Framework,
        *builds: str,
        test: Benchmark | None = None,
        interleaving: Interleaving | None = None,
    ) -> None:
        self.test = test or benchmark()
        self.control, self.treatment = (
            Launcher(Job(self.test, player(how)), session, framework, folder, time.time) for how in builds
        )
        self.pairs = PairedLaunches(
            self.control,
            self.treatment,
            seed=1,
            key="key",
            statistics=launch_statistics,
            interleaving=interleaving or InterleavedProcesses(),
        )

    def outcomes(self) -> list[list[str]]:
        return [
            [launch.outcome.value for launch in launcher.measurement(Outcome.OK, None, None).launches]
            for launcher in (self.control, self.treatment)
        ]

    def samples(self) -> list[list[int]]:
        return [
            [
                sum(len(observation.samples) for observation in observations)
                for observations in launcher.measurement(Outcome.OK, None, None).observations
            ]
            for launcher in (self.control, self.treatment)
        ]


def test_launches_of_a_pair_process_their_prompts_before_in_turns(
    session: Session, journal: Path, tmp_path: Path
) -> None:
    test = benchmark(generation=GenerationRequest(new_tokens=1), iterations=1)
    launchers = Launchers(tmp_path, session, InterleavablePlayers(journal), "good", "good", test=test)
    launchers.pairs.begin()
    interleaving = launchers.pairs.interleaving
    interleaving.repeat_prompts(2)
    pair = interleaving.launch_pair(launchers.control, launchers.treatment, test)
    assert [observed.launch.outcome for observed in pair.launches] == [Outcome.OK] * 2
    words = [words for _, _, words in read_journal(journal) if words not in {"starts", "ends"}]
    assert words == ["run 1", "run 1", *["pauses"] * 4, *["run 1 by 4 after 2"] * 2]


def test_random_assignment_decides_which_side_starts_first_and_has_the_first_batch(
    session: Session, journal: Path, tmp_path: Path
) -> None:
    launchers = Launchers(tmp_path, session, InterleavablePlayers(journal), "good", "good ")
    launchers.pairs.begin()
    journal.unlink()
    pairs = [launchers.pairs.measure_pair().pair for _ in range(5)]
    assert [pair.control_first if pair else None for pair in pairs] == [
        control_goes_first(1, "key", index) for index in range(5)
    ]
    controls = {launch.commands[0][-3] for launch in launchers.control.measurement(Outcome.OK, None, None).launches}
    assert controls == {"good"}
    assert [pair.control_launch if pair else None for pair in pairs] == [1, 2, 3, 4, 5]


def test_statistics_of_a_pair_include_the_samples_of_all_batches(
    session: Session, journal: Path, tmp_path: Path
) -> None:
    launchers = Launchers(tmp_path, session, InterleavablePlayers(journal), "good", "good")
    launchers.pairs.begin()
    pair = launchers.pairs.measure_pair().pair
    assert pair is not None
    (_, counted), _ = launchers.samples()
    expected = launch_statistics([0.1 + 0.001 * index for index in range(counted)])
    assert pair.control == pytest.approx(expected)
    assert pair.treatment == pytest.approx(expected)
    assert launchers.pairs.metric.unit == "ms"
    walls = [
        launcher.measurement(Outcome.OK, None, None).launches[1].wall_s
        for launcher in (launchers.control, launchers.treatment)
    ]
    assert max(walls) <= pair.seconds < sum(walls)


@pytest.mark.parametrize("sides", [("good", "dies"), ("dies", "good")], ids=["treatment", "control"])
def test_a_crash_between_batches_discards_the_pair_and_the_samples_of_the_other_side(
    session: Session, journal: Path, tmp_path: Path, sides: tuple[str, str]
) -> None:
    test = benchmark(iterations=10)  # two turns are survived while the sides warm up
    launchers = Launchers(tmp_path, session, InterleavablePlayers(journal), *sides, test=test)
    launchers.pairs.begin()
    assert launchers.pairs.measure_pair().pair is None
    assert launchers.pairs.discarded == 1
    assert launchers.samples() == [[0, 0], [0, 0]]
    lost = dict(zip(sides, launchers.outcomes(), strict=True))
    assert lost == {"good": ["ok", "ok"], "dies": ["ok", "crashed"]}


def test_a_side_that_keeps_crashing_ends_the_comparison(session: Session, journal: Path, tmp_path: Path) -> None:
    launchers = Launchers(
        tmp_path, session, InterleavablePlayers(journal), "good", "dies", test=benchmark(iterations=10)
    )
    launchers.pairs.begin()
    assert launchers.pairs.measure_pair().pair is launchers.pairs.measure_pair().pair is None
    with pytest.raises(TooManyFailures, match=r"the treatment failed in 3 of 3 launches: .*SIGKILL") as caught:
        launchers.pairs.measure_pair()
    assert caught.value.outcome is Outcome.CRASHED


@pytest.mark.parametrize(
    ("how", "timeout_s", "words"),
    [("crashes", 60.0, "SIGSEGV"), ("hangs", 4.0, "within 4 s"), ("mute", 60.0, "no samples")],
)
def test_a_side_that_fails_during_warm_up_cannot_be_measured(
    session: Session, journal: Path, *, tmp_path: Path, how: str, timeout_s: float, words: str
) -> None:
    launchers = Launchers(
        tmp_path, session, InterleavablePlayers(journal), "good", how, test=benchmark(timeout_s=timeout_s)
    )
    with pytest.raises(BenchmarkFailed, match=words):
        launchers.pairs.begin()


@pytest.mark.parametrize(("sides", "words"), [(("good", "old"), "unknown argument"), (("deaf", "good"), "before its")])
def test_a_runner_without_interleaving_is_launched_sequentially_with_a_note(
    session: Session, journal: Path, *, tmp_path: Path, sides: tuple[str, str], words: str
) -> None:
    interleaving = InterleavedProcesses()
    launchers = Launchers(tmp_path, session, InterleavablePlayers(journal), *sides, interleaving=interleaving)
    launchers.pairs.begin()
    assert launchers.pairs.measure_pair().pair is not None
    assert interleaving.interleave is Interleave.LAUNCH
    (note,) = interleaving.notes
    assert words in note.message
    assert note.hint is not None
    commands = [
        launcher.measurement(Outcome.OK, None, None).launches[-1].commands
        for launcher in (launchers.control, launchers.treatment)
    ]
    assert not any("--turns" in words for program_words in commands for words in program_words)


class SequentialSession:
    """Session without support for live processes."""

    def __init__(self, host_session: HostSession) -> None:
        self.device: Device = host_session.device
        self.stage, self.run, self.pull, self.state = (
            host_session.stage,
            host_session.run,
            host_session.pull,
            host_session.state,
        )


def test_without_the_capabilities_pairs_are_launched_sequentially_with_a_note(
    session: Session, journal: Path, tmp_path: Path
) -> None:
    assert isinstance(session, HostSession)
    able, unable = InterleavablePlayers(journal), Players(journal)
    outputs = (OutputFile(key="output_files.a", filename="a", location="{TGTDIR}a"),)
    cases: dict[str, tuple[Session, Framework, Benchmark]] = {
        "run one program at a time": (SequentialSession(session), able, benchmark()),
        "runners of players cannot be interleaved": (session, unable, benchmark()),
        "`commands` of its own": (session, able, benchmark(commands=("true",))),
        "outputs are fetched": (session, able, benchmark(output_files=outputs)),
    }
    for words, (tested_session, framework, test) in cases.items():
        interleaving = InterleavedProcesses()
        launchers = Launchers(tmp_path, tested_session, framework, "good", "good", test=test, interleaving=interleaving)
        with contextlib.suppress(BenchmarkFailed):  # `true` reports nothing, and no output is written
            launchers.pairs.begin()
        assert [words in note.message for note in interleaving.notes] == [True], words
        assert interleaving.interleave is Interleave.LAUNCH


def test_a_duet_is_on_one_cpu_and_has_few_turns(session: Session, journal: Path, tmp_path: Path) -> None:
    test = benchmark(generation=GenerationRequest(new_tokens=9), iterations=1, threads=1)
    interleaving = InterleavedProcesses(duet=True)
    launchers = Launchers(tmp_path, session, DuetPlayers(journal), "good", "good", test=test, interleaving=interleaving)
    for launcher in (launchers.control, launchers.treatment):
        assert interleaving.launch_alone(launcher, test).launch.outcome is Outcome.OK
    journal.unlink()
    interleaving.repeat_prompts(2)
    pair = interleaving.launch_pair(launchers.control, launchers.treatment, test)
    assert [observed.launch.outcome for observed in pair.launches] == [Outcome.OK] * 2
    assert len({observed.launch.cpus for observed in pair.launches}) == 1
    assert [len(observed.launch.cpus or ()) for observed in pair.launches] == [1, 1]
    assert {observed.launch.commands[0][-2:] for observed in pair.launches} == {("--own-time", "--turns")}
    assert [words for _, _, words in read_journal(journal) if words.startswith("run")] == ["run 1 by 8"] * 2
    assert (interleaving.interleave, interleaving.notes) == (Interleave.DUET, ())


@pytest.mark.skipif(len(allowed_cpus()) < 2, reason="pins to two CPUs")
def test_without_what_a_duet_needs_pairs_are_launched_sequentially_with_a_note(
    session: Session, journal: Path, tmp_path: Path
) -> None:
    cases: dict[str, tuple[Framework, Benchmark]] = {
        "runners of players cannot play a duet": (InterleavablePlayers(journal), benchmark(threads=1)),
        "in a duet each program has one thread": (DuetPlayers(journal), benchmark(threads=2)),
        "operators are timed by the wall clock": (DuetPlayers(journal), benchmark(threads=1, operators=True)),
        "these were not pinned to one": (DuetPlayers(journal), benchmark(threads=1, cpus=allowed_cpus()[:2])),
        "unknown argument": (DuetPlayers(journal), benchmark(threads=1)),
    }
    for words, (framework, test) in cases.items():
        interleaving = InterleavedProcesses(duet=True)
        how = "old" if words == "unknown argument" else "good"
        launchers = Launchers(tmp_path, session, framework, how, how, test=test, interleaving=interleaving)
        launchers.pairs.begin()
        assert [words in note.message for note in interleaving.notes] == [True], interleaving.notes
        assert interleaving.notes[0].hint
        assert interleaving.interleave is Interleave.LAUNCH
        pair = launchers.pairs.measure_pair().pair
        assert pair is not None


@pytest.mark.parametrize(
    ("fields", "platform", "chosen"),
    [
        ({"generation": TOKENS, "threads": 1}, "host", Interleave.DUET),
        ({"generation": TOKENS, "threads": 2}, "host", Interleave.LAUNCH),
        ({"generation": TOKENS}, "host", Interleave.LAUNCH),
        ({"generation": TOKENS, "threads": 1}, "android", Interleave.LAUNCH),
        ({"threads": 1}, "host", Interleave.LAUNCH),
        ({"generation": TOKENS, "threads": 1, "operators": True}, "host", Interleave.LAUNCH),
        ({"generation": TOKENS, "threads": 1, "commands": ("true",)}, "host", Interleave.LAUNCH),
    ],
)
def test_a_duet_is_usual_where_one_thread_generates_on_this_machine(
    fields: dict[str, object], platform: str, chosen: Interleave
) -> None:
    assert choose_interleave(Interleave.AUTO, benchmark(**fields), platform) is chosen
    for asked in (Interleave.LAUNCH, Interleave.PROCESS, Interleave.DUET):
        assert choose_interleave(asked, benchmark(**fields), platform) is asked


def test_batches_ended_by_the_time_limit_are_noted(session: Session, journal: Path, tmp_path: Path) -> None:
    limited = benchmark(iterations=1000, time_limit_s=0.000001)
    launchers = Launchers(tmp_path, session, InterleavablePlayers(journal), "good", "good", test=limited)
    launchers.pairs.begin()
    notes = launchers.control.measurement(Outcome.OK, None, None).notes
    assert [note.code for note in notes] == ["stopped_early"]
    assert "after 5 of 1000" in notes[0].message


def test_launches_are_sequential_and_stop_after_a_failure(session: Session, journal: Path, tmp_path: Path) -> None:
    launchers = Launchers(
        tmp_path, session, InterleavablePlayers(journal), "good", "good", interleaving=SequentialLaunches()
    )
    launchers.pairs.begin()
    assert launchers.pairs.measure_pair().pair is not None
    words = [words for _, _, words in read_journal(journal)]
    assert words == ["starts", "ends"] * 4
