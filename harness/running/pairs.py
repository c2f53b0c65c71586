"""Pairs of launches: control and treatment together, in an order that a recorded coin decides.

The coin, and no assumption about noise, is what makes a comparison's verdict exact: given everything that happened
before, it alone decides which build meets which moment of the machine. A fixed order (control first, ABAB, ABBA) always
has a disturbance that beats it.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from harness.core.benchmark import Benchmark
from harness.core.comparison import OperatorMedians, Pair
from harness.core.errors import BenchmarkFailed, DeviceLost
from harness.core.metric import LATENCY, Observation, convert, is_counted
from harness.core.note import Note
from harness.core.result import DISCARDED_FOR_HEAT, Launch, Outcome
from harness.running.comparability import DiscardedPairs, layout_notes, unequal_samples, unused_samples
from harness.running.compared_metric import ComparedMetric
from harness.running.derived_metrics import operator_medians
from harness.running.interleaving import Interleaving
from harness.running.launcher import Launcher, ObservedLaunch
from harness.running.metered import TOO_SHORT, lengthen
from harness.running.pacing import paced_iteration_s
from harness.running.padding import padding_length
from harness.running.retry import RetryPolicy

_FEWEST_FAILURES: Final = 3
_FAILING_SHARE: Final = 0.2
"""A launch that fails now and then costs its pair; a side that fails in a fifth of its launches is the finding."""

_MOST_THROTTLED: Final = 20
"""Pairs in a row. Heat is no fault of a build, and passes; a device that stays hot cannot be measured on."""

_WARMUP: Final = 10
_SLOW_S: Final = 0.05
_FEWEST, _FEWEST_SLOW, _MOST = 10, 3, 200
"""Iterations of a launch. About 3 sqrt(cost of a launch / cost of an iteration) is where more of them stop paying
(Kalibera and Jones, ISMM 2013, with the variances that launches of a MobileNetV2 runner showed). The optimum is flat.
An iteration above 50 ms averages out by itself what ten short ones are needed for, and one of them warms up.
"""


Result = TypeVar("Result")


class Statistics(Protocol):
    """Function that computes the statistics of a launch (`harness.core.comparison.STATISTICS`) from its samples."""

    def __call__(self, samples: Sequence[float], *, higher_is_better: bool) -> tuple[float, ...]:
        """Return the statistics, in the unit of the samples."""


@dataclass(frozen=True, slots=True)
class MeasuredPair:
    """Outcome of one toss of the coin.

    Attributes:
        index: Number of the toss.
        pair: The figures of both launches; None where one of them failed, so that the pair was discarded.
        operators: The medians of their operators, where they are timed.
    """

    index: int
    pair: Pair | None = None
    operators: OperatorMedians | None = None


class TooManyFailures(BenchmarkFailed):
    """Launches of one side fail too often: there is nothing to compare."""

    def __init__(self, side: str, launch: Launch, unusable: str, *, failed: int, launches: int) -> None:
        reason = launch.reason or unusable
        super().__init__(f"the {side} failed in {failed} of {launches} launches: {reason}")
        self.outcome = Outcome.FAILED if launch.outcome is Outcome.OK else launch.outcome


def control_goes_first(seed: int, key: str, index: int) -> bool:
    """Toss the coin of one pair: the same for the same seed, benchmark and device, whoever asks and whenever.

    A resumed comparison tosses what an uninterrupted one would have tossed.
    """
    return hashlib.sha256(f"{seed}:{key}:{index}".encode()).digest()[0] % 2 == 0


class PairedLaunches:
    """Source of the pairs of one benchmark on one device.

    Args:
        control: Launches the control.
        treatment: Launches the treatment, which differs in its build alone.
        seed: Of the coin.
        key: Benchmark and device, so that each comparison has a coin of its own.
        statistics: Computes the figures of a launch.
        interleaving: Launches the two sides of a pair.
        metric: Name of the metric to compare; None takes the latency, else the first that has samples.
        unit: The metric's unit, when earlier pairs are known.
        first_index: Index of the first pair, when earlier ones are known.
    """

    def __init__(
        self,
        control: Launcher,
        treatment: Launcher,
        *,
        seed: int,
        key: str,
        statistics: Statistics,
        interleaving: Interleaving,
        metric: str | None = None,
        unit: str = "",
        first_index: int = 0,
    ) -> None:
        self._launchers = {"control": control, "treatment": treatment}
        self._retry = RetryPolicy([control, treatment])
        self._seed = seed
        self._key = key
        self._statistics = statistics
        self._interleaving = interleaving
        self._metric = ComparedMetric(
            metric, unit, treatment.job.benchmark.direction, treatment.job.benchmark.is_about_energy
        )
        self._benchmark = control.job.benchmark
        self._first_index = self._next_index = first_index
        self._discarded = DiscardedPairs()
        self._throttled_in_a_row = 0
        self._overhead_s = 0.0
        self._layout_notes: tuple[Note, ...] = ()
        self._unequal_samples: Note | None = None
        self._unused_samples: Note | None = None

    @property
    def metric(self) -> ComparedMetric:
        """The metric that is compared, as far as it is known."""
        return self._metric

    @property
    def interleaving(self) -> Interleaving:
        """Strategy to launch the two sides of a pair."""
        return self._interleaving

    @property
    def discarded(self) -> int:
        """Number of pairs that were discarded."""
        return self._discarded.count

    @property
    def overhead_s(self) -> float:
        """Device time of launches that are part of no pair: of warming up, and of discarded pairs."""
        return self._overhead_s

    @property
    def doubt(self) -> Note | None:
        """Note that the pairs may not speak for all launches of a side; None where they do."""
        return self._discarded.doubt(self._tried) or self._unequal_samples

    @property
    def _tried(self) -> int:
        return self._next_index - self._first_index

    def begin(self) -> None:
        """Launch each side once without counting it: that warms caches, and shows what a launch costs.

        Raises:
            BenchmarkFailed: A side cannot be launched, or reports nothing to compare.
        """
        tuned = self._benchmark
        for side, launcher in self._launchers.items():
            launcher.begin()
            launch, observations = self._warm_up_for_meter(launcher)
            self._overhead_s += launch.wall_s
            if launch.outcome is not Outcome.OK:
                raise BenchmarkFailed(f"the {side} cannot be measured: {launch.reason}")
            observation = self._metric.find(observations)
            if observation is None:
                wanted = f"no samples of {self._metric.name}" if self._metric.name else "no samples of any metric"
                raise BenchmarkFailed(f"the {side} reports {wanted}", hint="--metric names what to compare")
            launcher.discard("it warmed up")
            if side == "control":
                self._metric = self._metric.choose_metric(observation)
            if (mismatch := self._metric.explain_unit(observation)) is not None:
                raise BenchmarkFailed(f"the {side} cannot be compared: {mismatch}", hint="let both report one unit")
            if not self._benchmark.is_about_energy:
                tuned = tune(launch, observations, observation, launcher.job.benchmark)
        if not self._benchmark.is_about_energy:
            self._benchmark = tuned

    def run_before_pairs(self, action: Callable[[Benchmark], Result]) -> Result:
        """Run an action that launches sides without measuring them, once more after a lost device came back.

        Args:
            action: Gets the benchmark as pairs launch it.

        Raises:
            DeviceLost: The device went away for good.
        """
        began = time.monotonic()
        try:
            while True:
                try:
                    return action(self._benchmark)
                except DeviceLost as loss:
                    self._retry.reconnect_after(loss)
        finally:
            self._overhead_s += time.monotonic() - began

    def measure_pair(self) -> MeasuredPair:
        """Launch both sides once more. A pair that is discarded uses up its index, so that the coin is tossed anew.

        Raises:
            TooManyFailures: One side keeps failing.
            DeviceLost: The device went away for good.
        """
        index, self._next_index = self._next_index, self._next_index + 1
        control_first = control_goes_first(self._seed, self._key, index)
        first, second = ("control", "treatment") if control_first else ("treatment", "control")
        counts = {side: launcher.launches for side, launcher in self._launchers.items()}
        self._pad_environments(index)
        try:
            made = self._interleaving.launch_pair(self._launchers[first], self._launchers[second], self._benchmark)
        except DeviceLost as loss:
            self._retry.reconnect_after(loss)
            self._discard_cut_short(counts)
            return MeasuredPair(index)
        launches = dict(zip((first, second), made.launches, strict=False))
        figures = self._figures_or_discard(launches, made.seconds)
        if figures is None:
            return MeasuredPair(index)
        self._throttled_in_a_row = 0
        self._compare_launches(launches["control"], launches["treatment"])
        pair = Pair(
            index=index,
            control_first=control_first,
            control=figures["control"],
            treatment=figures["treatment"],
            control_launch=launches["control"].launch.index,
            treatment_launch=launches["treatment"].launch.index,
            seconds=made.seconds,
        )
        if not self._benchmark.operators:
            return MeasuredPair(index, pair)
        medians = {side: operator_medians(launch.observations) for side, launch in launches.items()}
        return MeasuredPair(
            index, pair, OperatorMedians(pair=index, control=medians["control"], treatment=medians["treatment"])
        )

    def end(self) -> None:
        """Run the model's own steps after the last launch, and note what a reader must know of those before.

        Raises:
            BenchmarkFailed: A step failed.
        """
        samples = self._unequal_samples or self._unused_samples
        for note in (*self._discarded.notes(self._tried), *self._layout_notes, samples):
            if note is not None:
                self._launchers["treatment"].note(note)
        for launcher in self._launchers.values():
            launcher.end()

    def _pad_environments(self, index: int) -> None:
        """Move the stack of either launch, unless the metric is counted: a place costs time, and changes no count."""
        if is_counted(self._metric.name or "", self._metric.unit):
            return
        for side, launcher in self._launchers.items():
            launcher.set_padding(padding_length(self._seed, self._key, index, side))

    def _warm_up_for_meter(self, launcher: Launcher) -> ObservedLaunch:
        """Launch a side; of a test of energy again with more iterations for both, where they were too short."""
        observed = self._warm_up(launcher)
        if not self._benchmark.is_about_energy or observed.launch.outcome is not Outcome.OK:
            return observed
        longer = lengthen(self._benchmark, observed.launch, observed.observations)
        if longer is None:
            return observed
        launcher.discard(TOO_SHORT)
        self._overhead_s += observed.launch.wall_s
        self._benchmark = longer
        return self._warm_up(launcher)

    def _warm_up(self, launcher: Launcher) -> ObservedLaunch:
        while True:
            try:
                return self._interleaving.launch_alone(launcher, self._benchmark)
            except DeviceLost as loss:
                self._retry.reconnect_after(loss)

    def _figures_or_discard(
        self, launches: Mapping[str, ObservedLaunch], seconds: float
    ) -> Mapping[str, tuple[float, ...]] | None:
        """Return the figures of each side; None, and the pair is discarded, where a launch does not count."""
        samples: dict[str, tuple[float, ...]] = {}
        for side, launch in sorted(launches.items(), key=lambda item: item[1].launch.outcome is Outcome.OK):
            values = self._metric.values(launch.observations) if launch.counts else None
            if values is None:
                for started in launches:
                    self._launchers[started].discard(_why_discarded(launch.launch, side))
                self._overhead_s += seconds
                self._discard(side, launch)
                return None
            samples[side] = values
        # The best and the worst tenth of more samples lie further out, and iterations of a launch get faster or slower:
        # only the same iterations of two equal builds are exchangeable, which makes the coin exact.
        fewest = min(map(len, samples.values()))
        return {
            side: self._statistics(values[:fewest], higher_is_better=self._metric.higher_is_better)
            for side, values in samples.items()
        }

    def _compare_launches(self, control: ObservedLaunch, treatment: ObservedLaunch) -> None:
        """Look for signs that the launches of a pair are unlike; unequal samples in any pair count."""
        device = self._launchers["control"].session.device
        self._layout_notes = layout_notes(control.launch, treatment.launch, device)
        counts = [len(self._metric.values(launch.observations) or ()) for launch in (control, treatment)]
        self._unequal_samples = self._unequal_samples or unequal_samples(*counts)
        self._unused_samples = self._unused_samples or unused_samples(*counts)

    def _discard_cut_short(self, counts: Mapping[str, int]) -> None:
        """Discard a pair that a lost device cut short."""
        self._discarded.add_cut_short()
        for side, launcher in self._launchers.items():
            if launcher.launches > counts[side]:
                launcher.discard("the device went away during its pair")

    def _discard(self, side: str, observed: ObservedLaunch) -> None:
        launch = observed.launch
        self._discarded.add(side, launch)
        if launch.outcome is Outcome.OK and launch.throttled:
            self._throttled_in_a_row += 1
            if self._throttled_in_a_row >= _MOST_THROTTLED:
                raise BenchmarkFailed(
                    f"the device lowered its clock because of heat in {_MOST_THROTTLED} pairs in a row",
                    hint="let it cool down, and give it pauses with `cooldown`",
                )
            return
        failed = self._discarded.failures(side)
        if failed >= _FEWEST_FAILURES and failed > _FAILING_SHARE * self._tried:
            reason = self._metric.explain_missing(observed.observations)
            raise TooManyFailures(side, launch, reason, failed=failed, launches=self._tried)


def iterations_for(launch_cost_s: float, iteration_cost_s: float) -> int:
    """Return the number of iterations that a launch is worth.

    Args:
        launch_cost_s: Seconds of a launch beside its iterations.
        iteration_cost_s: Seconds of one iteration.
    """
    if iteration_cost_s <= 0:
        return _MOST
    fewest = _FEWEST_SLOW if iteration_cost_s > _SLOW_S else _FEWEST
    return int(min(_MOST, max(fewest, round(3 * math.sqrt(max(0.0, launch_cost_s) / iteration_cost_s)))))


def tune(launch: Launch, observations: Sequence[Observation], compared: Observation, benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with as many iterations as a launch is worth, where the framework composes the command.

    The latency shows what an iteration costs, whatever is compared; where nothing does, their number stays.

    Args:
        launch: One of the benchmark, to tune the others to.
        observations: What it reported.
        compared: Which of that is compared.
        benchmark: As it was launched.
    """
    if benchmark.commands or not compared.samples:
        return benchmark
    limit = benchmark.time_limit_s
    shortened = benchmark.model_copy(
        update={
            "min_iterations": min(_FEWEST_SLOW, benchmark.min_iterations),
            "time_limit_s": None if limit is None else limit / benchmark.launches,
        }
    )
    timed = next(
        (observation for observation in observations if observation.name == LATENCY and observation.samples), compared
    )
    spent_s = convert(math.fsum(timed.samples), timed.unit, "s")
    if spent_s is None:
        return shortened
    latency_s = spent_s / len(timed.samples)
    iteration_s = paced_iteration_s(benchmark, latency_s)
    warmup = min(_WARMUP, benchmark.warmup) if benchmark.warmup >= 0 else _WARMUP
    beside_s = launch.wall_s - iteration_s * len(timed.samples) - warmup * latency_s
    return shortened.model_copy(
        update={
            "iterations": iterations_for(beside_s, iteration_s),
            "warmup": 1 if latency_s > _SLOW_S else warmup,
        }
    )


def _why_discarded(launch: Launch, side: str) -> str:
    if launch.outcome is Outcome.OK and launch.throttled:
        return DISCARDED_FOR_HEAT
    return f"the {side} of its pair has no numbers"
