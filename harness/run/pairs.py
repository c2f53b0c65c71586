"""Pairs of launches: control and treatment together, in an order that a recorded coin decides.

The coin, and no assumption about noise, is what makes a comparison's verdict exact: given everything that happened
before, it alone decides which build meets which moment of the machine. A fixed order (control first, ABAB, ABBA) always
has a disturbance that beats it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from harness.core.comparison import OperatorMedians, Pair
from harness.core.errors import BenchmarkFailed, DeviceLost
from harness.core.metric import LATENCY, Observation, convert
from harness.core.note import Note
from harness.core.result import Launch, Outcome
from harness.run.attrition import DiscardedPairs
from harness.run.comparability import unequal_paths, uneven
from harness.run.interleaving import Interleaving
from harness.run.launcher import Launcher, ObservedLaunch
from harness.run.operators import operator_medians
from harness.run.retry import THROTTLED, RetryPolicy
from harness.run.tuning import tuned_to

_FEWEST_FAILURES = 3
_FAILING_SHARE = 0.2
"""A launch that fails now and then voids its pair; a side that fails in a fifth of its launches is the finding."""
_HOT_IN_A_ROW = 20
"""Heat is no fault of a build, and passes; a device that stays hot cannot be measured on."""

Statistics = Callable[[Sequence[float]], tuple[float, ...]]


class TooManyFailures(BenchmarkFailed):
    """Launches of one side fail too often: there is nothing to compare."""

    def __init__(self, side: str, launch: Launch, unusable: str, *, failed: int, of: int) -> None:
        reason = launch.reason or unusable
        super().__init__(f"the {side} failed in {failed} of {of} launches: {reason}")
        self.outcome = Outcome.FAILED if launch.outcome is Outcome.OK else launch.outcome


def control_goes_first(seed: int, key: str, index: int) -> bool:
    """The coin of one pair: the same for the same seed, benchmark and device, whoever asks and whenever.

    A resumed comparison tosses what an uninterrupted one would have tossed.
    """
    return hashlib.sha256(f"{seed}:{key}:{index}".encode()).digest()[0] % 2 == 0


class PairedLaunches:
    """Control and treatment of one benchmark on one device, pair by pair.

    Args:
        control: The launcher of the control.
        treatment: The launcher of the treatment; it differs in its build alone.
        seed: Of the coin.
        key: Benchmark and device, so that each comparison has a coin of its own.
        statistics: The figures of a launch (`harness.core.comparison.STATISTICS`) from its samples.
        interleaving: How a pair is measured.
        metric: Name of the metric to compare; None takes the latency, else the first that has samples.
        first: Index of the first pair, when earlier ones are known.
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
        first: int = 0,
    ) -> None:
        self._launchers = {"control": control, "treatment": treatment}
        self._retry = RetryPolicy([control, treatment])
        self._seed = seed
        self._key = key
        self._statistics = statistics
        self.interleaving = interleaving
        self.next_index = first
        self._first = first
        self._failed: Counter[str] = Counter()
        self._hot_in_a_row = 0
        self._launch_as = control.job.benchmark
        self.metric = metric
        self.unit = ""
        self.voided = 0
        self._voids = DiscardedPairs()
        self.lost_s = 0.0
        """Device time of launches that are part of no pair: of warming up, and of voided pairs."""
        self._unequal: tuple[Note, ...] = ()
        self._uneven: Note | None = None
        self.operators: OperatorMedians | None = None
        """Of the last pair, where they are timed."""

    def begin(self) -> None:
        """One launch of each side that does not count: it warms caches, and tells what a launch costs.

        Raises:
            BenchmarkFailed: A side cannot be launched, or reports nothing to compare.
        """
        for side, launcher in self._launchers.items():
            launcher.begin()
            launch, observations = self._alone(launcher)
            self.lost_s += launch.wall_s
            if launch.outcome is not Outcome.OK:
                raise BenchmarkFailed(f"the {side} cannot be measured: {launch.reason}")
            chosen = self._chosen(observations)
            if chosen is None:
                wanted = f"no samples of {self.metric}" if self.metric else "no samples of any metric"
                raise BenchmarkFailed(f"the {side} reports {wanted}", hint="--metric names what to compare")
            launcher.discard("it warmed up")
            self.metric = chosen.name
            if launcher is self._launchers["control"]:
                self.unit = self.unit or chosen.unit
            if (other := self._other_unit(chosen)) is not None:
                raise BenchmarkFailed(f"the {side} cannot be compared: {other}", hint="let both sides tell one unit")
            tuned = tuned_to(launch, observations, chosen, launcher.job.benchmark)
        self._launch_as = tuned

    @property
    def doubt(self) -> Note | None:
        """Why the pairs may not speak for all that a side did; None where they do."""
        return self._voids.doubt(self.next_index - self._first) or self._uneven

    def _alone(self, launcher: Launcher) -> ObservedLaunch:
        while True:
            try:
                return self.interleaving.alone(launcher, self._launch_as)
            except DeviceLost as loss:
                self._retry.after(loss)

    def next_pair(self) -> Pair | None:
        """The next pair, or None when one of its launches failed; the coin is tossed anew for the one after it.

        Raises:
            TooManyFailures: One side keeps failing.
            DeviceLost: The device went away for good.
        """
        index, self.next_index = self.next_index, self.next_index + 1
        control_first = control_goes_first(self._seed, self._key, index)
        first, second = ("control", "treatment") if control_first else ("treatment", "control")
        made = {side: launcher.launches for side, launcher in self._launchers.items()}
        try:
            measured = self.interleaving.pair(self._launchers[first], self._launchers[second], self._launch_as)
        except DeviceLost as loss:
            self._retry.after(loss)
            self._forget_since(made)
            return None
        seen = dict(zip((first, second), measured.seen, strict=False))
        figures: dict[str, tuple[float, ...]] = {}
        for side, one in sorted(seen.items(), key=lambda item: item[1].launch.outcome is Outcome.OK):
            found = self._figures(one.observations) if one.counts else None
            if found is None:
                for started in seen:
                    self._launchers[started].discard(_why(one.launch, side))
                self.lost_s += measured.seconds
                self._void(side, one)
                return None
            figures[side] = found
        self._hot_in_a_row = 0
        self._unequal = unequal_paths(seen["control"].launch, seen["treatment"].launch)
        counts = {side: len(self._samples(one.observations)) for side, one in seen.items()}
        self._uneven = self._uneven or uneven(counts["control"], counts["treatment"])
        if self._launch_as.operators:
            medians = {side: operator_medians(one.observations) for side, one in seen.items()}
            self.operators = OperatorMedians(pair=index, control=medians["control"], treatment=medians["treatment"])
        return Pair(
            index=index,
            control_first=control_first,
            control=figures["control"],
            treatment=figures["treatment"],
            control_launch=seen["control"].launch.index,
            treatment_launch=seen["treatment"].launch.index,
            seconds=measured.seconds,
        )

    def end(self) -> None:
        """The model's own steps after the last launch; and what a reader must know of those before.

        Raises:
            BenchmarkFailed: One of them failed.
        """
        uneven = (self._uneven,) if self._uneven else ()
        for note in (*self._voids.notes(self.next_index - self._first), *self._unequal, *uneven):
            self._launchers["treatment"].note(note)
        for launcher in self._launchers.values():
            launcher.end()

    def _forget_since(self, made: Mapping[str, int]) -> None:
        """Void a pair that a lost device cut short."""
        self.voided += 1
        for side, launcher in self._launchers.items():
            if launcher.launches > made[side]:
                launcher.discard("the device went away during its pair")

    def _void(self, side: str, seen: ObservedLaunch) -> None:
        launch = seen.launch
        self.voided += 1
        self._voids.add(side, launch)
        if launch.outcome is Outcome.OK and launch.throttled:
            self._hot_in_a_row += 1
            if self._hot_in_a_row >= _HOT_IN_A_ROW:
                raise BenchmarkFailed(
                    f"the device lowered its clock because of heat in {_HOT_IN_A_ROW} pairs in a row",
                    hint="let it cool down, and give it pauses with `cooldown`",
                )
            return
        self._failed[side] += 1
        failed, launches = self._failed[side], self.next_index - self._first
        if failed >= _FEWEST_FAILURES and failed > _FAILING_SHARE * launches:
            raise TooManyFailures(side, launch, self._unusable(seen.observations), failed=failed, of=launches)

    def _chosen(self, observations: Sequence[Observation]) -> Observation | None:
        """The metric to compare, in what one launch said."""
        sampled = [one for one in observations if values(one) and (self.metric is None or one.name == self.metric)]
        return next((one for one in sampled if one.name == LATENCY), sampled[0] if sampled else None)

    def _unusable(self, observations: Sequence[Observation]) -> str:
        """Why nothing that a launch said can be compared."""
        chosen = self._chosen(observations)
        if chosen is None:
            return f"it told no samples of {self.metric}"
        return (
            self._other_unit(chosen) or f"it told {min(values(chosen)):g} {chosen.unit}, and no ratio is taken of that"
        )

    def _other_unit(self, chosen: Observation) -> str | None:
        """That a unit does not convert to that of the control; None where it does."""
        if convert(1.0, chosen.unit, self.unit) is not None:
            return None
        told, wanted = (unit or "no unit" for unit in (chosen.unit, self.unit))
        return f"it tells {chosen.name} in {told}, and the control in {wanted}"

    def _samples(self, observations: Sequence[Observation]) -> tuple[float, ...]:
        chosen = self._chosen(observations)
        return values(chosen) if chosen is not None else ()

    def _figures(self, observations: Sequence[Observation]) -> tuple[float, ...] | None:
        """The statistics of one launch in the unit of the first; None where it said nothing that can be compared."""
        chosen = self._chosen(observations)
        if chosen is None:
            return None
        factor = convert(1.0, chosen.unit, self.unit)
        if factor is None or min(values(chosen)) <= 0:
            return None
        return self._statistics([value * factor for value in values(chosen)])


def values(observation: Observation) -> tuple[float, ...]:
    """What a launch says of a metric; of a runner that tells no samples, the figure that stands for them."""
    summary = observation.summary or {}
    stands = next((summary[name] for name in ("p50", "median", "mean") if name in summary), None)
    return observation.samples or (() if stands is None else (stands,))


def _why(launch: Launch, side: str) -> str:
    return THROTTLED if launch.outcome is Outcome.OK and launch.throttled else f"the {side} of its pair has no numbers"
