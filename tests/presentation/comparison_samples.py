"""Results of comparisons, decided by the rules of the product."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.analysis.compare.recompute import recompute
from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, ExactDifference, OperatorComparison, Pair, Parameters
from harness.core.note import Note
from harness.core.result import Outcome, Result
from harness.core.verdict import Verdict
from harness.testing.results import BUILD, failed_result, ok_result

CONTROL = BuildInfo(
    source="git:/src/executorch", commit="1" * 40, commit_time=1_759_300_000, recipe="native", digest="c" * 64
)
TREATMENT = BUILD.model_copy(update={"source": "git:/src/executorch", "commit": "2" * 40})
PARAMETERS = Parameters(seed=7)
NOISE = (0.1, -0.4, 0.3, 0.0, -0.2, 0.5, -0.1, 0.2, -0.5, 0.4, -0.3)
"""In percent; the median is zero, and eleven is no multiple of the period of the order within pairs."""


def made_pairs(change: float, count: int, *, control_ms: float = 8.0, noise: float = 1.0) -> tuple[Pair, ...]:
    """Make pairs whose treatment takes so much longer, with a little noise; 0.03 is 3 %. All times differ."""
    ratios = [math.log1p(change) + noise * NOISE[index % len(NOISE)] / 100 for index in range(count)]
    shape = (0.97, 0.99, 1.0, 1.02, 1.06)
    return tuple(
        Pair(
            index=index,
            control_first=(index * 5) % 3 != 0,
            control=tuple(control_ms * share for share in (shape[0] * (1 + 1e-7 * index), *shape[1:])),
            treatment=tuple(
                control_ms * share * math.exp(ratio) for share in (shape[0] * (1 + 1e-7 * index), *shape[1:])
            ),
            control_launch=index,
            treatment_launch=index,
            seconds=0.5,
        )
        for index, ratio in enumerate(ratios)
    )


def made_operators(changes: Mapping[str, float | None], count: int) -> tuple[OperatorComparison, ...]:
    """Make operators that take so much longer, each half as long as its predecessor; None makes a new one."""
    return tuple(
        OperatorComparison(
            name=name,
            pairs=tuple(range(count)),
            control=tuple(4000 / 2**place * (1 + 1e-7 * index) for index in range(count)) if change is not None else (),
            treatment=tuple(
                4000
                / 2**place
                * (1 + 1e-7 * index)
                * math.exp(math.log1p(change or 0.0) + NOISE[(index + place) % len(NOISE)] / 100)
                for index in range(count)
            ),
        )
        for place, (name, change) in enumerate(changes.items())
    )


def compared(
    identifier: str,
    pairs: Sequence[Pair],
    *,
    model: str = "mv2",
    parameters: Parameters = PARAMETERS,
    discovered: bool = True,
    voided: int = 0,
    exact: Sequence[ExactDifference] = (),
    higher_is_better: bool = False,
    treatment: BuildInfo = TREATMENT,
    notes: Sequence[Note] = (),
    operators: Sequence[OperatorComparison] = (),
) -> Result:
    """Make the result of `harness compare` with such pairs."""
    comparison = Comparison(
        control=CONTROL,
        metric="NET latency",
        unit="ms",
        higher_is_better=higher_is_better,
        parameters=parameters,
        pairs=tuple(pairs),
        voided=voided,
        verdict=Verdict.UNDECIDED,
        discovered=discovered,
        seconds=sum(pair.seconds for pair in pairs),
        exact=tuple(exact),
        operators=tuple(operators),
    )
    result = ok_result(uid=identifier, model=model, identifier=identifier, build=treatment, notes=notes)
    return result.model_copy(
        update={"harness_version": "0.1.0", "comparison": recompute(comparison), "control_launches": result.launches}
    )


def failed(identifier: str, outcome: Outcome = Outcome.CRASHED, *, pairs: Sequence[Pair] = ()) -> Result:
    """Make a comparison that a failure ended, with the pairs until then."""
    reason = "was ended by SIGSEGV without output"
    result = failed_result(outcome, uid=identifier, identifier=identifier, reason=reason, build=TREATMENT)
    whole = compared(identifier, pairs).comparison
    return result.model_copy(
        update={
            "harness_version": "0.1.0",
            "comparison": whole.model_copy(update={"reason": reason, "verdict": Verdict.UNDECIDED}) if whole else None,
        }
    )


def identical(identifier: str) -> Result:
    """Make a comparison of two runners of the same bytes."""
    reason = "both runners are the same bytes: there is nothing to measure"
    comparison = Comparison(
        control=CONTROL, metric="", parameters=PARAMETERS, verdict=Verdict.NO_CHANGE, reason=reason, identical=True
    )
    result = failed_result(
        Outcome.SKIPPED, uid=identifier, identifier=identifier, reason=reason, hint=None, build=TREATMENT
    )
    return result.model_copy(update={"harness_version": "0.1.0", "comparison": comparison})


def refused(identifier: str) -> Result:
    """Make the result of a benchmark that could not be started."""
    result = failed_result(
        Outcome.UNSUPPORTED, uid=identifier, identifier=identifier, reason="no such backend here", hint=None, build=None
    )
    return result.model_copy(update={"harness_version": "0.1.0"})


SMALLER = ExactDifference(
    metric="program size", unit="bytes", control=1 << 20, treatment=900_000, verdict=Verdict.IMPROVEMENT
)
LOST = ExactDifference(metric="delegated operators", unit="", control=120, treatment=118, verdict=Verdict.REGRESSION)
SAME = ExactDifference(metric="NET top1", unit="", control=0.7, treatment=0.7, verdict=Verdict.NO_CHANGE)


OPERATORS = {"Convolution #1": 0.2, "Add #1": 0.0, "Softmax #1": -0.1, "Convolution #2": 0.3, "Transpose #1": None}


def every_kind() -> list[Result]:
    """Make a comparison of each kind, not in the order in which a reader wants them."""
    return [
        compared("same", made_pairs(0.0, 24)),
        refused("not-here"),
        compared("faster", made_pairs(-0.04, 14), exact=[SMALLER, SAME]),
        failed("crashed", pairs=made_pairs(0.0, 3)),
        compared("slower", made_pairs(0.02, 20), exact=[LOST], voided=1),
        compared("loud", made_pairs(0.004, 100, noise=8.0)),
        identical("untouched"),
        compared("much-slower", made_pairs(0.12, 12), operators=made_operators(OPERATORS, 12)),
        compared("alone", made_pairs(0.015, 12), discovered=False),
    ]
