"""Pairs of launches: control and treatment together, in an order that a recorded coin decides.

The coin, and no assumption about noise, is what makes a comparison's verdict exact: given everything that happened
before, it alone decides which build meets which moment of the machine. A fixed order (control first, ABAB, ABBA) always
has a disturbance that beats it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, Protocol, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from harness.core.benchmark import Benchmark
from harness.core.comparison import OperatorMedians, Pair
from harness.core.errors import BenchmarkFailed, DeviceLost
from harness.core.metric import NO_NUMBER_HINT, PROMPT_METRICS, Observation, is_counted
from harness.core.note import Note
from harness.core.result import DISCARDED_FOR_HEAT, Launch, Outcome
from harness.running.comparability import DiscardedPairs, layout_notes, unequal_samples, unused_samples
from harness.running.compared_metric import ComparedMetric
from harness.running.derived_metrics import operator_medians, sum_by_kind
from harness.running.failures import TooManyFailures
from harness.running.huge_pages import note_huge_pages
from harness.running.interleaving import Interleaving
from harness.running.launcher import Launcher, ObservedLaunch
from harness.running.metered import TOO_SHORT, lengthen
from harness.running.padding import padding_length
from harness.running.retry import RetryPolicy
from harness.running.tuning import prompts_before, shorten_first_launch, tune

_FEWEST_FAILURES: Final = 3
_FAILING_SHARE: Final = 0.2
"""A launch that fails now and then costs its pair; a side that fails in a fifth of its launches is the finding."""

_MOST_THROTTLED: Final = 20
"""Pairs in a row. Heat is no fault of a build, and passes; a device that stays hot cannot be measured on."""


AnyReturn = TypeVar("AnyReturn")


class Statistics(Protocol):
    """Function that computes the statistics of a launch (`harness.core.comparison.STATISTICS`) from its samples."""

    def __call__(self, samples: Sequence[float], *, higher_is_better: bool) -> tuple[float, ...]:
        """Return the statistics, in the unit of the samples."""


class MeasuredPair(Struct, frozen=True):
    """Outcome of one toss of the coin.

    Attributes:
        index: Number of the toss.
        pair: The figures of both launches; None where one of them failed, so that the pair was discarded.
        operators: The medians of their operators, where they are timed.
        further: The figures of further metrics, by their names.
    """

    index: int
    pair: Pair | None = None
    operators: OperatorMedians | None = None
    further: Mapping[str, Pair] = field(default_factory=dict)


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
        further: Further metrics to compare by the same launches.
        by_token: Which metrics are compared token by token, when earlier pairs are known.
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
        further: Sequence[ComparedMetric] = (),
        by_token: Collection[str] | None = None,
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
        self._further = tuple(further)
        self._by_token = by_token
        self._benchmark = shorten_first_launch(control.job.benchmark)
        if self._benchmark.generation is not None:
            for launcher in self._launchers.values():
                launcher.use_huge_pages()
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
    def further(self) -> Sequence[ComparedMetric]:
        """The further metrics that are compared, as far as they are known."""
        return self._further

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
        tuned, reported = self._benchmark, list[Sequence[Observation]]()
        for side, launcher in self._launchers.items():
            launcher.begin()
            launch, observations = self._warm_up_for_meter(launcher)
            self._overhead_s += launch.wall_s
            if launch.outcome is not Outcome.OK:
                raise BenchmarkFailed(f"the {side} cannot be measured: {launch.reason}")
            observation = _find_compared(side, self._metric, observations)
            launcher.discard("it warmed up")
            reported.append(observations)
            if side == "control":
                self._metric = self._metric.choose_metric(observation)
                self._further = tuple(_choose_further(self._further, self._metric, observations))
            for metric in (self._metric, *self._further):
                _check_unit(side, metric, _find_compared(side, metric, observations))
            if not self._benchmark.is_about_energy:
                tuned = tune(launch, observations, observation, launcher.job.benchmark)
        self._metric, *further = (self._choose_figures(metric, reported) for metric in (self._metric, *self._further))
        self._further = tuple(further)
        if any(metric.name in PROMPT_METRICS for metric in (self._metric, *self._further)):
            self._interleaving.repeat_prompts(min(prompts_before(each, self._benchmark) for each in reported))
        if not self._benchmark.is_about_energy:
            self._benchmark = tuned

    def run_before_pairs(self, action: Callable[[Benchmark], AnyReturn]) -> AnyReturn:
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
        pair, *further = (
            Pair(
                index=index,
                control_first=control_first,
                control=sides["control"],
                treatment=sides["treatment"],
                control_launch=launches["control"].launch.index,
                treatment_launch=launches["treatment"].launch.index,
                seconds=made.seconds,
            )
            for sides in figures
        )
        names = (metric.name or "" for metric in self._further)
        measured = MeasuredPair(index, pair, further=dict(zip(names, further, strict=True)))
        if not self._benchmark.operators:
            return measured
        medians = {side: operator_medians(launch.observations) for side, launch in launches.items()}
        if self._benchmark.generation is not None:  # of whose thousands of operators pairs could prove none
            medians = {side: sum_by_kind(of_side) for side, of_side in medians.items()}
        operators = OperatorMedians(pair=index, control=medians["control"], treatment=medians["treatment"])
        return replace(measured, operators=operators)

    def end(self) -> None:
        """Run the model's own steps after the last launch, and note what a reader must know of those before.

        Raises:
            BenchmarkFailed: A step failed.
        """
        samples = self._unequal_samples or self._unused_samples
        treatment = self._launchers["treatment"]
        is_generation = self._benchmark.generation is not None
        pages = note_huge_pages(self._benchmark, treatment.session.device) if is_generation else ()
        for note in (*self._discarded.notes(self._tried), *self._layout_notes, samples, *pages):
            if note is not None:
                treatment.note(note)
        for launcher in self._launchers.values():
            launcher.end()

    def _choose_figures(self, metric: ComparedMetric, reported: Sequence[Sequence[Observation]]) -> ComparedMetric:
        """Return a metric with the figures that both sides can give, or with those of earlier pairs."""
        if self._by_token is None:
            return metric.choose_figures(reported)
        return replace(metric, is_by_token=metric.name in self._by_token)

    def _pad_environments(self, index: int) -> None:
        """Move the stack of either launch, unless all metrics are counted: a place costs time, and changes no count."""
        if all(is_counted(metric.name or "", metric.unit) for metric in (self._metric, *self._further)):
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
    ) -> Sequence[Mapping[str, tuple[float, ...]]] | None:
        """Return the figures of each metric by side; None, and the pair is discarded, where a launch does not count."""
        by_outcome = sorted(launches.items(), key=lambda item: item[1].launch.outcome is Outcome.OK)
        figures: list[Mapping[str, tuple[float, ...]]] = []
        for metric in (self._metric, *self._further):
            samples: dict[str, tuple[float, ...]] = {}
            for side, launch in by_outcome:
                values = metric.values(launch.observations) if launch.counts else None
                if values is None:
                    for started in launches:
                        self._launchers[started].discard(_why_discarded(launch.launch, side))
                    self._overhead_s += seconds
                    self._discard(side, launch, metric)
                    return None
                samples[side] = values
            # The best and the worst tenth of more samples lie further out, and iterations of a launch get faster or
            # slower: only the same iterations of two equal builds are exchangeable, which makes the coin exact.
            fewest = min(map(len, samples.values()))
            figures.append(
                {
                    side: self._statistics(values[:fewest], higher_is_better=metric.higher_is_better)
                    for side, values in samples.items()
                }
            )
        return figures

    def _compare_launches(self, control: ObservedLaunch, treatment: ObservedLaunch) -> None:
        """Look for signs that the launches of a pair are unlike; unequal samples in any pair count."""
        device = self._launchers["control"].session.device
        self._layout_notes = layout_notes(control.launch, treatment.launch, device)
        for metric in (self._metric, *self._further):
            before, after = (len(metric.values(launch.observations) or ()) for launch in (control, treatment))
            name = (metric.name or "") if self._further else ""
            self._unequal_samples = self._unequal_samples or unequal_samples(before, after, name)
            self._unused_samples = self._unused_samples or unused_samples(before, after, name)

    def _discard_cut_short(self, counts: Mapping[str, int]) -> None:
        """Discard a pair that a lost device cut short."""
        self._discarded.add_cut_short()
        for side, launcher in self._launchers.items():
            if launcher.launches > counts[side]:
                launcher.discard("the device went away during its pair")

    def _discard(self, side: str, observed: ObservedLaunch, metric: ComparedMetric) -> None:
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
            reason = metric.explain_missing(observed.observations)
            raise TooManyFailures(side, launch, reason, failed=failed, launches=self._tried)


def _choose_further(
    further: Sequence[ComparedMetric], compared: ComparedMetric, observations: Sequence[Observation]
) -> Iterator[ComparedMetric]:
    """Yield the further metrics as the control's first launch reports them; optional ones only where it does."""
    for metric in further:
        observation = metric.find(observations)
        if metric.name == compared.name or (observation is None and metric.is_optional):
            continue
        yield metric.choose_metric(observation or _find_compared("control", metric, observations))


def _find_compared(side: str, metric: ComparedMetric, observations: Sequence[Observation]) -> Observation:
    """Return a metric from the observations of the first launch of a side.

    Raises:
        BenchmarkFailed: It is not among them.
    """
    if (observation := metric.find(observations)) is None:
        sampled = dict.fromkeys(each.name for each in observations if each.samples)
        wanted = f"no samples of {metric.name}" if metric.name else "no samples of any metric"
        hint = f"it reports {', '.join(sampled)}: --metric names what to compare" if sampled else NO_NUMBER_HINT
        raise BenchmarkFailed(f"the {side} reports {wanted}", hint=hint)
    return observation


def _check_unit(side: str, metric: ComparedMetric, observation: Observation) -> None:
    """Raise `BenchmarkFailed` if a side reports a metric in a unit that does not convert to the control's."""
    if (mismatch := metric.explain_unit(observation)) is not None:
        raise BenchmarkFailed(f"the {side} cannot be compared: {mismatch}", hint="let both report one unit")


def _why_discarded(launch: Launch, side: str) -> str:
    if launch.outcome is Outcome.OK and launch.throttled:
        return DISCARDED_FOR_HEAT
    return f"the {side} of its pair has no numbers"
