from __future__ import annotations

import math

import pytest

from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, OperatorComparison, Parameters
from harness.core.verdict import Verdict

BUILD = BuildInfo(source="none", commit="a", digest="a")


def comparison(**fields: object) -> Comparison:
    """Return a comparison without pairs."""
    given = {
        "control": BUILD,
        "metric": "NET latency",
        "parameters": Parameters(seed=1),
        "verdict": Verdict.UNDECIDED,
    }
    return Comparison.model_validate({**given, **fields})


def test_effect_has_the_difference_and_interval_as_log_ratios() -> None:
    effect = comparison(difference=0.02, low=0.01).effect
    assert effect is not None
    assert (effect.log_ratio, effect.low_log_ratio) == pytest.approx((math.log(1.02), math.log(1.01)))
    assert effect.high_log_ratio is None
    assert comparison().effect is None
    assert OperatorComparison(name="conv").effect is None


@pytest.mark.parametrize("verdict", [Verdict.REGRESSION, Verdict.IMPROVEMENT])
def test_a_change_that_is_not_a_discovery_counts_as_undecided(verdict: Verdict) -> None:
    change = comparison(verdict=verdict)
    assert change.effective_verdict is verdict
    assert change.model_copy(update={"discovered": False}).effective_verdict is Verdict.UNDECIDED
