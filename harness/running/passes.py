"""Passes: launches after the timed ones for figures whose measurement would disturb the latency, or one another.

A pass is one launch with options of its own. Of what it reports only the figures of its kind count, so that no sample
of it mixes with those of timed launches. docs/specifications.md says which kinds may share launches, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from harness.core.benchmark import ERROR, LOAD_TIME, MEMORY, OPERATORS, POWER, Benchmark
from harness.core.errors import BenchmarkFailed
from harness.core.generation import GENERATION
from harness.core.metric import ENERGY_METRICS, Observation
from harness.core.note import Note
from harness.core.result import Outcome
from harness.core.scenario import SUSTAINED
from harness.running.launch import with_remaining_time
from harness.running.launcher import Launcher
from harness.running.metered import lengthen
from harness.running.retry import RetryPolicy, launch_with_retry


class Pass(Struct, frozen=True):
    """Pass for one kind of figures.

    Attributes:
        kind: The kind, as specifications name it.
        prepare: Returns the benchmark with the options of its launch.
        covers: Whether an observation is of this kind.
        reports: Whether its launch reports observations of this kind at all.
        rename: Returns the observations of its launch under the names that the kind gives them, before `covers` is
            asked.
        is_heating: Whether heat belongs to what it measures: then a launch that throttles the device is kept.
        proof: Metric without which its launch did something else than it was asked for; None where any figure will do.
    """

    kind: str
    prepare: Callable[[Benchmark], Benchmark]
    covers: Callable[[Observation], bool]
    reports: bool = True
    rename: Callable[[Sequence[Observation]], tuple[Observation, ...]] = tuple
    is_heating: bool = False
    proof: str | None = None


class PassFailed(BenchmarkFailed):
    """A pass has no figures. What was measured before it stays.

    Args:
        kind: Kind of the pass.
        reason: Why, in words.
        hint: What to do about it.
        outcome: How its launch ended.
    """

    def __init__(self, kind: str, reason: str, *, hint: str | None, outcome: Outcome = Outcome.FAILED) -> None:
        super().__init__(f"the pass for `{kind}` failed: {reason}", hint=hint)
        self.outcome = outcome


def passes_of(benchmark: Benchmark) -> Sequence[Pass]:
    """Return the passes of a benchmark, in the order of their launches: those that heat the device come last."""
    kinds = {*benchmark.kinds, *((_LONG_RUN,) if benchmark.sustained is not None else ())}
    return [item for item in _PASSES if item.kind in kinds and _is_apart(item, benchmark)]


def timed_benchmark(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark as timed launches have it: outputs that have a pass of their own are not written in them."""
    is_apart = any(item.kind == ERROR for item in passes_of(benchmark))
    return benchmark.model_copy(update={"output_files": ()}) if is_apart else benchmark


def run_passes(launcher: Launcher, policy: RetryPolicy) -> None:
    """Launch once for each pass, after the timed launches; what these reported of the same kinds no longer counts.

    Energy that nothing can meter is skipped, with a note.

    Raises:
        PassFailed: A pass ended without figures of its kind.
        DeviceLost: The device went away for good.
    """
    benchmark = launcher.job.benchmark
    passes = passes_of(benchmark)
    launcher.omit(lambda observation: any(item.covers(observation) for item in passes))
    for item in passes:
        if item.kind == POWER and launcher.job.unmetered is not None:
            launcher.note(_skipped(item.kind, launcher.job.unmetered))
            continue
        prepared = with_remaining_time(item.prepare(timed_benchmark(benchmark)), 0.0, 0)
        if item.kind == POWER:
            prepared = _lengthen(prepared, launcher)
        if item.kind == ERROR:
            prepared = prepared.model_copy(update={"output_files": benchmark.output_files})
        try:
            observed = launch_with_retry(launcher, prepared, policy, keep_throttled=item.is_heating)
        except BenchmarkFailed as error:
            raise PassFailed(item.kind, error.message, hint=error.hint) from error
        launch = observed.launch
        observations = item.rename(observed.observations)
        launcher.replace_observations(launch.index, observations)
        launcher.restrict(item.covers, f"it is the pass for `{item.kind}`, of which nothing else counts")
        if launch.outcome is not Outcome.OK:
            raise PassFailed(item.kind, launch.reason or launch.outcome.words, hint=None, outcome=launch.outcome)
        covered = [observation.name for observation in observations if item.covers(observation)]
        if item.reports and (item.proof not in covered if item.proof else not covered):
            launcher.replace_observations(launch.index, ())
            raise PassFailed(item.kind, "its launch reported no such figure", hint=_HINTS.get(item.kind))


def note_unused_long_run(benchmark: Benchmark) -> tuple[Note, ...]:
    """Return a note where a benchmark asks for a long run, and launches are paired or in rounds, which have none."""
    if benchmark.sustained is None:
        return ()
    message = "not run for long: a device that is warm by one program would be compared with one that cools"
    return (Note(code="sustained_left_out", message=message, hint="`harness run` of each of them does"),)


def _skipped(kind: str, reason: str) -> Note:
    return Note(code="kind_skipped", message=f"`{kind}` was not measured: {reason}", hint=_HINTS.get(kind))


def _lengthen(prepared: Benchmark, launcher: Launcher) -> Benchmark:
    """Return the benchmark with as many iterations as its meter needs, by what the last timed launch took."""
    counted = launcher.last_counted
    longer = None if counted is None else lengthen(prepared, counted.launch, counted.observations)
    return longer or prepared


def _is_apart(item: Pass, benchmark: Benchmark) -> bool:
    """Return whether it has a launch of its own: outputs that commands name are written in every launch."""
    if item.kind == LOAD_TIME:  # commands of a specification have the flags that it gives them
        return not benchmark.commands and benchmark.app is None
    return item.kind != ERROR or not (benchmark.commands or benchmark.after.commands or not benchmark.output_files)


def _execute_once(benchmark: Benchmark, **options: bool) -> Benchmark:
    once = {"iterations": 1, "warmup": 0, "min_iterations": 1, "arrival": None}
    return benchmark.model_copy(update={**once, **options})


def _for_memory(benchmark: Benchmark) -> Benchmark:
    return _execute_once(benchmark, phases=True, operators=False)


def _for_cold_load(benchmark: Benchmark) -> Benchmark:
    return _execute_once(benchmark, cold=True, operators=False)


def _for_long_run(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with its long run, which the limit on a launch does not include."""
    seconds = 0.0 if benchmark.sustained is None else benchmark.sustained.seconds
    update = {
        "long_run_s": seconds,
        "timeout_s": benchmark.timeout_s + seconds,
        "time_limit_s": None,
        "operators": False,
    }
    return benchmark.model_copy(update=update)


def _name_for_long_run(observations: Sequence[Observation]) -> tuple[Observation, ...]:
    """Return the observations of a long run under its type, so that they do not mix with those of a warm device.

    What a program names so itself is in the order of its start times, and goes before the same figure of another type.
    """
    named = {observation.metric for observation in observations if observation.type == SUSTAINED}
    return tuple(
        observation.model_copy(update={"type": SUSTAINED})
        if _is_of_long_run(observation) and observation.metric not in named
        else observation
        for observation in observations
    )


def _is_of_long_run(observation: Observation) -> bool:
    return observation.type in _TYPES_OF_LONG_RUN or observation.name in _TELLING_OF_LONG_RUN


_LONG_RUN: Final = "sustained"

_TYPES_OF_LONG_RUN: Final = ("NET", GENERATION)
_TELLING_OF_LONG_RUN: Final = ("RUN iterations_done", "RUN samples_thinned")

_HINTS: Final = {
    _LONG_RUN: "measure with a runner of the harness, or let the program run for {sustained_s} seconds and print "
    "`NET start_time` beside `NET latency`",
    OPERATORS: "measure with a runner that has an event tracer (`harness doctor` says which do), or leave out the kind",
    POWER: "measure on a device that reports energy, or leave out the kind",
    MEMORY: "measure with the harness's own runners, which report it, or leave out the kind",
}

_PASSES: Final = (
    Pass(MEMORY, _for_memory, lambda observation: observation.type == "RUN" and "memory" in observation.metric),
    Pass(
        LOAD_TIME,
        _for_cold_load,
        lambda observation: observation.type == "RUN" and observation.metric.startswith("cold_"),
        reports=False,
    ),
    Pass(ERROR, _execute_once, lambda _: False, reports=False),
    Pass(
        OPERATORS,
        lambda benchmark: benchmark.model_copy(update={"operators": True, "arrival": None}),
        lambda observation: observation.is_of_operator,
    ),
    Pass(
        POWER,
        lambda benchmark: benchmark.model_copy(update={"energy": True}),
        lambda observation: observation.metric in ENERGY_METRICS,
    ),
    Pass(
        _LONG_RUN,
        _for_long_run,
        lambda observation: observation.type == SUSTAINED,
        rename=_name_for_long_run,
        is_heating=True,
        proof=f"{SUSTAINED} start_time",
    ),
)
