"""The ways to measure a pair: one launch after the other, or both alive at once and taking turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from harness.core.benchmark import Benchmark
from harness.core.comparison import Interleave
from harness.core.note import Note
from harness.core.protocols import Interactive, Interleavable
from harness.core.result import Outcome
from harness.run.interleaved import BatchPlan, InterleavedRun, run_interleaved, split_into_batches
from harness.run.launcher import Launcher, ObservedLaunch

_UNSAID = 50
"""Iterations of a first launch whose benchmark leaves them to the framework."""


class LaunchPair(NamedTuple):
    """One pair.

    Attributes:
        seen: Both launches in the order of their starts. When one failed, the other may be missing.
        seconds: Device time of both together.
    """

    seen: tuple[ObservedLaunch, ...]
    seconds: float


class Interleaving(Protocol):
    """How the launches of a pair are made. Failed launches are values; errors are those of `Launcher.launch`."""

    @property
    def interleave(self) -> Interleave:
        """What takes turns, as far as is known now."""

    @property
    def notes(self) -> Sequence[Note]:
        """What a reader of the comparison must know about it."""

    def alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """One launch of one side, before all pairs."""

    def pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """A launch of each side; `first` has the first start, and the first of each two turns."""


class SequentialLaunches:
    """One launch after the other."""

    interleave: Final = Interleave.LAUNCH
    notes: Final = ()

    def alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """A launch."""
        return launcher.launch(benchmark)

    def pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """Two launches; the second only after one that went well."""
        seen = [first.launch(benchmark)]
        if seen[0].counts:
            seen.append(second.launch(benchmark))
        return LaunchPair(tuple(seen), sum(one.launch.wall_s for one in seen))


class InterleavedProcesses:
    """Both alive at once, a few iterations of each in turn; one launch after the other where that is not possible."""

    def __init__(self) -> None:
        self._players: dict[Launcher, _Player] = {}
        self._obstacle: Note | None = None

    @property
    def interleave(self) -> Interleave:
        """Launches, once it is known that there can be no turns."""
        return Interleave.LAUNCH if self._obstacle else Interleave.PROCESS

    @property
    def notes(self) -> Sequence[Note]:
        """Why there are no turns."""
        return (self._obstacle,) if self._obstacle else ()

    def alone(self, launcher: Launcher, benchmark: Benchmark) -> ObservedLaunch:
        """A launch that takes every turn, or, when it turns out that its runner cannot, a plain one.

        Only a runner that ends by itself says that it cannot. One that crashes or hangs has failed.
        """
        player = _player(launcher)
        if self._obstacle or isinstance(player, Note):
            self._obstacle = self._obstacle or (player if isinstance(player, Note) else None)
            return launcher.launch(benchmark)
        self._players[launcher] = player
        took, (seen,) = _session([player], benchmark)
        if took.ready or seen.launch.outcome not in (Outcome.OK, Outcome.FAILED):
            return seen
        launcher.discard("it showed that its runner cannot take turns")
        reason = f"the runner of {launcher.job.build.commit} cannot take turns: {seen.launch.reason}"
        self._obstacle = _instead(reason, "build it again: its sources are older than turns")
        return launcher.launch(benchmark)

    def pair(self, first: Launcher, second: Launcher, benchmark: Benchmark) -> LaunchPair:
        """Two launches that live at the same time. When one of them fails, nothing that the other said counts."""
        if self._obstacle:
            return SequentialLaunches().pair(first, second, benchmark)
        launchers = (first, second)
        took, seen = _session([self._players[launcher] for launcher in launchers], benchmark)
        if any(one.launch.outcome is not Outcome.OK for one in seen):
            for launcher in launchers[: len(seen)]:
                launcher.discard("the other launch of its pair failed")
        return LaunchPair(seen, took.seconds)


INTERLEAVINGS: Final[Mapping[Interleave, Callable[[], Interleaving]]] = {
    Interleave.LAUNCH: SequentialLaunches,
    Interleave.PROCESS: InterleavedProcesses,
}


class _Player(NamedTuple):
    """One side, with what taking turns needs of its session and its framework."""

    launcher: Launcher
    session: Interactive
    framework: Interleavable


def _player(launcher: Launcher) -> _Player | Note:
    """The side as one that takes turns; or why there can be none, as far as is known without a start."""
    session, framework, benchmark = launcher.session, launcher.framework, launcher.job.benchmark
    if not isinstance(session, Interactive):
        return _instead(f"{session.device.platform} devices hold one program at a time")
    if not isinstance(framework, Interleavable):
        return _instead(f"the runners of {framework.name} cannot take turns")
    if benchmark.commands:
        return _instead("the benchmark has `commands` of its own", "leave them out: the framework knows its runner")
    if benchmark.energy:
        return _instead("the energy of programs that live at the same time cannot be told apart")
    if benchmark.output_files:
        return _instead("the outputs are fetched after each launch", "compare without `output_files`")
    return _Player(launcher, session, framework)


def _instead(reason: str, hint: str | None = None) -> Note:
    return Note(code="launches", message=f"measured launch by launch: {reason}", hint=hint)


def _session(players: Sequence[_Player], benchmark: Benchmark) -> tuple[InterleavedRun, tuple[ObservedLaunch, ...]]:
    """One launch of each, taking turns."""
    wanted = benchmark.iterations if benchmark.iterations > 0 else _UNSAID
    plan = BatchPlan(split_into_batches(wanted), benchmark.min_iterations, benchmark.time_limit_s)
    prepared = [player.launcher.prepare(benchmark) for player in players]
    starts = [
        (one.index, player.framework.interleaved_command(one.commands[0]))
        for player, one in zip(players, prepared, strict=True)
    ]
    took = run_interleaved(starts, plan, players[0].session, players[0].launcher.clock)
    seen = tuple(
        player.launcher.keep(one, launched)
        for player, one, launched in zip(players, prepared, took.launched, strict=False)
    )
    if took.iterations < wanted and all(one.launch.outcome is Outcome.OK for one in seen):
        for player in players:
            player.launcher.note(_out_of_time(took.iterations, wanted))
    return took, seen


def _out_of_time(made: int, wanted: int) -> Note:
    return Note(
        code="stopped_early",
        message=f"the time limit ended the turns after {made} of {wanted} iterations",
        hint="raise the time limit, or ask for fewer iterations",
    )
