"""Tables of results as frames."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.core.metric import ControlSide
from harness.core.result import Outcome, Result
from harness.core.verdict import Verdict
from harness.store.frames import make_frame, make_samples
from harness.testing.results import LATENCIES_MS, STARTED, failed_result, noisy_result, ok_result
from tests.presentation.comparison_samples import compared, failed, made_pairs


def test_a_row_per_result_and_metric() -> None:
    result = ok_result(uid="one")
    frame = make_frame([result, noisy_result(uid="two")])
    assert list(frame["metric"]) == 2 * ["NET latency", "NET load_time", "NET top1", "NET delegate"]
    assert list(frame["uid"]) == ["one"] * 4 + ["two"] * 4
    row = frame.iloc[0]
    assert (row["median"], row["unit"], row["n"], row["direction"]) == (0.81375, "ms", 10, "lower")
    assert (row["min"], row["max"]) == (min(LATENCIES_MS), max(LATENCIES_MS))
    assert row["started"] == pd.Timestamp(STARTED, unit="s", tz="UTC")
    assert (row["device"], row["commit"], row["launches"]) == ("machine-4f2a", "1.5.1", 2)
    assert list(frame["trusted"]) == [True] * 4 + [False] * 4
    assert list(frame["notes"]) == [""] * 4 + ["noisy"] * 4
    assert frame.iloc[3]["text"] == "XnnpackBackend"


def test_a_failed_result_keeps_its_row() -> None:
    frame = make_frame([failed_result(Outcome.TIMEOUT, reason="too slow", build=None), ok_result()])
    row = frame.iloc[0]
    assert (row["outcome"], row["reason"], bool(row["trusted"])) == ("timeout", "too slow", False)
    assert frame.loc[0, ["metric", "median", "unit", "commit"]].isna().all()


def test_axes_and_further_statistics_have_columns() -> None:
    first = ok_result()
    latency = first.metrics[0].model_copy(update={"summary": {**first.metrics[0].summary, "p99.9": 1.2}})
    second = first.model_copy(
        update={"benchmark": first.benchmark.model_copy(update={"axes": {"threads": 2, "batch": "a b", "fast": True}})}
    )
    frame = make_frame([first.model_copy(update={"metrics": (latency,)}), second])
    assert list(frame["axis.threads"]) == [1, 2, 2, 2, 2]
    assert frame["axis.threads"].dtype == "Int64"
    assert frame["axis.fast"].dtype == "boolean"
    assert frame["axis.recipe"].isna().tolist() == [False, True, True, True, True]
    assert frame["statistic.p99.9"].tolist()[0] == 1.2


def test_axes_of_several_types_become_text() -> None:
    def with_axis(value: int | str) -> Result:
        result = ok_result()
        return result.model_copy(update={"benchmark": result.benchmark.model_copy(update={"axes": {"a": value}})})

    assert set(make_frame([with_axis(1), with_axis("x")])["axis.a"]) == {"1", "x"}


def _compared() -> Result:
    """Return a comparison with the samples of both sides."""
    result = compared("one", made_pairs(0.03, 11))
    latency = result.metrics[0]
    control = ControlSide(
        control_values=(1.0, 2.0, 4.0), control_launches=(0, 1, 1), control_summary={"p50": 2.0, "n": 3.0}
    )
    return result.model_copy(update={"metrics": (latency.model_copy(update={"control": control}), *result.metrics[1:])})


def test_the_compared_metric_carries_the_verdict() -> None:
    result = _compared()
    comparison = result.comparison
    assert comparison is not None
    frame = make_frame([result])
    judged = frame[frame["verdict"].notna()]
    assert list(judged["metric"]) == [comparison.metric]
    assert judged.iloc[0]["verdict"] in {verdict.value for verdict in Verdict}
    assert judged.iloc[0]["difference"] == comparison.difference
    assert judged.iloc[0]["pairs"] == len(comparison.pairs)
    row = judged.iloc[0]
    assert row["figure"] == comparison.stated_figure
    assert row["treatment_figure"] / row["control_figure"] - 1 == pytest.approx(row["difference"])
    assert list(frame["control_median"].notna()) == [True, False, False, False]
    assert set(frame["control_commit"]) == {comparison.control.commit}


def test_a_comparison_that_failed_has_no_verdict() -> None:
    """Undecided is what noise leaves open; a filter for it finds nothing that is broken."""
    broken = failed("broken", pairs=made_pairs(0.03, 3))
    assert broken.comparison is not None
    assert broken.comparison.verdict is Verdict.UNDECIDED
    frame = make_frame([broken])
    assert not frame["verdict"].notna().any()
    assert set(frame["outcome"]) == {"crashed"}


def test_a_row_per_sample_in_measured_order() -> None:
    samples = make_samples([ok_result(launches=2)])
    latency = samples[samples["metric"] == "NET latency"]
    assert list(latency["value"]) == list(LATENCIES_MS)
    assert list(latency["launch"]) == [0] * 5 + [1] * 5
    assert list(latency["iteration"]) == [0, 1, 2, 3, 4] * 2
    assert latency.iloc[5]["launch_started"] == pd.Timestamp(STARTED + 1, unit="s", tz="UTC")
    assert samples["side"].isna().all()
    assert "NET delegate" not in set(samples["metric"])


def test_both_sides_of_a_comparison_have_samples_of_their_own_build() -> None:
    result = _compared()
    comparison = result.comparison
    assert comparison is not None
    assert result.build is not None
    samples = make_samples([result])
    commits = {side: set(group["commit"]) for side, group in samples.groupby("side")}
    control = samples[samples["side"] == "control"]
    assert list(control["launch"]) == [0, 1, 1]
    assert list(control["iteration"]) == [0, 0, 1]
    assert commits == {"control": {comparison.control.commit}, "treatment": {result.build.commit}}


def test_no_results_have_the_same_columns() -> None:
    for make in (make_frame, make_samples):
        empty = make([])
        assert len(empty) == 0
        full = make([ok_result()])
        assert [column for column in full if not str(column).startswith(("axis.", "statistic."))] == list(empty)
        assert all(empty[column].dtype == full[column].dtype for column in empty)
