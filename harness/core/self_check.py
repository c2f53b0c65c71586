"""Self-check of a device: what was learnt from comparing equal programs, as stored for `harness doctor`."""

from typing import Final

from harness.core.values import Value
from harness.core.verdict import Verdict

SCHEMA_VERSION: Final = 2
"""Version of `SelfCheck`. Files of version 1 say none: they hold `time` and `verdicts` alone."""


class Rate(Value):
    """Count among trials, with an exact interval of the probability behind it.

    Attributes:
        count: How often it happened.
        trials: Number of trials.
        low: Lower end of the 95 % interval.
        high: Upper end.
    """

    count: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Count per trial; 0 without trials."""
        return self.count / self.trials if self.trials else 0.0


class VerdictCost(Value):
    """Cost of a verdict.

    Attributes:
        change: Relative change that was imposed; 0 is none.
        verdict: The verdict that is right.
        rate: How often it was reached within the budget.
        pairs: Pairs until the end of the comparison, in the median.
        seconds: Device time of as many pairs.
    """

    change: float
    verdict: Verdict
    rate: Rate
    pairs: float
    seconds: float


class BenchmarkCheck(Value):
    """Self-check of one benchmark.

    Attributes:
        title: The benchmark.
        digest: Its digest.
        metric: The metric that was compared.
        pairs: Pairs of equal builds that were recorded.
        seconds: Device time of them.
        budget: Pairs of the comparisons that the figures below are about.
        spread: Robust standard deviation of the log ratios of the lower quartile.
        slot_effect: Second launch of a pair against the first, whichever side it is: 0.01 is 1 % slower.
        verdict: Verdict of all pairs together.
        evidence: Largest e-value of all pairs together for a difference in either direction.
        told_apart: Comparisons that found a difference, of the recorded pairs, one after the other.
        relabelled: The same of resampled pairs whose sides were tossed again.
        detectable: Smallest change that is found in such a share of comparisons, by share (`0.8`, `0.9`, `0.95`);
            None where even the largest that was tried is not.
        confirmed: How often the one of the share 0.9 was found in other samples.
        clock_step: Relative step of the clock, below which no change is shown; None where it cannot be seen.
        costs: What verdicts cost.
    """

    title: str
    digest: str
    metric: str
    pairs: int
    seconds: float
    budget: int
    spread: float
    slot_effect: float
    verdict: Verdict
    evidence: float
    told_apart: Rate
    relabelled: Rate | None = None
    detectable: dict[str, float | None] = {}
    confirmed: Rate | None = None
    clock_step: float | None = None
    costs: tuple[VerdictCost, ...] = ()

    @property
    def smallest_change(self) -> float | None:
        """Smallest change that nine of ten comparisons find; None where it is not known."""
        return self.detectable.get("0.9")


class Disturbance(Value):
    """Something that disturbs measurements.

    Attributes:
        kind: Stable word: `neighbours`, `steal`, `frequency`, `heat`, `order`, `drift`.
        size: Relative size, by which disturbances are ordered: 0.2 is 20 %.
        message: What was seen, in a sentence.
        remedy: What to do about it.
    """

    kind: str
    size: float
    message: str
    remedy: str


class Sensitivity(Value):
    """What comparisons on a device can show.

    Attributes:
        time: Unix seconds.
        wall_s: Duration, export and build included.
        harness_version: Version of the harness.
        specification: Names of the specifications.
        benchmarks: What was checked.
        disturbances: What disturbs, in order of its size.
        failures: Benchmarks without numbers, with the reason.
    """

    time: float
    wall_s: float
    harness_version: str
    specification: str
    benchmarks: tuple[BenchmarkCheck, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    failures: tuple[str, ...] = ()


class SelfCheck(Value):
    """Stored self-check of one device.

    Attributes:
        schema_version: Version of this format.
        time: Unix seconds of the verdicts.
        verdicts: Count of each verdict of `harness compare --self-check`, or of `harness self-check`.
        device: Name of the device.
        identity: Identity of the device.
        sensitivity: The last result of `harness self-check`; None where there was none.
    """

    schema_version: int = 1
    time: float
    verdicts: dict[Verdict, int]
    device: str = ""
    identity: str = ""
    sensitivity: Sensitivity | None = None
