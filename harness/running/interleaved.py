"""Interleaved launches: programs that are alive at the same time, and iterate in batches, in turn or at once.

Both meet the same minutes of the machine, so that what disturbs one disturbs the other. The protocol with a runner is
that of `harness.core.protocols.Interleavable`, and of `DuetCapable` where they iterate at once.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.core.command import Command, Completed
from harness.core.device import DeviceState
from harness.core.protocols import Clock, Interactive, InteractiveProcess
from harness.core.result import Outcome
from harness.running.launch import LaunchRecord, record_launch, wait_until_ready

TOKENS_OF_A_TURN: Final = 4
"""Tokens that a generation makes before it pauses. What disturbs a machine lasts longer; the caches of a program hold
the other one for the first of them (docs/decisions/0103)."""

SMALLEST_BATCH = 5
"""Iterations. After each batch the caches hold the other program: with batches of one iteration a MobileNetV2 was 20 %
slower and differences shrank by a fifth, with five they did not."""


class GenerationTurns(Struct, frozen=True):
    """Turns of one generation: one for each time that its prompt is processed, the others for some tokens each.

    Attributes:
        new_tokens: Tokens of the generation.
        prompts: How often its prompt is processed alone, before the generation.
        tokens: Tokens of a turn, after the first token, which belongs to the prompt.
    """

    new_tokens: int
    prompts: int = 0
    tokens: int = TOKENS_OF_A_TURN

    @property
    def count(self) -> int:
        """Number of turns."""
        return self.prompts + 1 + math.ceil((self.new_tokens - 1) / self.tokens)

    @property
    def words(self) -> str:
        """What a request says of them."""
        return f" by {self.tokens}" + (f" after {self.prompts}" if self.prompts else "")


class BatchPlan(Struct, frozen=True):
    """Batches of each program.

    Attributes:
        batches: Iterations of each batch.
        turns: Turns of each iteration, where it is a generation, which pauses between tokens; None for one turn.
        least: Iterations to make in spite of the limit.
        limit_s: Seconds of each program's batches; None is no limit.
        at_once: Whether all programs make a batch at once, instead of one after the other.
    """

    batches: tuple[int, ...]
    turns: GenerationTurns | None = None
    least: int = 1
    limit_s: float | None = None
    at_once: bool = False


class InterleavedRun(Struct, frozen=True):
    """Outcome of programs that were run interleaved.

    Attributes:
        records: The launch of each that was started, in the order of their starts.
        ready: Whether each reported that it can be interleaved.
        iterations: Iterations that each of them made.
        seconds: From the start of the first to the end of the last.
    """

    records: tuple[LaunchRecord, ...]
    ready: bool
    iterations: int
    seconds: float


def split_into_batches(iterations: int, smallest: int = SMALLEST_BATCH) -> tuple[int, ...]:
    """Split iterations into batches of the smallest size; the last one takes the rest."""
    count = max(1, iterations // smallest)
    return (*[smallest] * (count - 1), iterations - smallest * (count - 1))


def run_interleaved(
    starts: Sequence[tuple[int, Command]], plan: BatchPlan, session: Interactive, clock: Clock
) -> InterleavedRun:
    """Start the programs one after the other, let them iterate in batches, in the same order or at once, and end them.

    When one dies, fails or does not answer in time, no batch follows: its launch failed, the others end in order.

    Args:
        starts: Of each program the index of its launch, and its command.
        plan: Their batches.
        session: The held device.
        clock: Unix seconds.

    Raises:
        EnvironmentProblem: A program cannot be started at all.
        DeviceLost: The device went away.
    """
    wait_until_ready(session)
    before, began = session.state(), time.monotonic()
    with contextlib.ExitStack() as stack:
        programs: list[_Program] = []
        ready = True
        for index, command in starts:
            programs.append(_Program(index, clock(), stack.enter_context(session.start(command))))
            ready = ready and programs[-1].wait_until_ready()
            if not ready:
                break
        iterations = _run_batches(programs, plan) if ready else 0
        completed = [program.process.finish() for program in programs]
    seconds, after = time.monotonic() - began, session.state()
    return InterleavedRun(
        tuple(
            _record(program, own, [other for other in completed if other is not own], before, after)
            for program, own in zip(programs, completed, strict=True)
        ),
        ready,
        iterations,
        seconds,
    )


class _Program:
    """One program, and whether it has answered so far."""

    def __init__(self, index: int, started: float, process: InteractiveProcess) -> None:
        self.index = index
        self.started = started
        self.process = process
        self.answered = True

    def wait_until_ready(self) -> bool:
        self.answered = self.process.wait_for_line("ready")
        return self.answered

    def ask(self, request: str) -> None:
        self.process.write_line(request)

    def wait_for(self, reply: str) -> bool:
        self.answered = self.process.wait_for_line(reply)
        return self.answered


def _run_batches(programs: Sequence[_Program], plan: BatchPlan) -> int:
    """Run batch after batch until all are made, one does not answer, or the time is over. Return the iterations."""
    made, began = 0, time.monotonic()
    for iterations in plan.batches:
        spent = (time.monotonic() - began) / len(programs)
        if made >= plan.least and plan.limit_s is not None and spent >= plan.limit_s:
            break
        take_turn = _take_turn_at_once if plan.at_once else _take_turn
        if not all(take_turn(programs, *words) for words in split_into_turns(iterations, plan.turns)):
            break
        made += iterations
    return made


def _take_turn(programs: Sequence[_Program], request: str, reply: str) -> bool:
    """Let one program after the other answer; return whether all did."""
    for program in programs:
        program.ask(request)
        if not program.wait_for(reply):
            return False
    return True


def _take_turn_at_once(programs: Sequence[_Program], request: str, reply: str) -> bool:
    """Let all programs work at the same time; return whether all answered."""
    for program in programs:
        program.ask(request)
    answered = [program.wait_for(reply) for program in programs]
    return all(answered)


def split_into_turns(iterations: int, generation: GenerationTurns | None) -> Iterator[tuple[str, str]]:
    """Yield request and reply of each turn of a batch."""
    count = 1 if generation is None else generation.count
    run = f"run {iterations}" if generation is None or count == 1 else f"run {iterations}{generation.words}"
    for turn in range(count):
        yield "go on" if turn else run, "paused" if turn < count - 1 else f"done {iterations}"


def _record(
    program: _Program, own: Completed, others: Sequence[Completed], before: DeviceState, after: DeviceState
) -> LaunchRecord:
    """Record the launch of one program; one that ended before its last batch failed, whatever its exit status."""
    record = record_launch(program.index, [own], started=program.started, before=before, after=after)
    update: dict[str, object] = {"beside_cpu_s": sum(other.cpu_s or 0.0 for other in others)} if others else {}
    if record.launch.outcome is Outcome.OK and not program.answered:
        update |= {"outcome": Outcome.FAILED, "reason": "the program ended well, but before its last batch"}
    return replace(record, launch=record.launch.model_copy(update=update))
