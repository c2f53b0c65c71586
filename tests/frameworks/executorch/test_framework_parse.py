from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.executorch import create, executor_runner
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark, OutputFile
from harness.core.command import Command, Completed
from harness.core.metric import Observation
from harness.core.note import Note

RECORDED = Path(__file__).parent / "recorded"


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


def parse(
    benchmark: Benchmark, stdout: str = "", stderr: str = "", exit_code: int = 0
) -> tuple[dict[str, Observation], Sequence[Note]]:
    completed = Completed(Command(("runner",)), exit_code=exit_code, stdout=stdout, stderr=stderr)
    observations, notes = create(Settings()).parse([completed], benchmark)
    return {observation.name: observation for observation in observations}, notes


def lines(*, latency: Sequence[int], cpu_time: Sequence[int], threads: int = 1) -> str:
    values = [("NET", "latency", "ns", value) for value in latency]
    values += [("NET", "cpu_time", "ns", value) for value in cpu_time]
    values.append(("RUN", "threads", "", threads))
    return "\n".join(
        f'PyTorchObserver {{"type": "{kind}", "metric": "{metric}", "unit": "{unit}", "value": "{value}"}}'
        for kind, metric, unit, value in values
    )


# --- what is observed --------------------------------------------------------------------------------------------


def test_output_of_the_native_runner_is_parsed(benchmark_of_add: Benchmark) -> None:
    observations, notes = parse(benchmark_of_add.model_copy(update={"threads": 1}), recorded("native"))
    assert not notes
    assert observations["NET latency"] == Observation(
        type="NET", metric="latency", unit="ns", samples=(381, 311, 341, 321, 371)
    )
    assert list(observations["NET cpu_time"].samples) == [831, 751, 761, 741, 791]
    assert {name: observations[name].samples for name in observations if name.startswith("RUN ")} == {
        "RUN load_time": (514077,),
        "RUN first_iteration": (29154,),
        "RUN memory_before_load": (5570560,),
        "RUN memory_after_load": (6258688,),
        "RUN peak_memory": (6414336,),
        "RUN threads": (1,),
        "RUN warmup_done": (2,),
        "RUN iterations_done": (5,),
        "RUN runtime": (),
    }
    assert observations["RUN runtime"].info == "executorch 1.5.1 native"


def test_the_log_of_the_upstream_runner_is_parsed(benchmark_of_add: Benchmark) -> None:
    observations, notes = parse(benchmark_of_add.model_copy(update={"warmup": 1}), stderr=recorded("executor_runner"))
    (note,) = notes
    assert (note.code, note.trust) == ("upstream_runner", True)
    assert note.message.endswith("does not report CPU time, memory, the threads in use or operators")
    assert observations == {
        "NET latency": Observation(type="NET", metric="latency", unit="ms", samples=(1.732249, 1.734012)),
        "RUN load_time": Observation(type="RUN", metric="load_time", unit="ms", samples=(16.371022,)),
    }


def test_all_executions_of_custom_commands_are_samples(benchmark_of_add: Benchmark) -> None:
    own = benchmark_of_add.model_copy(update={"commands": ("{program} --num_executions=3",)})
    observations, _ = parse(own, stderr=recorded("executor_runner"))
    assert observations["NET latency"].samples == (5.91303, 1.732249, 1.734012)


def test_a_total_alone_becomes_a_mean() -> None:
    (latency,) = executor_runner.parse_log(
        "I 00:00 executorch:x.cpp:1] Model executed successfully 4 time(s) in 10.0 ms."
    )
    assert (latency.summary, latency.samples) == ({"mean": 2.5}, ())


def test_a_mean_that_includes_the_warm_up_has_a_note(benchmark_of_add: Benchmark) -> None:
    total = "I 00:00 executorch:x.cpp:1] Model executed successfully 4 time(s) in 10.0 ms."
    observations, (note, other) = parse(benchmark_of_add.model_copy(update={"warmup": 1}), stderr=total)
    assert observations["NET latency"].summary == {"mean": 2.5}
    assert (note.code, note.trust) == ("warmup_counted", True)
    assert "includes the warm-up (1 executions)" in note.message
    assert "does not report the time of each iteration, load time, CPU time" in other.message
    (note,) = parse(benchmark_of_add.model_copy(update={"warmup": 0}), stderr=total)[1]
    assert note.code == "upstream_runner"


def test_a_launch_that_only_warmed_up_has_no_latency() -> None:
    log = "Iteration 1 of 4: 2.0 ms\nModel executed successfully 4 time(s) in 10.0 ms.\n"
    assert executor_runner.parse_log(log, warmup=3) == ()


def test_zero_executions_have_no_mean() -> None:
    assert executor_runner.parse_log("Model executed successfully 0 time(s) in 0.0 ms.") == ()


def test_observer_lines_override_a_log(benchmark_of_add: Benchmark) -> None:
    observations, _ = parse(benchmark_of_add, recorded("native"), recorded("executor_runner"))
    assert observations["NET latency"].unit == "ns"
    assert observations["RUN load_time"].samples == (514077,)


def test_a_failed_launch_has_no_numbers_and_raises_nothing(benchmark_of_add: Benchmark) -> None:
    assert parse(benchmark_of_add, stderr="error: no such file: /d/add.pte\n", exit_code=3) == ({}, ())


@given(text=st.text() | st.text(alphabet="Iteration Model loaded in 0123456789. ms of:\n"))
def test_arbitrary_output_raises_nothing(text: str) -> None:
    assert all(isinstance(observation, Observation) for observation in executor_runner.parse_log(text))


# --- what is noted -----------------------------------------------------------------------------------------------


def test_an_early_end_is_noted_with_the_iterations(benchmark_of_add: Benchmark) -> None:
    _, notes = parse(benchmark_of_add.model_copy(update={"iterations": 1_000_000}), recorded("python_stopped"))
    (note,) = notes
    assert (note.code, note.trust) == ("stopped_early", True)
    assert note.message == "the time limit ended the launch after 3 of 1000000 iterations"


def test_a_different_number_of_threads_is_not_trusted(benchmark_of_add: Benchmark) -> None:
    _, notes = parse(benchmark_of_add.model_copy(update={"threads": 4}), recorded("native"))
    (note,) = notes
    assert (note.code, note.trust) == ("threads", False)
    assert note.message == "the runner used 1 threads instead of 4"


def test_unspecified_threads_are_accepted(benchmark_of_add: Benchmark) -> None:
    assert parse(benchmark_of_add, recorded("native"))[1] == ()


def openvino_lines(precision: str, threads: int) -> str:
    """What a runner prints about a delegate of OpenVINO."""
    values = (
        {"metric": "openvino_precision", "info_string": precision},
        {"metric": "openvino_threads", "value": str(threads)},
    )
    return "\n".join(f"PyTorchObserver {json.dumps({'type': 'RUN', 'unit': '', **value})}" for value in values)


@pytest.mark.parametrize(
    ("precision", "sentence"),
    [("bf16", "OpenVINO computed in bf16"), ("unknown", "nothing tells the precision")],
)
def test_a_precision_other_than_the_program_s_is_noted(
    benchmark_of_add: Benchmark, precision: str, sentence: str
) -> None:
    _, (note,) = parse(benchmark_of_add, recorded("native"), openvino_lines(precision, 1))
    assert (note.code, note.trust) == ("openvino_precision", True)
    assert sentence in note.message


def test_the_precision_of_the_program_needs_no_note(benchmark_of_add: Benchmark) -> None:
    assert parse(benchmark_of_add, recorded("native"), openvino_lines("f32", 1))[1] == ()


def test_threads_that_openvino_did_not_obey_are_not_trusted(benchmark_of_add: Benchmark) -> None:
    with_one_thread = benchmark_of_add.model_copy(update={"threads": 1})
    _, (note,) = parse(with_one_thread, recorded("native"), openvino_lines("f32", 2))
    assert (note.code, note.trust) == ("threads", False)
    assert note.message == "OpenVINO used 2 threads instead of 1"


@pytest.mark.parametrize(
    ("latency", "cpu_time", "threads", "codes"),
    [
        ((100, 100, 100), (100, 100, 100), 1, []),
        ((100, 100, 110), (100, 100, 100), 1, []),
        ((111, 111, 111), (100, 100, 100), 1, ["disturbed"]),
        ((100, 100, 9000), (100, 100, 100), 1, []),  # the median is not disturbed
        ((100, 9000, 9000), (100, 100, 100), 1, ["disturbed"]),
        ((900, 900, 900), (100, 100, 100), 2, []),  # the process's CPU time says nothing about waiting
    ],
)
def test_one_thread_that_waits_for_its_cpu_is_not_trusted(
    benchmark_of_add: Benchmark, latency: Sequence[int], cpu_time: Sequence[int], threads: int, codes: Sequence[str]
) -> None:
    _, notes = parse(benchmark_of_add, lines(latency=latency, cpu_time=cpu_time, threads=threads))
    assert [note.code for note in notes] == codes
    assert not any(note.trust for note in notes)


@pytest.mark.parametrize(
    ("latency", "cpu_time", "share", "medians"),
    [
        (2_660_000, 1_930_000, "27 %", "its median latency 2.66 ms, median CPU time 1.93 ms"),
        (999_600, 812_345, "19 %", "its median latency 1000 µs, median CPU time 812 µs"),
        (45_300_000_000, 310, "100 %", "its median latency 45.3 s, median CPU time 310 ns"),
    ],
)
def test_a_disturbance_is_reported_as_a_share_of_time_with_a_remedy(
    benchmark_of_add: Benchmark, latency: int, cpu_time: int, share: str, medians: str
) -> None:
    _, (note,) = parse(benchmark_of_add, lines(latency=[latency], cpu_time=[cpu_time]))
    assert note.message == f"another program used the CPU for {share} of the time of a launch ({medians})"
    assert "--cpus" in (note.hint or "")


# --- output files ------------------------------------------------------------------------------------------------


def test_an_output_file_with_a_converter_is_read(benchmark_of_add: Benchmark, tmp_path: Path) -> None:
    made = tmp_path / "accuracy.json"
    made.write_text('{"type": "NET", "metric": "accuracy", "unit": "", "value": 0.75}')
    output = OutputFile(
        key="output_files.accuracy", filename=made.name, location="/d/accuracy.json", converter="json_converter"
    )
    done = Completed(Command(("runner",)), exit_code=0, stdout=recorded("native"), files={output.key: made})
    benchmark = benchmark_of_add.model_copy(update={"output_files": (output,)})
    observations, _ = create(Settings()).parse([done], benchmark)
    assert {observation.name: observation.samples for observation in observations}["NET accuracy"] == (0.75,)
    unknown = benchmark.model_copy(update={"output_files": (output.model_copy(update={"converter": "csv"}),)})
    _, notes = create(Settings()).parse([done], unknown)
    assert [(note.code, note.trust) for note in notes if note.code == "converter"] == [("converter", False)]
