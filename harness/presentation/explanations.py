"""What a table has no room for: why a verdict, which other figures changed, and how far to believe regressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.comparison import Comparison, Difference, Interleave, Parameters, Verdict
from harness.core.result import Result
from harness.presentation.numbers import quantity
from harness.presentation.shares import percent, signed
from harness.presentation.verdicts import Standing, standing, undiscovered

_PAIRS: Final = {
    Interleave.LAUNCH: "two launches back to back; a coin decides which is first",
    Interleave.PROCESS: "two processes that take turns; a coin decides which is first",
}
_MARKS: Final = {Verdict.REGRESSION: Standing.REGRESSION.mark, Verdict.IMPROVEMENT: Standing.IMPROVEMENT.mark}


def why(result: Result, compared: int) -> str:
    """What made the verdict, or why there is none.

    Args:
        result: Of a comparison.
        compared: How many benchmarks were compared (see `measured`).
    """
    comparison = result.comparison
    if comparison is None or standing(result) in {Standing.FAILED, Standing.SKIPPED}:
        return result.reason or "no reason was given"
    if comparison.identical:
        return "there is nothing to measure"  # the verdict beside it says why: `same bytes`
    if undiscovered(comparison):
        return (
            f"its own pairs speak for a regression (evidence {evidence(comparison.evidence.regression)}), but among "
            f"{_benchmarks(compared)} more is asked for, so that of the regressions reported at most "
            f"{percent(comparison.parameters.fdr)} are false"
        )
    return comparison.reason


def reasons(result: Result, compared: int) -> str:
    """What made the verdict (see `why`), and what it rests on less."""
    lost = lost_pairs(result.comparison) if result.comparison else ""
    return "; ".join(filter(None, (why(result, compared), lost)))


def lost_pairs(comparison: Comparison) -> str:
    """That pairs were lost, where some were."""
    if not comparison.voided:
        return ""
    lost = "1 pair was" if comparison.voided == 1 else f"{comparison.voided} pairs were"
    return f"{lost} voided: a launch failed or was slowed by heat"


def changes(comparison: Comparison) -> list[tuple[str, str]]:
    """The deterministic figures that differ: a mark, and a sentence."""
    return [(_MARKS[one.verdict], _change(one)) for one in comparison.exact if one.verdict in _MARKS]


def measured(results: Sequence[Result]) -> list[Comparison]:
    """The comparisons among these results for which pairs were asked for."""
    found = (result.comparison for result in results)
    return [comparison for comparison in found if comparison is not None and not comparison.identical]


def false_discoveries(results: Sequence[Result]) -> str:
    """What may be believed of the regressions of all these benchmarks together; empty where none was measured."""
    comparisons = measured(results)
    if not comparisons:
        return ""
    if len(comparisons) == 1:
        alpha = percent(comparisons[0].parameters.alpha)
        return f"A benchmark that did not become worse is called a regression with a probability of at most {alpha}."
    q = percent(max(one.parameters.fdr for one in comparisons))
    return (
        f"Of {_benchmarks(len(comparisons))} some may look worse by chance: regressions are reported so that on "
        f"average at most {q} of them are false."
    )


def rules(parameters: Parameters) -> list[tuple[str, str]]:
    """How a comparison decides: what is asked, and the figure."""
    wrong = f"wrong with at most {percent(parameters.alpha)}"
    alike = f"less than {percent(parameters.margin)}, and the tail less than {percent(parameters.tail_margin)} worse"
    budget = [f"{parameters.max_pairs} pairs"]
    budget += [f"{parameters.max_seconds:g} s of device time"] if parameters.max_seconds is not None else []
    found = [
        ("pair", _PAIRS[parameters.interleave]),
        ("regression", wrong),
        ("improvement", "not looked for (gate)" if parameters.gate else wrong),
        ("no change", f"{alike}; wrong with at most {percent(parameters.beta)}"),
        ("false ones among the regressions", f"at most {percent(parameters.fdr)} on average"),
        ("budget of each benchmark", " or ".join(budget)),
    ]
    if parameters.precision is not None:
        found.append(("goes on until the difference is known to", f"± {percent(parameters.precision)}"))
    return [*found, ("seed of the coin", str(parameters.seed))]


def rules_of_all(results: Sequence[Result]) -> list[tuple[tuple[str, str], ...]]:
    """How they were decided (see `rules`), once for all that share it."""
    return list(dict.fromkeys(tuple(rules(one.parameters)) for one in measured(results)))


WEIGHTS: Final = ("evidence against", "is", "refutes at")
"""What the columns of `weights` are called."""


def weights(comparison: Comparison) -> list[tuple[str, str, str]]:
    """The evidence: against what, how much there is, and how much refutes it."""
    parameters, found = comparison.parameters, comparison.evidence
    alpha, beta = evidence(1 / parameters.alpha), evidence(1 / parameters.beta)
    margin, tail = percent(parameters.margin), percent(parameters.tail_margin)
    rows = [
        ("it is not worse", found.regression, alpha),
        ("it is not better", found.improvement, alpha),
        (f"it is worse by {margin} or more", found.not_worse, beta),
        (f"it is better by {margin} or more", found.not_better, beta),
        (f"its {comparison.statistics[-1]} is worse by {tail} or more", found.tail, beta),
    ]
    if parameters.gate:  # nobody asked about improvements
        rows = [rows[0], rows[2], rows[4]]
    return [(against, evidence(value), needed) for against, value, needed in rows]


def evidence(value: float) -> str:
    """An e-value with as many digits as matter."""
    if value < 0.01:
        return "< 0.01"
    if value >= 1e6:
        return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _change(one: Difference) -> str:
    share = f" ({signed(one.treatment / one.control - 1)})" if one.control > 0 and one.treatment > 0 else ""
    return f"{one.metric}: {quantity(one.control, one.unit)} → {quantity(one.treatment, one.unit)}{share}"


def _benchmarks(count: int) -> str:
    return f"{count} benchmark{'' if count == 1 else 's'}"
