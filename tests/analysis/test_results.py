"""Success and failure by the output of launches."""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

import pytest

from frameworks.observations.observer import parse_lines
from harness.analysis.results import build_result
from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.device import Device
from harness.core.measurement import Job, Measurement
from harness.core.metric import Direction
from harness.core.note import Note
from harness.core.result import Launch, Outcome, Result

LATENCY = 'PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "%s"}'
CONV = 'PyTorchObserver {"type": "conv", "metric": "latency", "unit": "us", "value": "%s"}'


BENCHMARK = Benchmark(
    id=0,
    model=Model(name="m", format="none"),
    identifier="t",
    metric="accuracy",
    framework="generic",
    origin=SpecificationPlace(file=Path("spec.json")),
    digest="0" * 64,
)


def build_from_output(
    *outputs: str,
    direction: dict[str, Direction] | None = None,
    operators: bool = False,
    known: Set[str] = frozenset(),
    notes: Sequence[Note] = (),
    max_launches: int | None = None,
) -> Result:
    """Return the result of successful launches with given outputs."""
    benchmark = Benchmark(
        id=0,
        model=Model(name="m", format="none"),
        identifier="t",
        metric="delay",
        framework="generic",
        direction=direction or {},
        operators=operators,
        max_launches=max_launches,
        origin=SpecificationPlace(file=Path("spec.json")),
        digest="0" * 64,
    )
    parsed = [parse_lines(text) for text in outputs]
    measurement = Measurement(
        outcome=Outcome.OK,
        launches=tuple(Launch(index=index, outcome=Outcome.OK, started=0.0) for index in range(len(outputs))),
        observations=tuple(observations for observations, _ in parsed),
        notes=(*notes, *(note for _, parser_notes in parsed for note in parser_notes)),
        started=0.0,
        finished=1.0,
    )
    job = Job(benchmark, Build(source="none", commit="none"), {})
    device = Device(platform="host", identity="here", name="here")
    return build_result(job, device, measurement, run_type="benchmark", meta={}, known=known)


def test_an_unreadable_latency_is_a_failure() -> None:
    result = build_from_output(f"{CONV % 3}\n{LATENCY % 'fast'}")
    assert result.outcome is Outcome.FAILED
    assert "NET latency was printed" in (result.reason or "")
    assert result.metric("conv latency") is not None


def test_a_metric_lost_in_one_launch_is_a_failure() -> None:
    assert build_from_output(LATENCY % 1, LATENCY % "fast").outcome is Outcome.FAILED


def test_a_launch_without_a_number_is_a_failure() -> None:
    result = build_from_output(LATENCY % 1, "", LATENCY % 1)
    assert result.outcome is Outcome.FAILED
    assert result.reason == "launch 2 of 3 ended well and reported nothing"
    assert result.metric("NET latency") is not None


def measured(
    outputs: Sequence[str], *, preprocess: str = "", model_preprocess: str = "", model_postprocess: str = ""
) -> Result:
    """Return the result of launches and of steps with given outputs."""
    launches = tuple(Launch(index=index, outcome=Outcome.OK, started=0.0) for index in range(len(outputs)))
    observations = tuple(parse_lines(text)[0] for text in outputs)
    measurement = Measurement(
        0.0,
        1.0,
        Outcome.OK,
        launches=launches,
        observations=observations,
        preprocessed=tuple(parse_lines(preprocess)[0] for _ in outputs),
        model_preprocessed=parse_lines(model_preprocess)[0],
        model_postprocessed=parse_lines(model_postprocess)[0],
    )
    job = Job(BENCHMARK, Build(source="none", commit="none"), {})
    device = Device(platform="host", identity="here", name="here")
    return build_result(job, device, measurement, run_type="benchmark", meta={})


def test_the_last_step_of_a_model_may_report_for_all_launches() -> None:
    result = measured(["", "", ""], model_postprocess=CONV % 97)
    assert result.outcome is Outcome.OK
    (metric,) = result.metrics
    assert (metric.samples, metric.launches) == ((97.0,), (2,))


def test_the_last_step_of_a_model_hides_no_launch_without_a_number() -> None:
    result = measured([LATENCY % 1, "", LATENCY % 1], model_postprocess=CONV % 97)
    assert result.reason == "launch 2 of 3 ended well and reported nothing"


@pytest.mark.parametrize("step", ["preprocess", "model_preprocess"])
def test_a_step_before_a_program_does_not_report_for_it(step: str) -> None:
    result = measured([""], **{step: CONV % 5})
    assert (result.outcome, result.reason) == (Outcome.FAILED, "the program ended well but reported no number")
    assert [metric.name for metric in result.metrics] == ["conv latency"]


@pytest.mark.parametrize("garbage", ["PyTorchObserver {garbage", 'PyTorchObserver {"value": 3}'])
def test_garbage_without_a_latency_is_a_failure(garbage: str) -> None:
    assert build_from_output(f"{CONV % 3}\n{garbage}").outcome is Outcome.FAILED
    beside = build_from_output(f"{LATENCY % 3}\n{garbage}")
    assert (beside.outcome, beside.trusted) == (Outcome.OK, False)


@pytest.mark.parametrize(
    "outputs", [LATENCY % "nan", f"{CONV % 3}\n{LATENCY % 'nan'}", f"{CONV % 3}\nPyTorchObserver {{"]
)
def test_a_note_used_as_the_reason_is_not_repeated(outputs: str) -> None:
    result = build_from_output(outputs, outputs)
    assert result.outcome is Outcome.FAILED
    assert result.reason is not None
    assert not any(note.message.removesuffix(" (and 1 more like it)") in result.reason for note in result.notes)


def test_operators_without_a_model_latency_are_a_success() -> None:
    assert build_from_output(CONV % 3).outcome is Outcome.OK


@pytest.mark.parametrize("operators", [True, False])
def test_a_latency_with_operators_timed_has_a_note(operators: bool) -> None:
    result = build_from_output(f"{LATENCY % 5}\n{CONV % 3}", operators=operators)
    assert [note.trust for note in result.notes if note.code == "operators_timed"] == [True] * operators


def test_the_stated_direction_is_used_for_the_metric() -> None:
    result = build_from_output('{"quality": 3}', direction={"quality": Direction.HIGHER, "qualty": Direction.HIGHER})
    assert [metric.direction for metric in result.metrics] == [Direction.HIGHER]
    (note,) = (note for note in result.notes if note.code == "direction")
    assert "qualty" in note.message


def test_no_launches_left_is_a_success_if_the_metric_is_known() -> None:
    """An interrupted comparison may have had all its pairs."""
    assert build_from_output().outcome is Outcome.FAILED
    resumed = build_from_output(known={"NET latency"}, operators=True)
    assert (resumed.outcome, resumed.notes) == (Outcome.OK, ())
    warm_up = build_from_output("", known={"NET latency"})
    assert warm_up.outcome is Outcome.OK


def test_a_lost_metric_is_a_failure_even_if_known() -> None:
    assert build_from_output(LATENCY % "fast", known={"NET latency"}).outcome is Outcome.FAILED
    assert build_from_output("PyTorchObserver {garbage", known={"NET latency"}).outcome is Outcome.OK
    assert build_from_output("PyTorchObserver {garbage", known={"memory"}).outcome is Outcome.FAILED


def disturbed_in(count: int, launches: int = 5) -> Result:
    """Build the result of launches of which some report that another program used their CPU."""
    disturbances = tuple(
        Note(code="disturbed", message=f"by {index}", trust=False, error=0.1 * index) for index in range(count)
    )
    return build_from_output(*(LATENCY % (100 + index) for index in range(launches)), notes=disturbances)


def test_a_minority_of_disturbed_launches_is_no_doubt_because_the_interval_covers_them() -> None:
    assert disturbed_in(2).trusted
    assert not disturbed_in(3).trusted
    assert not disturbed_in(1, launches=1).trusted, "a single launch has no interval"


def test_the_worst_of_several_notes_is_shown() -> None:
    (note,) = (note for note in disturbed_in(4).notes if note.code == "disturbed")
    assert note.message == "by 3 (and 3 more like it)"
    assert note.error == pytest.approx(0.3)


def test_every_metric_has_an_interval_over_its_launches() -> None:
    (metric,) = disturbed_in(0).metrics
    assert metric.interval is not None
    assert metric.interval.launches == 5
    assert metric.interval.low < 100
    assert metric.interval.high > 104


def test_launches_that_time_ended_before_the_first_look_have_one_interval() -> None:
    def width(launches: int, max_launches: int | None) -> float:
        outputs = [LATENCY % (100 + index) for index in range(launches)]
        (metric,) = build_from_output(*outputs, max_launches=max_launches).metrics
        assert metric.interval is not None
        return metric.interval.high - metric.interval.low

    assert width(3, max_launches=30) == width(3, max_launches=None)
    assert width(5, max_launches=30) > width(5, max_launches=None)
