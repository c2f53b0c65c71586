"""Series of commits: one point for each comparison of a commit with its control, of any metric."""

from pydantic import NonNegativeInt, PositiveFloat

from harness.core.comparison import ESTIMATED_STATISTIC, STATISTICS
from harness.core.effect import Effect
from harness.core.metric import MetricInfo
from harness.core.values import Value
from harness.core.verdict import OutputVerdict, Verdict


class SeriesKey(Value):
    """Identity of a series.

    Attributes:
        benchmark: Digest of the benchmark's definition, or another name that is the same for the same benchmark.
        device: Identity of the device.
        metric: Name of the metric, for example `NET latency`; empty while nothing was measured.
    """

    benchmark: str
    device: str
    metric: str


class FigureEffect(Value):
    """Difference of a commit from its control in one of the five figures of a launch.

    Attributes:
        log_ratio: ln(commit / control): the median of the pairs.
        standard_error: Its standard error; None where nothing was measured.
    """

    log_ratio: float
    standard_error: PositiveFloat | None = None


class SeriesPoint(Value):
    """One comparison of a commit with its control. A commit that is measured again has another point.

    Attributes:
        benchmark: Digest of the benchmark's definition.
        title: Name of the benchmark, for example `mv2/mv2-xnnpack_q8`.
        device: Identity of the device.
        metric: What was compared; None where nothing was measured, because the programs are the same bytes: such a
            point is in every series of its benchmark and device.
        commit: Id of the commit.
        order: Its place in the history; commits that were left out or did not build leave gaps.
        control: Id of the commit that it was compared with.
        control_order: Its place in the history; None where it is older than everything in the series.
        verdict: Verdict of the comparison.
        effect: The commit against its control; None where there is no number.
        standard_error: Standard error of the better quartile; None where nothing was measured.
        pairs: How many pairs it comes from.
        result: Identity of the result.
        figures: The difference in each of the five figures (`harness.core.comparison.STATISTICS`); empty in a point of
            an earlier harness, which kept the better quartile alone, as `effect`.
        outputs: Whether the commit computes the same as its control; None where nobody looked.
        last_good_checks: When the last good checks of the devices of a lab ended that it comes from, Unix seconds, by
            identity. Where one of them turns out bad, the point is in doubt (`harness.core.device_doubt`).
        doubt: Why it is in doubt, and counts in no series; empty where it is not.
    """

    benchmark: str
    title: str
    device: str
    metric: MetricInfo | None
    commit: str
    order: int
    control: str
    control_order: int | None
    verdict: Verdict = Verdict.UNDECIDED
    effect: Effect | None = None
    standard_error: PositiveFloat | None = None
    pairs: NonNegativeInt = 0
    result: str = ""
    figures: tuple[FigureEffect, ...] = ()
    outputs: OutputVerdict | None = None
    last_good_checks: dict[str, tuple[float, ...]] = {}
    doubt: str = ""

    @property
    def has_different_outputs(self) -> bool:
        """True if the commit computes something else than its control from the same inputs."""
        return self.outputs is OutputVerdict.DIFFERENT

    @property
    def figure_effects(self) -> tuple[FigureEffect | None, ...]:
        """Return the difference in each of the five figures; None for those that are not known."""
        if self.figures or self.effect is None:
            return self.figures or (None,) * len(STATISTICS)
        known = FigureEffect(log_ratio=self.effect.log_ratio, standard_error=self.standard_error)
        is_same = self.metric is None
        return tuple(known if is_same or place == ESTIMATED_STATISTIC else None for place in range(len(STATISTICS)))


class Series(Value):
    """The points of one metric of one benchmark on one device.

    Attributes:
        key: Identity of the series.
        points: In the order of the history; those of a commit that was measured again in the order of measurement.
    """

    key: SeriesKey
    points: tuple[SeriesPoint, ...] = ()

    @property
    def metric(self) -> MetricInfo | None:
        """Return the metric, as the newest point that was measured has it; None while none was."""
        return next((point.metric for point in reversed(self.points) if point.metric is not None), None)

    @property
    def title(self) -> str:
        """Return the name of the benchmark, as the newest point has it."""
        return self.points[-1].title if self.points else self.key.benchmark
