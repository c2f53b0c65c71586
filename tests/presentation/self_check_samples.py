"""Self-checks for tests."""

from __future__ import annotations

from harness.core.self_check import BenchmarkCheck, Disturbance, Rate, Sensitivity, VerdictCost
from harness.core.verdict import Verdict

CHECK = BenchmarkCheck(
    title="mv2/q8",
    digest="d",
    metric="NET latency",
    pairs=400,
    seconds=60.0,
    budget=100,
    spread=0.013,
    slot_effect=0.001,
    verdict=Verdict.NO_CHANGE,
    evidence=1.5,
    told_apart=Rate(count=0, trials=12, low=0.0, high=0.265),
    relabelled=Rate(count=4, trials=200, low=0.005, high=0.05),
    detectable={"0.8": 0.0076, "0.9": 0.0084, "0.95": 0.0092},
    costs=(
        VerdictCost(
            change=0.0,
            verdict=Verdict.NO_CHANGE,
            rate=Rate(count=186, trials=200, low=0.88, high=0.96),
            pairs=26,
            seconds=3.9,
        ),
    ),
)


def sensitivity_of(*checks: BenchmarkCheck, disturbances: tuple[Disturbance, ...] = ()) -> Sensitivity:
    """Return the sensitivity of a device on which these were checked."""
    return Sensitivity(
        time=1_760_000_000.0,
        wall_s=290.0,
        harness_version="1.0",
        specification="mv2.json",
        benchmarks=checks,
        disturbances=disturbances,
    )
