"""Long runs: figures at ten seconds and of the steady state, throttling, recovery, and what is no run."""

from __future__ import annotations

import pytest

from harness.analysis.long_run import analyse_long_run, derive_metrics, note_long_run
from harness.core.device import DeviceState
from harness.core.long_run import MOST_WINDOWS, LongRun
from harness.core.metric import Direction, Metric, main_metric
from harness.core.result import Launch, Outcome
from tests.analysis.long_runs import run_long


def analyse(metrics: list[Metric]) -> LongRun:
    run = analyse_long_run(metrics)
    assert run is not None
    return run


def test_a_phone_that_throttles_has_three_figures_and_a_curve() -> None:
    run = analyse(run_long([(0, 20.0), (84, 26.0), (200, 31.0)], 600))
    assert run.early == pytest.approx(20.4e6, rel=0.02)
    assert run.steady == pytest.approx(31.6e6, rel=0.02)
    assert run.throttled_after_s == pytest.approx(84, abs=1)
    assert run.steady_since_s == pytest.approx(200, abs=1)
    assert run.change == pytest.approx(0.55, abs=0.03)
    assert [round(level.start_s, -1) for level in run.levels] == [0, 80, 200]
    assert len(run.windows) == MOST_WINDOWS
    assert sum(window.count for window in run.windows) == run.count
    assert all(window.p10 <= window.median <= window.p90 for window in run.windows)


def test_higher_is_better_for_rates() -> None:
    run = analyse(run_long([(0, 12.0), (120, 7.0)], 600, rate=True))
    assert (run.metric, run.direction) == ("SUSTAINED decode_rate", Direction.HIGHER)
    assert run.throttled_after_s == pytest.approx(120, abs=10)
    assert run.change == pytest.approx(-5 / 12, abs=0.03)
    assert analyse(run_long([(0, 7.0), (120, 12.0)], 600, rate=True)).throttled_after_s is None


def test_a_steady_run_ends_with_its_last_fifth() -> None:
    run = analyse(run_long([(0, 20.0)], 60))
    assert run.throttled_after_s is None
    assert run.change is None
    assert run.steady_since_s == pytest.approx(48, abs=0.5)
    assert [metric.name for metric in derive_metrics(run)] == ["SUSTAINED latency_at_10s", "SUSTAINED steady_latency"]
    assert not list(note_long_run(run, []))


def test_a_recovery_is_told() -> None:
    run = analyse(run_long([(0, 20.0), (60, 30.0), (150, 20.0)], 200))
    assert run.recovered
    assert run.throttled_after_s == pytest.approx(60, abs=1)
    (note,) = note_long_run(run, [])
    assert "; it recovered later" in note.message


def test_derived_metrics_have_units_and_directions() -> None:
    metrics = {metric.name: metric for metric in derive_metrics(analyse(run_long([(0, 20.0), (50, 30.0)], 100)))}
    time = metrics["SUSTAINED time_to_throttling"]
    assert (time.unit, time.direction) == ("s", Direction.HIGHER)
    assert time.median == pytest.approx(50, abs=1)
    assert metrics["SUSTAINED steady_latency"].direction is Direction.LOWER
    assert metrics["SUSTAINED latency_at_10s"].unit == "ns"


def test_the_note_has_what_the_device_says() -> None:
    run = analyse(run_long([(0, 20.0), (50, 30.0)], 100))
    hot = Launch(index=0, outcome=Outcome.OK, started=0.0, after=DeviceState(time=1.0, thermal_status=3))
    (note,) = note_long_run(run, [hot])
    assert note.trust
    assert note.message.startswith("SUSTAINED latency became 50 % higher after ")
    assert "the device itself lowered its clock because of heat in 1 of 1 launch" in note.message


def test_short_and_broken_runs() -> None:
    assert analyse(run_long([(0, 20.0)], 9)).early is None
    values, starts = run_long([(0, 20.0)], 9)
    assert analyse_long_run([values]) is None
    assert analyse_long_run([starts]) is None
    assert analyse_long_run([values, starts.model_copy(update={"samples": starts.samples[1:]})]) is None
    assert analyse_long_run([values, starts.model_copy(update={"samples": starts.samples[::-1]})]) is None
    assert analyse_long_run([values, starts.model_copy(update={"unit": "ticks"})]) is None
    assert analyse_long_run([values.model_copy(update={"samples": (0.0,) * len(values.samples)}), starts]) is None
    single = [metric.model_copy(update={"samples": metric.samples[:1]}) for metric in (values, starts)]
    assert len(analyse(single).windows) == 1


def test_no_result_is_about_when_executions_began() -> None:
    values, starts = run_long([(0, 20.0)], 9)
    assert main_metric([starts, values]) is values


def test_of_generations_it_is_about_the_decode_rate() -> None:
    decode_rate, starts = run_long([(0, 12.0)], 600, rate=True)
    prefill = decode_rate.model_copy(update={"name": "SUSTAINED prefill_rate", "metric": "prefill_rate"})
    gaps = decode_rate.model_copy(update={"name": "SUSTAINED latency", "metric": "latency", "samples": (1.0, 2.0)})
    assert analyse([prefill, gaps, decode_rate, starts]).metric == "SUSTAINED decode_rate"


def test_a_change_right_before_the_end_is_no_steady_state() -> None:
    run = analyse(run_long([(0, 20.0), (57, 14.0)], 60))
    assert len(run.levels) == 2
    assert run.steady_since_s == pytest.approx(48, abs=0.5)
    assert run.steady == pytest.approx(20.4e6, rel=0.02)
