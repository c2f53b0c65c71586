"""The table of cold, warm and sustained figures, and of paced executions."""

from __future__ import annotations

from harness.analysis.deadlines import assess_deadline
from harness.analysis.long_run import analyse_long_run, derive_metrics
from harness.core.metric import Metric
from harness.core.result import Result
from harness.core.rivals import group_rivals
from harness.core.scenario import Arrival, Pattern
from harness.presentation.measurement_table import build_further_metrics
from harness.presentation.scenarios import build_paced, build_scenarios
from harness.testing.results import ok_result, timing
from tests.analysis.long_runs import Levels, run_long


def lasting(levels: Levels, seconds: float) -> Result:
    """Return a result with cold figures and a long run."""
    metrics = run_long(levels, seconds)
    run = analyse_long_run(metrics)
    assert run is not None
    cold = (timing("RUN", "cold_load_time", "ms", [48.0]), timing("RUN", "cold_first_iteration", "ms", [61.0]))
    result = ok_result(model="phone", identifier="camera")
    return result.model_copy(
        update={"metrics": (*result.metrics, *cold, *metrics, *derive_metrics(run)), "long_run": run}
    )


def paced(deadline_s: float | None) -> Result:
    arrival = Arrival(pattern=Pattern.PERIODIC, interval_s=0.033, deadline_s=deadline_s)
    response = timing("NET", "response_time", "ms", [20.0] * 98 + [50.0] * 2)
    response = response.model_copy(update={"summary": {**response.summary, "p99": 50.0}})
    late, _ = assess_deadline([response], arrival)
    result = ok_result()
    starts: Metric = timing("NET", "start_time", "ms", [33.0 * number for number in range(100)])
    benchmark = result.benchmark.model_copy(update={"arrival": arrival})
    return result.model_copy(update={"metrics": (*result.metrics, starts, response, *late), "benchmark": benchmark})


def cells(result: Result) -> dict[str, str]:
    columns = (*build_scenarios([result]), *build_paced([result]))
    return {column.name: column.cells[0].text for column in columns if column.cells}


def test_one_benchmark_has_three_figures() -> None:
    row = cells(lasting([(0, 20.0), (84, 30.0)], 200))
    assert (row["cold load"], row["cold"]) == ("48.0 ms", "61.0 ms")
    assert row["warm"].endswith("µs")
    assert (row["at 10 s"], row["sustained"]) == ("20.5 ms", "30.6 ms")
    assert row["throttled after"].startswith("84 s (+")
    assert "too late" not in row


def test_a_steady_device_never_throttles() -> None:
    assert cells(lasting([(0, 20.0)], 60))["throttled after"] == "never in 60 s"


def test_a_recovery_is_named() -> None:
    assert "recovered)" in cells(lasting([(0, 20.0), (60, 30.0), (150, 20.0)], 200))["throttled after"]


def test_paced_executions_have_responses_and_a_deadline() -> None:
    row = cells(paced(0.033))
    assert (row["response"], row["response p99"]) == ("20.0 ms", "50.0 ms")
    assert row["arrival"] == "every 33.0 ms"
    assert (row["deadline"], row["too late"]) == ("33.0 ms", "2 %")
    assert (cells(paced(None))["deadline"], cells(paced(None))["too late"]) == ("", "")


def test_other_results_have_no_row_and_nothing_is_shown_twice() -> None:
    assert cells(ok_result()) == {}
    columns = build_further_metrics([lasting([(0, 20.0)], 60), paced(0.033)])
    (metrics,) = (column for column in columns if column.name == "metric")
    assert {cell.text.split()[0] for cell in metrics.cells} == {"NET"}
    assert not {"NET start_time", "NET response_time"} & {cell.text for cell in metrics.cells}


def test_paced_executions_are_no_rivals_of_those_back_to_back() -> None:
    assert len(group_rivals([paced(0.033), ok_result()])) == 2
    assert len(group_rivals([paced(0.033), paced(0.033)])) == 1
