"""Changes are reported once their discovery is certain, and reports are never withdrawn."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.compare.discovery import ProvenChange, proven_change, select_discoveries
from harness.core.comparison import Evidence
from harness.core.result import Report
from harness.core.verdict import Verdict
from harness.flows.compare.discoveries import FalseDiscoveryFilter
from tests.presentation.comparison_samples import compared, made_pairs

Q = 0.05


def changed(verdict: Verdict, evidence: float) -> tuple[ProvenChange, Report]:
    """Return a comparison that ended with some evidence of a change."""
    size = 0.05 if verdict is Verdict.REGRESSION else -0.05
    result = compared("a", made_pairs(size, 8), discovered=False)
    assert result.comparison is not None
    e_values = Evidence(regression=evidence) if verdict is Verdict.REGRESSION else Evidence(improvement=evidence)
    comparison = result.comparison.model_copy(update={"evidence": e_values})
    change = proven_change(comparison.verdict, comparison.evidence)
    assert change == (verdict, evidence)
    return change, Report(result=result.model_copy(update={"comparison": comparison}))


class Reported:
    """Filter with a record of its reports, in order."""

    def __init__(self, total: int, earlier: Sequence[float] = ()) -> None:
        self.reports: list[tuple[int, bool]] = []
        self.discoveries: FalseDiscoveryFilter[int] = FalseDiscoveryFilter(
            total, Q, self._record, [ProvenChange(Verdict.REGRESSION, evidence) for evidence in earlier]
        )

    def end(self, key: int, evidence: float, verdict: Verdict = Verdict.REGRESSION) -> None:
        self.discoveries.add(key, *changed(verdict, evidence))

    def _record(self, key: int, report: Report) -> None:
        assert report.result.comparison is not None
        self.reports.append((key, report.result.comparison.discovered))


def test_a_regression_sufficient_alone_is_reported_at_once() -> None:
    reported = Reported(total=10)
    reported.end(1, 200.0)
    assert reported.reports == [(1, True)]


def test_a_regression_that_needs_support_waits() -> None:
    reported = Reported(total=10)
    reported.end(1, 100.0)
    assert reported.reports == []
    reported.end(2, 150.0)
    assert reported.reports == [(1, True), (2, True)]


def test_improvements_wait_for_improvements_alone() -> None:
    reported = Reported(total=10, earlier=[150.0])
    reported.end(1, 100.0, Verdict.IMPROVEMENT)
    assert reported.reports == []
    reported.end(2, 120.0, Verdict.IMPROVEMENT)
    reported.end(3, 199.0, Verdict.IMPROVEMENT)
    assert sorted(reported.reports) == [(1, True), (2, True), (3, True)]


def test_regressions_reported_before_an_interruption_count_but_are_not_reported_again() -> None:
    reported = Reported(total=10, earlier=[150.0])
    assert reported.discoveries.final() == frozenset()
    reported.end(0, 100.0)
    reported.discoveries.close()
    assert reported.reports == [(0, True)]


def test_an_unsupported_regression_is_reported_at_the_end_as_not_discovered() -> None:
    reported = Reported(total=10)
    reported.end(1, 199.0)
    reported.discoveries.close()
    reported.discoveries.close()
    assert reported.reports == [(1, False)]


def test_only_final_evidence_supports_other_regressions() -> None:
    reported = Reported(total=10)
    reported.end(1, 100.0)
    assert reported.discoveries.final_with({2: ProvenChange(Verdict.REGRESSION, 150.0)}) == {1, 2}
    assert reported.discoveries.final() == frozenset()
    assert reported.reports == []


@pytest.mark.slow
@given(st.lists(st.sampled_from([20.0, 60.0, 70.0, 100.0, 150.0, 200.0, 1e4]), max_size=8), st.integers(0, 8))
def test_the_reported_discoveries_are_the_set_over_all_final_evidence(evidence: list[float], others_count: int) -> None:
    reported = Reported(total := len(evidence) + others_count)
    for key, value in enumerate(evidence):
        reported.end(key, value)
        before = dict(reported.reports)
        assert all(before.values())
        assert before.keys() == reported.discoveries.final()
    reported.discoveries.close()
    assert sorted(key for key, _ in reported.reports) == list(range(len(evidence)))
    final = select_discoveries(dict(enumerate(evidence)), total, Q)
    assert {key for key, is_discovered in reported.reports if is_discovered} == final


@pytest.mark.parametrize("devices", [2, 4])
def test_devices_that_end_simultaneously_report_each_regression_once(devices: int) -> None:
    reported = Reported(total=40)
    with ThreadPoolExecutor(devices) as pool:
        list(pool.map(lambda key: reported.end(key, 30.0), range(40)))
    reported.discoveries.close()
    assert sorted(reported.reports) == [(key, True) for key in range(40)]
