"""Logs of `benchmark_model`; recorded/README.md tells where they are from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.tflite import operator_tables
from frameworks.tflite.benchmark_model import is_log, parse_log
from harness.core.metric import Observation
from harness.core.note import Note

RECORDED = Path(__file__).parent / "recorded"


def parse(text: str) -> tuple[dict[str, Observation], Sequence[Note]]:
    observations, notes = parse_log(text)
    assert len({observation.name for observation in observations}) == len(observations)
    return {observation.name: observation for observation in observations}, notes


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


def test_latency_is_that_of_the_measured_phase_not_of_the_warm_up() -> None:
    observations, notes = parse(recorded("benchmark_model_profile"))
    assert not notes
    assert observations["NET latency"] == Observation(
        type="NET", metric="latency", unit="us",
        summary={
            "n": 594, "p0": 1604, "p100": 1893, "mean": 1679.12, "stdev": 31.4, "p5": 1629, "p50": 1674, "p95": 1741,
        },
    )  # fmt: skip
    warmup = observations["RUN warmup_latency"].summary
    assert warmup is not None
    assert (warmup["n"], warmup["mean"]) == (296, 1688.91)


def test_load_first_iteration_memory_and_threads_are_read() -> None:
    observations, _ = parse(recorded("benchmark_model_profile"))
    numbers = {name: seen.samples for name, seen in observations.items() if seen.samples}
    assert numbers == {
        "RUN load_time": (11409,),
        "RUN first_iteration": (3110,),
        "RUN threads": (1,),
        "RUN model_size": (4021910,),
        "RUN load_memory": (7.5 * 2**20,),
        "RUN overall_memory": (12.25 * 2**20,),
        "RUN peak_memory": (21.5 * 2**20,),
        "RUN final_memory": (22 * 2**20,),
        "RUN final_anonymous_memory": (13 * 2**20,),
        "RUN final_shared_memory": (9 * 2**20,),
    }
    assert observations["RUN delegate"].info == "XNNPACK (partially, 2 kernels)"


@pytest.mark.parametrize("form", ["profile", "csv"])
def test_operators_take_the_time_of_all_their_calls_in_an_inference(form: str) -> None:
    observations, notes = parse(recorded(f"benchmark_model_{form}"))
    assert not notes
    operators = {name: seen for name, seen in observations.items() if seen.is_of_operator}
    assert {name: seen.summary and round(seen.summary["mean"], 6) for name, seen in operators.items()} == {
        "tfl.quantize latency": 0.203,
        "Delegate/Convolution (NHWC, QC8) IGEMM:0 latency": 0.407,
        "Delegate/Convolution (NHWC, QC8) DWConv:1 latency": 0.663,
        "Delegate/Convolution (NHWC, QC8) GEMM:2 latency": 0.299,
        "Delegate/Add (ND, QS8):9 latency": 0.024,
        "tfl.dequantize latency": 0.004,
    }
    assert all(seen.unit == "ms" for seen in operators.values())


def test_what_would_count_operators_twice_is_no_operator() -> None:
    observations, _ = parse(recorded("benchmark_model_profile"))
    assert observations["Convolution (NHWC, QC8) GEMM total_latency"].summary == {"mean": 0.299}
    assert observations["Convolution (NHWC, QC8) GEMM:1 internal_latency"].summary == {"mean": 0.3}
    assert observations["RUN initialisation AllocateTensors/0"].summary == {"mean": 5.061}


def test_logs_of_tensorflow_1_are_read_with_the_names_of_fai_pep() -> None:
    observations, notes = parse(recorded("benchmark_model_tf1"))
    assert not notes
    latency = observations["NET latency"].summary
    assert latency == {"n": 447, "p0": 2183, "p100": 3106, "mean": 2236.42, "stdev": 72}
    assert list(observations["RUN load_time"].samples) == [3872]
    assert list(observations["RUN threads"].samples) == [4]
    operators = [seen.type for seen in observations.values() if seen.is_of_operator]
    assert operators == [
        "MobilenetV2/Conv/Relu6",
        "MobilenetV2/expanded_conv/depthwise/Relu6",
        "MobilenetV2/expanded_conv/project/BatchNorm",
        "MobilenetV2/expanded_conv_2/add, MobilenetV2/expanded_conv_2/output",
        "output",
    ]
    assert observations["CONV_2D total_latency"].summary == {"mean": 1.564}


def test_summary_of_performance_options_is_a_metric_for_each() -> None:
    observations, notes = parse(recorded("benchmark_model_options"))
    assert "NET latency" not in observations
    fast = observations["NET latency cpu w/ 2 threads (xnnpack)"].summary
    slow = observations["NET latency cpu w/ 2 threads"].summary
    assert fast is not None
    assert slow is not None
    assert (fast["mean"], slow["mean"]) == (3921.5, 25011.7)
    assert [note.code for note in notes] == ["failed_options"]
    assert "gpu-default" in notes[0].message
    assert not notes[0].trust


def test_profile_summary_of_litert_is_read() -> None:
    observations, notes = parse(recorded("litert_profile_summary"))
    assert not notes
    operators = [seen for seen in observations.values() if seen.is_of_operator]
    assert len(operators) == 65
    assert all(seen.summary and seen.summary["mean"] < 10 for seen in operators)


def test_equal_samples_are_statistics_too() -> None:
    log = "Running benchmark for 1\ncount=1 curr=9\n\nRunning benchmark for 3\ncount=3 curr=7(all same)\n"
    observations, _ = parse(log)
    assert observations["NET latency"].summary == {"n": 3, "p0": 7, "p100": 7, "mean": 7, "p50": 7, "stdev": 0}


def test_log_that_ends_after_the_warm_up_has_no_latency() -> None:
    observations, notes = parse("Running benchmark for 1\ncount=4 first=9 curr=8 min=8 max=9 avg=8.5 std=0\n")
    assert "NET latency" not in observations
    assert [(note.code, note.trust) for note in notes] == [("lost_metric", False)]


def test_failure_that_the_log_tells_leaves_no_numbers() -> None:
    observations, notes = parse(recorded("benchmark_model_profile") + "\nERROR: Benchmarking failed.\n")
    assert not observations
    assert [(note.code, note.trust) for note in notes] == [("failed", False)]


@pytest.mark.parametrize("number", ["nan", "inf", "1e999", "...", "-"])
def test_what_is_no_number_is_left_out(number: str) -> None:
    observations, _ = parse(f"Running benchmark\ncount=2 avg=1\nRunning benchmark\ncount=2 min=1 avg={number} max=2\n")
    summary = observations["NET latency"].summary if "NET latency" in observations else {}
    assert "mean" not in (summary or {})


def test_rows_that_cannot_be_read_are_noted() -> None:
    log = recorded("benchmark_model_profile").replace("0.203", "garbage", 1)
    observations, notes = parse(log)
    assert "tfl.quantize latency" not in observations
    assert [(note.code, note.trust) for note in notes] == [("bad_lines", False)]


def test_rows_without_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_tables, "MAX_OPERATORS", 10)
    rows = "".join(f"\tADD\t0.1\t0.1\t1%\t1%\t0\t1\t[x{index}]:{index}\n" for index in range(50))
    observations, notes = parse(f"{'=' * 30} Run Order {'=' * 30}\n\t[node type]\t[first]\n{rows}\n")
    assert len(observations) == 10
    assert [note.code for note in notes] == ["bad_lines"]
    assert "40 lines" in notes[0].message


@given(st.text(alphabet="=RunOrder [avg ms]%,\t\n0123456789.coutfirs:|()", max_size=400))
def test_nothing_makes_it_raise(text: str) -> None:
    parse_log("Running benchmark for\n" + text + "\n" + "=" * 30 + " Run Order " + "=" * 30 + "\n" + text)


def test_long_lines_are_left_out_and_noted() -> None:
    _, notes = parse(recorded("benchmark_model_profile") + "\n" + " " * 1_000_000 + "count=1\n")
    assert [note.code for note in notes] == ["bad_lines"]


def test_only_logs_of_this_tool_are_taken_for_one() -> None:
    assert is_log(recorded("benchmark_model_tf1"))
    assert not is_log('PyTorchObserver {"type": "NET"}')
