"""Launches that live at the same time and take turns: a few iterations of one, then as many of the other.

Both meet the same minutes of the machine, so that what disturbs one disturbs the other. The conversation with a runner
is that of `harness.core.protocols.Interleavable`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.protocols import Clock, Interactive, InteractiveProcess
from harness.core.result import Outcome
from harness.run.launch import LaunchRecord, record_launch, wait_until_ready

SMALLEST_BATCH = 5
"""Iterations of a turn. After each change the caches hold the other program: with one iteration a turn a MobileNetV2
was 20 % slower and differences shrank by a fifth, with five they did not."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How often which turn comes.

    Attributes:
        turns: Iterations of each turn.
        least: Iterations to make in spite of the limit.
        limit_s: Seconds of each program's turns; None is no limit.
    """

    turns: tuple[int, ...]
    least: int = 1
    limit_s: float | None = None


@dataclass(frozen=True, slots=True)
class InterleavedRun:
    """What became of programs that took turns.

    Attributes:
        launched: The launch of each that was started, in the order of their starts.
        ready: Whether each said that it can take turns.
        iterations: Iterations that each of them made.
        seconds: From the start of the first to the end of the last.
    """

    launched: tuple[LaunchRecord, ...]
    ready: bool
    iterations: int
    seconds: float


def split_into_batches(iterations: int) -> tuple[int, ...]:
    """So many iterations in turns of `SMALLEST_BATCH`; the last one takes the rest."""
    count = max(1, iterations // SMALLEST_BATCH)
    return (*[SMALLEST_BATCH] * (count - 1), iterations - SMALLEST_BATCH * (count - 1))


def run_interleaved(
    starts: Sequence[tuple[int, Command]], plan: BatchPlan, session: Interactive, clock: Clock
) -> InterleavedRun:
    """Start the programs one after the other, let them take turns in the same order, and end them.

    When one dies, fails or is not heard in time, the turns are over: its launch failed, the others are ended in order.

    Args:
        starts: Of each program the index of its launch, and its command.
        plan: Their turns.
        session: The held device.
        clock: Unix seconds.

    Raises:
        EnvironmentProblem: A program cannot be started at all.
        DeviceLost: The device went away.
    """
    wait_until_ready(session)
    before, began = session.state(), time.monotonic()
    with contextlib.ExitStack() as stack:
        players: list[_Player] = []
        ready = True
        for index, command in starts:
            players.append(_Player(index, clock(), stack.enter_context(session.start(command))))
            ready = ready and players[-1].gets_ready()
            if not ready:
                break
        iterations = _play(players, plan) if ready else 0
        completed = [player.process.finish() for player in players]
    seconds, after = time.monotonic() - began, session.state()
    return InterleavedRun(
        tuple(
            _recorded(player, own, [one for one in completed if one is not own], before, after)
            for player, own in zip(players, completed, strict=True)
        ),
        ready,
        iterations,
        seconds,
    )


class _Player:
    """One program, and whether it answered so far."""

    def __init__(self, index: int, started: float, process: InteractiveProcess) -> None:
        self.index = index
        self.started = started
        self.process = process
        self.answered = True

    def gets_ready(self) -> bool:
        self.answered = self.process.wait_for_line("ready")
        return self.answered

    def takes_turn(self, iterations: int) -> bool:
        self.process.write_line(f"run {iterations}")
        self.answered = self.process.wait_for_line(f"done {iterations}")
        return self.answered


def _play(players: Sequence[_Player], plan: BatchPlan) -> int:
    """Turn after turn, until all are made, somebody does not answer, or the time is over. Returns the iterations."""
    made, began = 0, time.monotonic()
    for iterations in plan.turns:
        spent = (time.monotonic() - began) / len(players)
        if made >= plan.least and plan.limit_s is not None and spent >= plan.limit_s:
            break
        if not all(player.takes_turn(iterations) for player in players):
            break
        made += iterations
    return made


def _recorded(
    player: _Player, own: Completed, others: Sequence[Completed], before: DeviceState, after: DeviceState
) -> LaunchRecord:
    """The launch of one program; one that ended before its turns were over failed, whatever its exit status."""
    made = record_launch(player.index, [own], started=player.started, before=before, after=after)
    update: dict[str, object] = {"beside_cpu_s": sum(one.cpu_s or 0.0 for one in others)} if others else {}
    if made.launch.outcome is Outcome.OK and not player.answered:
        update |= {"outcome": Outcome.FAILED, "reason": "the program ended well, but before its turns were over"}
    return replace(made, launch=made.launch.model_copy(update=update))
