"""Explanations of verdicts: reasons, evidence, rules of the decision, and the error rates to expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.comparison import Comparison, ExactDifference, Interleave, Parameters
from harness.core.levels import levels_of
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.presentation.numbers import format_change, format_evidence, format_percent, format_quantity
from harness.presentation.outputs import describe_outputs, explain_withheld_improvement
from harness.presentation.verdicts import (
    CATEGORY_OF_VERDICT,
    VerdictCategory,
    categorise,
    stated_interval,
)

EVIDENCE_HEADINGS: Final = ("hypothesis", "evidence against it", "needed to reject it")
"""Headings of the columns of `tabulate_evidence`."""

_INTERLEAVING: Final = {
    Interleave.AUTO: "as suits each benchmark, in random order",
    Interleave.LAUNCH: "two launches back to back, in random order",
    Interleave.PROCESS: "two processes that iterate in turns, in random order",
    Interleave.DUET: "two processes at once that share a CPU, in random order",
}


_OUTDATED: Final = (
    "its interval is not shown, because an older harness computed it apart from the verdict: "
    "`harness compare --from` computes both again"
)


def head_interval(results: Sequence[Result]) -> str:
    """Return the heading of intervals, `95 % interval`, without a number where comparisons differ in it."""
    levels = {levels_of(comparison.parameters).confidence for comparison in select_measured_comparisons(results)}
    shares = {format_percent(level) for level in levels} or {"95 %"}
    return f"{shares.pop()} interval" if len(shares) == 1 else "interval"


def explain_verdict(result: Result, compared: int) -> str:
    """Return the reason of a verdict, or why there is none.

    Args:
        result: Of a comparison.
        compared: How many benchmarks were compared (see `select_measured_comparisons`).
    """
    comparison = result.comparison
    if comparison is None or categorise(result) in {VerdictCategory.FAILED, VerdictCategory.SKIPPED}:
        return result.reason or "no reason was given"
    if comparison.identical:
        return "there is nothing to measure"  # the verdict beside it says why: `same bytes`
    if comparison.is_withheld_improvement:
        return explain_withheld_improvement(comparison)
    if comparison.is_undiscovered:
        return _explain_undiscovered(comparison, compared)
    return comparison.reason


def _explain_undiscovered(comparison: Comparison, compared: int) -> str:
    evidence, is_worse = comparison.evidence, comparison.verdict is Verdict.REGRESSION
    shown = f"a regression (evidence {format_evidence(evidence.regression)})"
    if not is_worse:
        shown = f"an improvement (evidence {format_evidence(evidence.improvement)})"
    return (
        f"its own pairs show {shown}, but among {_count_benchmarks(compared)} stronger evidence is required, so that "
        f"at most {format_percent(comparison.parameters.fdr)} of the reported "
        f"{'regressions' if is_worse else 'improvements'} are false"
    )


def explain_in_full(result: Result, compared: int) -> str:
    """Return the reason of a verdict (see `explain_verdict`), whether outputs differ, and the discarded pairs."""
    discarded = describe_discarded_pairs(result.comparison) if result.comparison else ""
    outdated = _OUTDATED if result.comparison and result.ok and stated_interval(result.comparison) is None else ""
    outputs = _describe_outputs(result.comparison) if result.comparison else ""
    return "; ".join(filter(None, (explain_verdict(result, compared), outputs, discarded, outdated)))


def _describe_outputs(comparison: Comparison) -> str:
    """Describe the outputs of both sides; empty where nobody looked, and where the verdict's reason tells of them."""
    if comparison.outputs is None or comparison.is_withheld_improvement:
        return ""
    return describe_outputs(comparison.outputs)


def describe_discarded_pairs(comparison: Comparison) -> str:
    """Say how many pairs were discarded; empty where none was."""
    if not comparison.voided:
        return ""
    discarded = "1 pair was" if comparison.voided == 1 else f"{comparison.voided} pairs were"
    return f"{discarded} discarded: a launch failed or was throttled"


def list_exact_changes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the deterministic metrics beside the compared one that changed: a mark, and a description."""
    return [
        (CATEGORY_OF_VERDICT[difference.verdict].mark, _describe_difference(difference))
        for difference in comparison.exact
        if difference.verdict.is_change and difference.metric != comparison.metric
    ]


def select_measured_comparisons(results: Sequence[Result]) -> list[Comparison]:
    """Return the comparisons among these results whose runners differ, so that pairs were measured."""
    comparisons = (result.comparison for result in results)
    return [comparison for comparison in comparisons if comparison is not None and not comparison.identical]


def describe_false_discoveries(results: Sequence[Result]) -> str:
    """Say how likely a reported change is false among all these benchmarks; empty where no test gave a verdict."""
    comparisons = select_measured_comparisons(results)
    if not select_measured_comparisons([result for result in results if result.ok]):
        return ""
    if len(comparisons) == 1:
        chance = f"with a probability of at most {format_percent(comparisons[0].parameters.alpha)}"
        if comparisons[0].parameters.gate:
            return f"A benchmark that did not get worse is reported as a regression {chance}."
        return f"An unchanged benchmark is reported as a regression, or as an improvement, {chance} each."
    fdr = format_percent(max(comparison.parameters.fdr for comparison in comparisons))
    either = any(not comparison.parameters.gate for comparison in comparisons)
    runs = len({result.run for result in results if result.comparison is not None})  # each has a filter of its own
    reported = "of the reported regressions" if runs == 1 else f"of the regressions that each of {runs} runs reported"
    return (
        f"Some of {_count_benchmarks(len(comparisons))} may look worse{' or better' if either else ''} by chance: on "
        f"average, at most {fdr} {reported} are false"
        f"{', and at most as many of the improvements' if either else ''}."
    )


def describe_rules(parameters: Parameters) -> list[tuple[str, str]]:
    """Describe how a comparison decides: names and values of its rules."""
    error = f"error probability at most {format_percent(parameters.alpha)}"
    margins = (
        f"change below {format_percent(parameters.margin)}, tail less than {format_percent(parameters.tail_margin)} "
        "worse"
    )
    budget = [f"{parameters.max_pairs} pairs"]
    budget += [f"{parameters.max_seconds:g} s of device time"] if parameters.max_seconds is not None else []
    rules = [
        ("pair", _INTERLEAVING[parameters.interleave]),
        ("regression", error),
        ("improvement", "not tested (--gate)" if parameters.gate else error),
        ("no change", f"{margins}; error probability at most {format_percent(parameters.beta)}"),
        (
            "false regressions" if parameters.gate else "false regressions, false improvements",
            f"at most {format_percent(parameters.fdr)} of those reported, on average",
        ),
        ("budget per benchmark", " or ".join(budget)),
    ]
    if not (levels := levels_of(parameters)).is_usual:
        rules.append(("confidence of intervals", f"{format_percent(levels.confidence)}, because of --alpha"))
    if parameters.precision is not None:
        rules.append(("continues until the change is known to", f"± {format_percent(parameters.precision)}"))
    return [*rules, ("random seed", str(parameters.seed))]


def collect_rules(results: Sequence[Result]) -> list[tuple[tuple[str, str], ...]]:
    """Describe how comparisons were decided (see `describe_rules`), once for all that share their rules."""
    return list(
        dict.fromkeys(
            tuple(describe_rules(comparison.parameters)) for comparison in select_measured_comparisons(results)
        )
    )


def tabulate_evidence(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return each hypothesis with the evidence against it and the evidence that rejects it.

    Counts that are compared exactly need no margin, and so no evidence about it.
    """
    parameters, evidence = comparison.parameters, comparison.evidence
    alpha, beta = format_evidence(1 / parameters.alpha), format_evidence(1 / parameters.beta)
    equivalence = format_evidence(1 / levels_of(parameters).equivalence)
    margin, tail_margin = format_percent(parameters.margin), format_percent(parameters.tail_margin)
    not_worse = ("not worse", evidence.regression, alpha)
    not_better = ("not better", evidence.improvement, alpha)
    worse = (f"worse by {margin} or more", evidence.not_worse, equivalence)
    better = (f"better by {margin} or more", evidence.not_better, equivalence)
    tail = (f"{comparison.statistics[-1]} worse by {tail_margin} or more", evidence.tail, beta)
    change = [not_worse] if parameters.gate else [not_worse, not_better]
    margins = [worse, tail] if parameters.gate else [worse, better, tail]
    rows = change if comparison.is_exact else [*change, *margins]
    return [(hypothesis, format_evidence(e_value), needed) for hypothesis, e_value, needed in rows]


def _describe_difference(difference: ExactDifference) -> str:
    control, treatment = difference.control, difference.treatment
    share = f" ({format_change(treatment / control - 1)})" if control > 0 and treatment > 0 else ""
    sides = f"{format_quantity(control, difference.unit)} → {format_quantity(treatment, difference.unit)}"
    return f"{difference.metric}: {sides}{share}"


def _count_benchmarks(count: int) -> str:
    return f"{count} benchmark{'' if count == 1 else 's'}"
