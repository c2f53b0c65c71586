"""Strategies to launch a pair: one program after the other, or both alive at once with interleaved batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from harness.core.benchmark import Benchmark
from harness.core.comparison import Interleave
from harness.core.generation import DEFAULT_ITERATIONS
from harness.core.note import Note
from harness.core.protocols import Interactive, Interleavable
from harness.core.result import Outcome
from harness.running.interleaved import (
    SMALLEST_BATCH,
    BatchPlan,
    GenerationTurns,
    InterleavedRun,
    run_interleaved,
    split_into_batches,
)
from harness.running.launcher import Launcher, ObservedLaunch

_DEFAULT_ITERATIONS: Final = 50
"""Iterations of a first launch whose benchmark leaves them to the framework."""


class LaunchPair(NamedTuple):
    """Both launches of one pair.

    Attributes:
        launches: In the order of their starts. When one failed, the other may be missing.
        seconds: Device time of both together.
    """

    launches: tuple[ObservedLaunch, ...]
    seconds: float


class Interleaving(Protocol):
    """Strategy to launch the two sides of a pair. Failed launches are values; errors are those of `Launcher.launch`."""

    @property
    def interleave(self) -> Interleave:
        """Unit of interleaving, as far as it is known now."""

    @property
    def notes(self) -> Sequence[Note]:
        """Notes for a reader of the comparison."""

    def repeat_prompts(self, times: int) -> None:
        """Let each launch of a pair that generates process its prompt so often before, as far as it can."""

    def launch_alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """Launch one side alone, before all pairs."""

    def launch_pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """Launch each side once; `first` is started first, and has the first of each two batches."""


class SequentialLaunches:
    """One launch after the other."""

    interleave: Final = Interleave.LAUNCH
    notes: Final = ()

    def repeat_prompts(self, times: int) -> None:
        """Do nothing: without turns the prompts of one launch would all meet another time than those of the other."""

    def launch_alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """Launch one side."""
        return launcher.launch(benchmark)

    def launch_pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """Launch both sides; the second only after a launch that counts."""
        launches = [first.launch(benchmark)]
        if launches[0].counts:
            launches.append(second.launch(benchmark))
        return LaunchPair(tuple(launches), sum(observed.launch.wall_s for observed in launches))


class InterleavedProcesses:
    """Both programs alive at once, with batches of iterations in turn; sequential launches where that is impossible."""

    def __init__(self) -> None:
        self._sides: dict[Launcher, _Side] = {}
        self._obstacle: Note | None = None
        self._prompts = 0

    def repeat_prompts(self, times: int) -> None:
        """Let each generation of a pair process its prompt so often before, in turns of one prompt."""
        self._prompts = times

    @property
    def interleave(self) -> Interleave:
        """Launches, once it is known that processes cannot be interleaved."""
        return Interleave.LAUNCH if self._obstacle else Interleave.PROCESS

    @property
    def notes(self) -> Sequence[Note]:
        """Note on why processes cannot be interleaved, if so."""
        return (self._obstacle,) if self._obstacle else ()

    def launch_alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """Launch a side in batches, or, when its runner turns out to be unable to, plainly.

        Only a runner that ends by itself is unable to. One that crashes or hangs has failed.
        """
        side = _side(launcher)
        if self._obstacle or isinstance(side, Note):
            self._obstacle = self._obstacle or (side if isinstance(side, Note) else None)
            return launcher.launch(benchmark)
        self._sides[launcher] = side
        run, (observed,) = _launch_interleaved([side], benchmark, 0)
        if run.ready or observed.launch.outcome not in {Outcome.OK, Outcome.FAILED}:
            return observed
        launcher.discard("it showed that its runner cannot be interleaved")
        reason = f"the runner of {launcher.job.build.commit} cannot be interleaved: {observed.launch.reason}"
        self._obstacle = _launches_instead(reason, "build it again: its sources may be too old for interleaving")
        return launcher.launch(benchmark)

    def launch_pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """Launch both sides at the same time. When one of them fails, the observations of neither count."""
        if self._obstacle:
            return SequentialLaunches().launch_pair(first, second, benchmark)
        launchers = (first, second)
        sides = [self._sides[launcher] for launcher in launchers]
        run, launches = _launch_interleaved(sides, benchmark, self._prompts)
        if any(observed.launch.outcome is not Outcome.OK for observed in launches):
            for launcher in launchers[: len(launches)]:
                launcher.discard("the other launch of its pair failed")
        return LaunchPair(launches, run.seconds)


INTERLEAVINGS: Final[Mapping[Interleave, Callable[[], Interleaving]]] = {
    Interleave.LAUNCH: SequentialLaunches,
    Interleave.PROCESS: InterleavedProcesses,
}


class _Side(NamedTuple):
    """One side, with what interleaving needs of its session and its framework."""

    launcher: Launcher
    session: Interactive
    framework: Interleavable


def _side(launcher: Launcher) -> _Side | Note:
    """Return the side as one that can be interleaved, or why it cannot, as far as is known without a start."""
    session, framework, benchmark = launcher.session, launcher.framework, launcher.job.benchmark
    if not isinstance(session, Interactive):
        return _launches_instead(f"{session.device.platform} devices run one program at a time")
    if not isinstance(framework, Interleavable):
        return _launches_instead(f"the runners of {framework.name} cannot be interleaved")
    obstacles = (
        (
            benchmark.commands,
            "the benchmark has `commands` of its own",
            "leave them out: the framework knows its runner",
        ),
        (benchmark.arrival, "executions arrive as the benchmark's `arrival` says, and turns would say it too", None),
        (benchmark.energy, "the energy of programs that run at the same time cannot be separated", None),
        (benchmark.output_files, "the outputs are fetched after each launch", "compare without `output_files`"),
    )
    for is_given, reason, hint in obstacles:
        if is_given:
            return _launches_instead(reason, hint)
    return _Side(launcher, session, framework)


def _launches_instead(reason: str, hint: str | None = None) -> Note:
    return Note(code="launches", message=f"measured launch by launch: {reason}", hint=hint)


def _launch_interleaved(
    sides: Sequence[_Side], benchmark: Benchmark, prompts: int
) -> tuple[InterleavedRun, tuple[ObservedLaunch, ...]]:
    """Launch each side once, interleaved."""
    default, smallest, turns = _DEFAULT_ITERATIONS, SMALLEST_BATCH, None
    if benchmark.generation is not None:  # whose many executions outweigh that the first of them finds cold caches
        default, smallest = DEFAULT_ITERATIONS, 1
        turns = GenerationTurns(benchmark.generation.new_tokens, prompts)
    wanted = benchmark.iterations if benchmark.iterations > 0 else default
    plan = BatchPlan(split_into_batches(wanted, smallest), turns, benchmark.min_iterations, benchmark.time_limit_s)
    prepared = [side.launcher.prepare(benchmark) for side in sides]
    starts = [
        (start.index, side.framework.interleaved_command(start.commands[0]))
        for side, start in zip(sides, prepared, strict=True)
    ]
    run = run_interleaved(starts, plan, sides[0].session, sides[0].launcher.clock)
    observed = tuple(
        side.launcher.keep(start, record) for side, start, record in zip(sides, prepared, run.records, strict=False)
    )
    if run.iterations < wanted and all(side.launch.outcome is Outcome.OK for side in observed):
        for side in sides:
            side.launcher.note(_out_of_time(run.iterations, wanted))
    return run, observed


def _out_of_time(made: int, wanted: int) -> Note:
    return Note(
        code="stopped_early",
        message=f"the time limit ended the measurement after {made} of {wanted} iterations",
        hint="raise the time limit, or ask for fewer iterations",
    )
