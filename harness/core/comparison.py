"""Comparison of control and treatment: the pairs that were measured, and the verdict."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, NonNegativeFloat, PositiveFloat

from harness.core.build import BuildInfo
from harness.core.effect import Effect, effect_of
from harness.core.evaluation import OutputComparison
from harness.core.note import Note
from harness.core.order_statistics import median
from harness.core.values import Share, Value
from harness.core.verdict import OutputVerdict, Verdict

STATISTICS: Final = ("min", "p25", "median", "mean", "p90")
"""The five figures of a launch that evidence is gathered from, in this order everywhere: from its best to its worst."""

GAIN_STATISTICS: Final = ("max", "p75", "median", "mean", "p10")
"""The same of a metric whose larger values are better: each stands where its mirror stands in `STATISTICS`."""

ESTIMATED_STATISTIC: Final = STATISTICS.index("p25")
"""Place of the figure that stands for a launch where a single one has to: the better quartile, steadier than median and
mean, less extreme than the best."""

STATED_FIGURE: Final = "median"
"""Figure that a reader is shown of each side, where all figures share one difference."""


def tail_figure(statistic: str) -> str:
    """Return the name of a figure that shows the tail of a launch; empty for one that shows the typical iteration."""
    return statistic if statistic in {*STATISTICS[3:], *GAIN_STATISTICS[3:]} else ""


class Interleave(StrEnum):
    """What is interleaved in a pair, and how finely.

    Attributes:
        AUTO: A request only: what suits the benchmark and its device (`harness.running.interleaving`).
        LAUNCH: One launch after the other.
        PROCESS: Both programs alive at once, with batches of a few iterations in turn.
        DUET: Both programs at work at once on one CPU, which the kernel gives to each for milliseconds.
    """

    AUTO = "auto"
    LAUNCH = "launch"
    PROCESS = "process"
    DUET = "duet"


class Parameters(Value):
    """Parameters of a comparison. Stored with it, so that the verdict can be computed again.

    Attributes:
        alpha: Largest probability of a false regression, and of a false improvement.
        beta: Largest probability of calling a change of `margin` or more no change.
        margin: Relative change that `no change` rules out; a regression is any change for the worse that is proven.
        tail_margin: Relative change of p90 that still counts as no change.
        max_pairs: Budget in pairs.
        max_seconds: Budget of device time for each benchmark, seconds; None is no limit.
        precision: Keep measuring until the interval's half-width is below this size; None: stop at the verdict.
        gate: Only test for a regression; improvements are not distinguished from no change.
        fdr: Largest expected share of false ones among the reported regressions of many benchmarks, and among the
            reported improvements.
        seed: Of the coin that orders each pair.
        interleave: What is interleaved in a pair: `launch`, one program start after the other; `process`, both programs
            alive at once, with batches of a few iterations in turn; or `duet`, both at work at once on one CPU.
        output_tolerance: Difference between outputs that is rounding, relative to the largest magnitude of the
            control's output in the same example; None takes that of the specification, else that of the element type.
    """

    alpha: Share = 0.01
    beta: Share = 0.05
    margin: PositiveFloat = 0.01
    tail_margin: PositiveFloat = 0.05
    max_pairs: Annotated[int, Field(ge=1)] = 100
    max_seconds: PositiveFloat | None = None
    precision: PositiveFloat | None = None
    gate: bool = False
    fdr: Share = 0.05
    seed: int
    interleave: Interleave = Interleave.LAUNCH
    output_tolerance: NonNegativeFloat | None = None


class Pair(Value):
    """Two launches, back to back or interleaved, in an order that a coin decided.

    Attributes:
        index: 0-based; voided pairs keep their index.
        control_first: Whether the coin put the control first.
        control: The five statistics (`Comparison.statistics`) of the control's launch, in the metric's unit.
        treatment: Those of the treatment's launch.
        control_launch: Index of the control's launch among its launches; None when it belongs to an interrupted run,
            whose samples are not kept.
        treatment_launch: The same for the treatment's.
        seconds: Device time of both together.
        device: Name of the device that launched both, where those of a class share the pairs of a comparison; else
            empty.
    """

    index: int
    control_first: bool
    control: tuple[float, ...]
    treatment: tuple[float, ...]
    control_launch: int | None
    treatment_launch: int | None
    seconds: float
    device: str = ""

    def has_ratio(self, number: int) -> bool:
        """Return whether both sides have the statistic of a number, above 0."""
        return all(len(side) > number and side[number] > 0 for side in (self.control, self.treatment))


class Evidence(Value):
    """E-values after the last pair; 1 is no evidence, 100 rejects at the 1 % level.

    Attributes:
        regression: Against "not worse". It begins at 0.7: the rest is kept for one bet when the budget is spent.
        improvement: Against "not better"; the same.
        not_worse: Against "worse by the margin or more"; the largest so far.
        not_better: Against "better by the margin or more"; the largest so far.
        tail: Against "the worst tenth (p90; p10 where higher is better) worse by the tail margin or more"; the largest
            so far.
    """

    regression: float = 1.0
    improvement: float = 1.0
    not_worse: float = 1.0
    not_better: float = 1.0
    tail: float = 1.0


class OperatorMedians(Value):
    """Medians of the operators in the two launches of one pair, in microseconds.

    Attributes:
        pair: Index of the pair.
        control: The control's, by operator.
        treatment: The treatment's.
    """

    pair: int
    control: dict[str, float] = {}
    treatment: dict[str, float] = {}


class OperatorComparison(Value):
    """One operator of control and treatment, decided by the pairs in which both had it.

    Attributes:
        name: Name of the operator.
        unit: Unit of its medians.
        pairs: Indices of the pairs it is based on; where one side lacks it, of those in which the other had it.
        control: The control's median in each of them; empty where only the treatment has the operator.
        treatment: The treatment's; empty where only the control has it.
        difference: Relative difference of treatment to control; None without both.
        low: Lower end of its 95 % interval, valid at any stopping time; None where nothing is excluded.
        high: Upper end.
        evidence: The e-values behind the verdict; operators have no tail.
        verdict: Verdict of its own pairs.
        discovered: Whether a change for the worse (or better) survives the control of false discoveries over all
            operators of the benchmark.
    """

    name: str
    unit: str = "us"
    pairs: tuple[int, ...] = ()
    control: tuple[float, ...] = ()
    treatment: tuple[float, ...] = ()
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    evidence: Evidence = Evidence()
    verdict: Verdict = Verdict.UNDECIDED
    discovered: bool = False

    @property
    def is_shared(self) -> bool:
        """Return whether both sides have the operator."""
        return bool(self.control and self.treatment)

    @property
    def effect(self) -> Effect | None:
        """Return the difference with its interval as log ratios; None without both sides."""
        return None if self.difference is None else effect_of(self.difference, self.low, self.high)

    @property
    def typical_control(self) -> float:
        """Return the median of the control's medians; 0 where the control lacks the operator."""
        return median(self.control) if self.control else 0.0

    @property
    def typical_treatment(self) -> float:
        """Return the median of the treatment's medians; 0 where the treatment lacks the operator."""
        return median(self.treatment) if self.treatment else 0.0

    @property
    def added(self) -> float:
        """Return what the treatment adds to the control's time, in the operator's unit."""
        if self.is_shared:
            return (self.difference or 0.0) * self.typical_control
        return self.typical_treatment - self.typical_control


class ExactDifference(Value):
    """Exact comparison of a deterministic metric.

    Attributes:
        metric: Its name, for example `program size` or `delegated operators`.
        unit: Its unit.
        control: The control's value.
        treatment: The treatment's value.
        verdict: By its direction; equal values are no change.
    """

    metric: str
    unit: str
    control: float
    treatment: float
    verdict: Verdict


class Comparison(Value):
    """Comparison of one benchmark on one device. It is part of the treatment's result.

    Attributes:
        control: The build that the treatment was compared with.
        metric: Name of the metric that was compared, for example `NET latency`.
        unit: Its unit.
        higher_is_better: Whether larger values are better.
        statistics: Names of the figures of each pair: `STATISTICS`, or `GAIN_STATISTICS` where higher is better.
        parameters: How it was decided.
        pairs: Every valid pair, in measured order.
        voided: Number of pairs that were discarded because a launch failed.
        verdict: Verdict of the pairs.
        reason: Why it is undecided, or what made the verdict.
        difference: Relative difference of treatment to control, 0.02 is 2 % more; positive is worse only where lower is
            better. Within its interval. None without pairs.
        low: Lower end of its 95 % interval, valid at any stopping time; None where nothing is excluded.
        high: Upper end.
        figure: Name of the statistic that changed most, where not all share one difference: then difference and
            interval describe the largest change. Empty where they describe all.
        evidence: The e-values behind the verdict.
        identical: Whether both runners are the same bytes; then nothing was measured.
        discovered: Whether the regression or improvement survives the control of false discoveries over all benchmarks.
        seconds: Device time spent.
        exact: Deterministic metrics.
        operators: The operators, in order of execution, where they were timed on both sides.
        notes: Notes for a reader.
        flags: Flags of the command that measures it again, beside those of the sides and of the parameters.
        outputs: Whether both sides compute the same; None in comparisons of a harness that did not look.
    """

    control: BuildInfo
    metric: str
    unit: str = ""
    higher_is_better: bool = False
    statistics: tuple[str, ...] = STATISTICS
    parameters: Parameters
    pairs: tuple[Pair, ...] = ()
    voided: int = 0
    verdict: Verdict
    reason: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    figure: str = ""
    evidence: Evidence = Evidence()
    identical: bool = False
    discovered: bool = True
    seconds: float = 0.0
    exact: tuple[ExactDifference, ...] = ()
    operators: tuple[OperatorComparison, ...] = ()
    notes: tuple[Note, ...] = ()
    flags: tuple[str, ...] = ()
    outputs: OutputComparison | None = None

    @property
    def complete_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs that have a ratio of every statistic."""
        return tuple(pair for pair in self.pairs if all(map(pair.has_ratio, range(len(STATISTICS)))))

    @property
    def stated_figure(self) -> str:
        """Return the statistic that both sides are shown by: that which changed most, or the median."""
        return self.figure or STATED_FIGURE

    @property
    def typical_control(self) -> float | None:
        """Return the stated figure of the control, the median over its launches, in `unit`; None without pairs."""
        pairs = self.complete_pairs
        if not pairs or self.stated_figure not in self.statistics:
            return None
        number = self.statistics.index(self.stated_figure)
        return median([pair.control[number] for pair in pairs])

    @property
    def typical_treatment(self) -> float | None:
        """Return what the difference makes of the control's figure, in `unit`; None without a difference.

        The raw medians of both sides differ by whatever the machine did between the pairs.
        """
        control = self.typical_control
        return None if control is None or self.difference is None else control * (1 + self.difference)

    @property
    def is_exact(self) -> bool:
        """True if counts that never varied were compared exactly: then the interval is the difference itself."""
        return self.low is not None and self.low == self.high

    @property
    def is_undiscovered(self) -> bool:
        """True if its own pairs show a change that is not significant among all benchmarks."""
        return self.verdict.is_change and not self.discovered

    @property
    def has_different_outputs(self) -> bool:
        """True if the treatment computes something else than the control from the same inputs."""
        return self.outputs is not None and self.outputs.verdict is OutputVerdict.DIFFERENT

    @property
    def is_withheld_improvement(self) -> bool:
        """True if the treatment is faster, and computes something else: that is no improvement."""
        return self.verdict is Verdict.IMPROVEMENT and self.has_different_outputs

    @property
    def effective_verdict(self) -> Verdict:
        """Return the verdict that counts.

        Undecided are a change that does not survive among many benchmarks, and an improvement whose outputs are
        different. A regression stays one whatever it computes.
        """
        return Verdict.UNDECIDED if self.is_undiscovered or self.is_withheld_improvement else self.verdict

    @property
    def verdict_words(self) -> str:
        """Return the verdict that counts, in words."""
        return self.effective_verdict.name_after(gate=self.parameters.gate and not self.identical)

    def contributions(self) -> tuple[tuple[OperatorComparison, float], ...]:
        """Return the operators that changed, each with its contribution, the largest first.

        They are the discovered ones and those that only one side has. The contribution of an operator is the time that
        it adds, as a share of the time of all operators of the control: 0.02 is 2 %.
        """
        total = sum(operator.typical_control for operator in self.operators)
        changed = [operator for operator in self.operators if operator.discovered or not operator.is_shared]
        shares = [(operator, operator.added / total) for operator in changed if operator.pairs and total]
        return tuple(sorted(shares, key=lambda share: -abs(share[1])))

    @property
    def effect(self) -> Effect | None:
        """Return the difference with its interval as log ratios; None without pairs."""
        return None if self.difference is None else effect_of(self.difference, self.low, self.high)
