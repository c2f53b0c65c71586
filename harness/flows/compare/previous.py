"""What an interrupted run had told already: its results come back from where they are kept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.core.comparison import Comparison, Parameters, Verdict
from harness.core.errors import EnvironmentProblem
from harness.core.result import Result
from harness.flows.compare.journal import Journal
from harness.store.canonical_json import load_result


def load_previous(journal: Journal, parameters: Parameters) -> Result | None:
    """The result of a comparison that was told for good; None where it is to be measured, or told, again.

    That is so where it was told under other parameters, where it is no longer kept, and where its regression had not
    survived among those that had been measured: others may support it now.
    """
    place = journal.told()
    if place is None:
        return None
    try:
        result = load_result(Path(place))
    except EnvironmentProblem:
        return None
    comparison = result.comparison
    final = (
        comparison is not None and comparison.effective_verdict is comparison.verdict and _alike(comparison, parameters)
    )
    return result if result.ok and final else None


def evidence_of(results: Iterable[Result]) -> tuple[float, ...]:
    """The final evidence of the regressions among them."""
    found = (result.comparison for result in results if result.comparison is not None)
    return tuple(one.evidence.regression for one in found if one.verdict is Verdict.REGRESSION)


def _alike(comparison: Comparison, parameters: Parameters) -> bool:
    """Whether it was decided as would be decided now. Coin and way of its pairs are in the journal's name."""
    own = comparison.parameters
    return own == parameters.model_copy(update={"seed": own.seed, "interleave": own.interleave})
