"""Strategies to launch a pair: one program after the other, or both alive at once, in turn or in a duet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

from harness.core import DEFAULT_PLATFORM
from harness.core.benchmark import Benchmark
from harness.core.command import Command
from harness.core.comparison import Interleave
from harness.core.generation import DEFAULT_ITERATIONS
from harness.core.note import Note
from harness.core.protocols import DuetCapable, Interactive, Interleavable
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
    """Both programs alive at once, with batches of iterations in turn; sequential launches where that is impossible.

    In a duet both make each batch at once, on one CPU, and the kernel lets each have it for some milliseconds in turn
    (docs/decisions/0104).

    Args:
        duet: Whether it is one.
    """

    def __init__(self, *, duet: bool = False) -> None:
        self._duet = duet
        self._sides: dict[Launcher, _Side] = {}
        self._obstacle: Note | None = None
        self._prompts = 0

    def repeat_prompts(self, times: int) -> None:
        """Let each generation of a pair process its prompt so often before, in turns of one prompt; not in a duet.

        Prompts of a duet meet the same milliseconds, so that further ones cost more than they tell.
        """
        self._prompts = 0 if self._duet else times

    @property
    def interleave(self) -> Interleave:
        """Launches, once it is known that processes cannot be interleaved."""
        if self._obstacle:
            return Interleave.LAUNCH
        return Interleave.DUET if self._duet else Interleave.PROCESS

    @property
    def notes(self) -> Sequence[Note]:
        """Note on why processes cannot be interleaved, if so."""
        return (self._obstacle,) if self._obstacle else ()

    def launch_alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """Launch a side in batches, or, when its runner turns out to be unable to, plainly.

        Only a runner that ends by itself is unable to. One that crashes or hangs has failed.
        """
        side = _side(launcher, duet=self._duet)
        if self._obstacle or isinstance(side, Note):
            self._obstacle = self._obstacle or (side if isinstance(side, Note) else None)
            return launcher.launch(benchmark)
        self._sides[launcher] = side
        run, (observed,) = _launch_interleaved([side], benchmark, 0, duet=self._duet)
        if run.ready and self._duet and len(observed.launch.cpus or ()) != 1:
            return self._launch_instead(launcher, benchmark, _ON_ONE_CPU)
        if run.ready or observed.launch.outcome not in {Outcome.OK, Outcome.FAILED}:
            return observed
        reason = f"the runner of {launcher.job.build.commit} cannot be interleaved: {observed.launch.reason}"
        obstacle = _launches_instead(reason, _ON_TURNS)
        return self._launch_instead(launcher, benchmark, obstacle)

    def launch_pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """Launch both sides at the same time. When one of them fails, the observations of neither count."""
        if self._obstacle:
            return SequentialLaunches().launch_pair(first, second, benchmark)
        launchers = (first, second)
        sides = [self._sides[launcher] for launcher in launchers]
        run, launches = _launch_interleaved(sides, benchmark, self._prompts, duet=self._duet)
        if any(observed.launch.outcome is not Outcome.OK for observed in launches):
            for launcher in launchers[: len(launches)]:
                launcher.discard("the other launch of its pair failed")
        return LaunchPair(launches, run.seconds)

    def _launch_instead(self, launcher: Launcher, benchmark: Benchmark, obstacle: Note) -> ObservedLaunch:
        """Launch a side plainly, and all others from now on, after a launch that showed an obstacle."""
        launcher.discard("it showed that its runner cannot be interleaved")
        self._obstacle = obstacle
        return launcher.launch(benchmark)


INTERLEAVINGS: Final[Mapping[Interleave, Callable[[], Interleaving]]] = {
    Interleave.LAUNCH: SequentialLaunches,
    Interleave.PROCESS: InterleavedProcesses,
    Interleave.DUET: partial(InterleavedProcesses, duet=True),
}


def choose_interleave(asked: Interleave, benchmark: Benchmark, platform: str) -> Interleave:
    """Return how the launches of a pair alternate.

    Where nothing else was asked for, it is a duet for a test that generates with one thread on this machine, whose
    prompts and tokens differ more from one to the next than most changes do; not where figures need a launch that is
    alone. Phones may lack memory for two language models at once.
    """
    if asked is not Interleave.AUTO:
        return asked
    is_alone = benchmark.threads == 1 and platform == DEFAULT_PLATFORM
    is_unlike = benchmark.commands or benchmark.arrival or benchmark.energy or benchmark.operators
    is_for_duet = benchmark.generation is not None and is_alone and not is_unlike and not benchmark.output_files
    return Interleave.DUET if is_for_duet else Interleave.LAUNCH


class _Side(NamedTuple):
    """One side, with what interleaving needs of its session and its framework."""

    launcher: Launcher
    session: Interactive
    compose: Callable[[Command], Command]


def _side(launcher: Launcher, *, duet: bool) -> _Side | Note:
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
        (
            duet and benchmark.threads != 1,
            "in a duet each program has one thread",
            'give the test `"threads": 1`, or try `--interleave process`',
        ),
        (
            duet and benchmark.operators,
            "operators are timed by the wall clock, which goes on while the other program of a duet runs",
            "compare without `operators`, or try `--interleave process`",
        ),
        (benchmark.output_files, "the outputs are fetched after each launch", "compare without `output_files`"),
    )
    for is_given, reason, hint in obstacles:
        if is_given:
            return _launches_instead(reason, hint)
    if not duet:
        return _Side(launcher, session, framework.interleaved_command)
    if isinstance(framework, DuetCapable):
        return _Side(launcher, session, framework.duet_command)
    return _launches_instead(f"the runners of {framework.name} cannot play a duet", "try `--interleave process`")


_ON_TURNS: Final = (
    "if it is an older runner of the harness, build it again; programs that take no turns are compared launch by launch"
)

_ON_ONE_CPU: Final = Note(
    code="launches",
    message="measured launch by launch: in a duet both programs share one CPU, and these were not pinned to one",
    hint="name it: `--cpus N`",
)


def _launches_instead(reason: str, hint: str | None = None) -> Note:
    return Note(code="launches", message=f"measured launch by launch: {reason}", hint=hint)


def _launch_interleaved(
    sides: Sequence[_Side], benchmark: Benchmark, prompts: int, *, duet: bool
) -> tuple[InterleavedRun, tuple[ObservedLaunch, ...]]:
    """Launch each side once, interleaved."""
    default, smallest, turns = _DEFAULT_ITERATIONS, SMALLEST_BATCH, None
    if benchmark.generation is not None:  # whose many executions outweigh that the first of them finds cold caches
        default, smallest = DEFAULT_ITERATIONS, 1
        turns = _turns_of(benchmark.generation.new_tokens, prompts, duet=duet)
    wanted = benchmark.iterations if benchmark.iterations > 0 else default
    batches = split_into_batches(wanted, smallest)
    plan = BatchPlan(batches, turns, benchmark.min_iterations, benchmark.time_limit_s, at_once=duet)
    prepared = [side.launcher.prepare(benchmark) for side in sides]
    starts = [(start.index, side.compose(start.commands[0])) for side, start in zip(sides, prepared, strict=True)]
    run = run_interleaved(starts, plan, sides[0].session, sides[0].launcher.clock)
    observed = tuple(
        side.launcher.keep(start, record) for side, start, record in zip(sides, prepared, run.records, strict=False)
    )
    if run.iterations < wanted and all(side.launch.outcome is Outcome.OK for side in observed):
        for side in sides:
            side.launcher.note(_out_of_time(run.iterations, wanted))
    return run, observed


def _turns_of(new_tokens: int, prompts: int, *, duet: bool) -> GenerationTurns:
    """Return the turns of a generation. In a duet only its prompts and its tokens are a turn each."""
    if duet:
        return GenerationTurns(new_tokens, prompts, max(1, new_tokens - 1))
    return GenerationTurns(new_tokens, prompts)


def _out_of_time(made: int, wanted: int) -> Note:
    return Note(
        code="stopped_early",
        message=f"the time limit ended the measurement after {made} of {wanted} iterations",
        hint="raise the time limit, or ask for fewer iterations",
    )
