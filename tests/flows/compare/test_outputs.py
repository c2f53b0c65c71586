"""Outputs of both sides in a comparison: when they are taken, what differs, and what that does to the verdict."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from frameworks.generic.framework import Generic
from harness.core.benchmark import Benchmark, OutputFile
from harness.core.command import Command, Completed
from harness.core.comparison import Comparison, Parameters
from harness.core.device import Device
from harness.core.errors import ExitCode
from harness.core.protocols import Progress
from harness.core.result import Result
from harness.core.verdict import OutputVerdict, Verdict
from harness.flows.compare.reevaluate import reevaluate
from harness.flows.measure.plan import Plan, assign
from harness.presentation.comparison_table import build_row, describe_sides, list_lines
from harness.presentation.explanations import explain_verdict
from tests.flows.instant import Instant, InstantSession, benchmark
from tests.flows.runs import FEWEST, Run

Writer = Callable[[str, int], bytes]
"""Returns what the program of a side (`/control` or `/treatment`) writes in its launch of this number, from 0."""


class WritingDevice(Instant):
    """A device whose programs write an output file."""

    def __init__(self, write: Writer, trace: list[str]) -> None:
        super().__init__(["A"])
        self._write = write
        self._trace = trace

    @contextlib.contextmanager
    def open(self, device: Device, progress: Progress) -> Iterator[InstantSession]:
        yield WritingSession(device, self._write, self._trace)


class WritingSession(InstantSession):
    def __init__(self, device: Device, write: Writer, trace: list[str]) -> None:
        super().__init__(device, lambda _: None)
        self._write = write
        self._trace = trace
        self._side = ""
        self._launches: dict[tuple[str, str], int] = {}

    def run(self, command: Command) -> Completed:
        self._side, name = command.argv[:2]
        self._trace.append(f"{self._side[1:]} {name}")
        self._launches[self._side, name] = self._launches.get((self._side, name), -1) + 1
        self._written = self._write(self._side, self._launches[self._side, name])
        return super().run(command)

    def pull(self, remote: str, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(self._written)


def writing(name: str, **fields: object) -> Benchmark:
    output = OutputFile.model_validate(
        {"key": "output_files.scores", "filename": "scores.bin", "location": "{TGTDIR}/scores.bin", **fields}
    )
    return benchmark(name).model_copy(update={"output_files": (output,)})


def plan_of(platform: Instant, benchmarks: Sequence[Benchmark]) -> Plan:
    return Plan(platform, assign(benchmarks, platform.devices(), platform), {"generic": Generic({})})


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def by_side(control: bytes, treatment: bytes) -> Writer:
    return lambda side, _: control if side == "/control" else treatment


def compare(
    folder: Path, write: Writer, benchmarks: Sequence[Benchmark], *, parameters: Parameters = FEWEST
) -> tuple[Run, list[Result], list[str]]:
    run = Run(folder)
    trace: list[str] = []
    run.follow(plan_of(WritingDevice(write, trace), benchmarks), parameters=parameters)
    return run, run.recorder.results, trace


def comparison_of(results: Sequence[Result]) -> Comparison:
    (result,) = results
    assert result.comparison is not None
    return result.comparison


def verdict_of(comparison: Comparison) -> OutputVerdict:
    assert comparison.outputs is not None
    return comparison.outputs.verdict


LONG = FEWEST.model_copy(update={"max_pairs": 40, "margin": 0.02})
SAME_BYTES = by_side(b"same", b"same")


def test_equal_output_files_are_identical_and_cost_no_launch(tmp_path: Path) -> None:
    run, results, trace = compare(tmp_path, SAME_BYTES, [writing("same")], parameters=LONG)
    comparison = comparison_of(results)
    assert verdict_of(comparison) is OutputVerdict.IDENTICAL
    assert comparison.effective_verdict is Verdict.NO_CHANGE
    assert len(trace) == 2 + 2 * len(comparison.pairs)
    assert run.reporting.exit_code() is ExitCode.OK


def test_equal_outputs_add_no_line_below_the_table(tmp_path: Path) -> None:
    _, results, _ = compare(tmp_path, SAME_BYTES, [writing("same")], parameters=LONG)
    assert not [line.text for line in list_lines(results) if "output" in line.text]
    assert ("outputs", "identical") in describe_sides(results)


def test_faster_and_different_is_no_improvement(tmp_path: Path) -> None:
    run, results, _ = compare(tmp_path, by_side(b"right", b"wrong"), [writing("better-on-A")])
    comparison = comparison_of(results)
    assert comparison.verdict is Verdict.IMPROVEMENT
    assert comparison.effective_verdict is Verdict.UNDECIDED
    assert run.reporting.exit_code() is ExitCode.UNDECIDED
    assert build_row(results[0]).verdict == "undecided, outputs differ"
    explained = explain_verdict(results[0], 1)
    assert explained.startswith("its pairs show an improvement, but treatment and control compute different outputs")
    assert "output_files.scores" in explained


def test_slower_and_different_stays_a_regression(tmp_path: Path) -> None:
    run, results, _ = compare(tmp_path, by_side(b"right", b"wrong"), [writing("worse-on-A")])
    assert comparison_of(results).effective_verdict is Verdict.REGRESSION
    assert build_row(results[0]).verdict == "regression, outputs differ"
    assert run.reporting.exit_code() is ExitCode.REGRESSION


def test_unchanged_speed_with_different_outputs_never_ends_with_success(tmp_path: Path) -> None:
    run, results, _ = compare(tmp_path, by_side(b"right", b"wrong"), [writing("same")], parameters=LONG)
    assert comparison_of(results).effective_verdict is Verdict.NO_CHANGE
    row = build_row(results[0])
    assert (row.mark, row.verdict, row.outputs) == ("=≠", "no change, outputs differ", "DIFFERENT")
    assert any(line.text.startswith("≠") for line in list_lines(results))
    assert "1 with different outputs" in run.reporting.summary(None)
    assert run.reporting.exit_code() is ExitCode.UNDECIDED


def test_numbers_may_differ_by_rounding_where_their_type_is_told(tmp_path: Path) -> None:
    write = by_side(floats(1.0, -2.0), floats(1.00001, -2.0))
    _, results, _ = compare(tmp_path / "numbers", write, [writing("same", dtype="float")], parameters=LONG)
    assert verdict_of(comparison_of(results)) is OutputVerdict.WITHIN_TOLERANCE
    _, results, _ = compare(tmp_path / "bytes", write, [writing("same")], parameters=LONG)
    assert verdict_of(comparison_of(results)) is OutputVerdict.DIFFERENT


@pytest.mark.parametrize("given_in", ["specification", "command line"])
def test_the_tolerance_can_be_given(tmp_path: Path, given_in: str) -> None:
    write = by_side(floats(1.0, -2.0), floats(1.1, -2.0))
    measured, parameters = writing("same", dtype="float"), LONG
    _, results, _ = compare(tmp_path / "default", write, [measured], parameters=parameters)
    assert verdict_of(comparison_of(results)) is OutputVerdict.DIFFERENT
    if given_in == "specification":
        measured = measured.model_copy(update={"output_tolerance": 0.06})
    else:
        parameters = parameters.model_copy(update={"output_tolerance": 0.06})
    _, results, _ = compare(tmp_path / "given", write, [measured], parameters=parameters)
    assert verdict_of(comparison_of(results)) is OutputVerdict.WITHIN_TOLERANCE


def test_nan_on_one_side_is_different_in_words(tmp_path: Path) -> None:
    write = by_side(floats(1.0, 2.0), floats(1.0, float("nan")))
    _, results, _ = compare(tmp_path, write, [writing("same", dtype="float")])
    outputs = comparison_of(results).outputs
    assert outputs is not None
    assert outputs.verdict is OutputVerdict.DIFFERENT
    assert "the treatment's outputs are not finite" in (outputs.reason or "")
    assert "nan instead of 2" in (outputs.first_difference or "")


def test_a_control_that_differs_from_itself_shows_nothing_of_the_treatment(tmp_path: Path) -> None:
    _, results, trace = compare(tmp_path, lambda side, launch: f"{side} {launch}".encode(), [writing("same")])
    outputs = comparison_of(results).outputs
    assert outputs is not None
    assert outputs.verdict is OutputVerdict.NOT_COMPARED
    assert "in each launch" in (outputs.reason or "")
    assert trace[:3] == ["control same", "treatment same", "control same"]


def test_no_launch_for_outputs_lies_between_timed_pairs_of_any_benchmark(tmp_path: Path) -> None:
    names = ["worse-on-A", "same-1", "same-2"]
    write = by_side(b"right", b"wrong")
    _, results, trace = compare(tmp_path, write, [writing(name) for name in names], parameters=LONG)
    untimed = [f"{side} {name}" for name in names for side in ("control", "treatment", "control")]
    assert trace[: len(untimed)] == untimed  # warm-up of both, and the control once more because outputs differ
    pairs = sum(len(result.comparison.pairs) for result in results if result.comparison)
    assert len(trace) == len(untimed) + 2 * pairs
    for result in results:
        taken = [launch for launch in result.control_launches if launch.discarded == "its outputs were compared"]
        assert len(taken) == 1
        assert taken[0].index == 1
        assert not [launch for launch in result.launches if launch.discarded == "its outputs were compared"]


def test_files_with_a_converter_are_figures_and_no_outputs(tmp_path: Path) -> None:
    measured = writing("same", converter="json_converter")
    _, results, _ = compare(tmp_path, by_side(b"right", b"wrong"), [measured])
    outputs = comparison_of(results).outputs
    assert outputs is not None
    assert outputs.verdict is OutputVerdict.NOT_COMPARED
    assert "converter" in (outputs.reason or "")


def test_programs_without_output_files_are_not_compared_with_the_reason_above_the_table(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.compare(["A"], ["same"], parameters=LONG)
    assert ("outputs", "not compared: the specification names no `output_files`") in describe_sides(
        run.recorder.results
    )
    assert not [line.text for line in list_lines(run.recorder.results) if "output" in line.text]


def test_an_interrupted_comparison_remembers_its_outputs(tmp_path: Path) -> None:
    trace: list[str] = []
    platform = WritingDevice(by_side(b"right", b"wrong"), trace)
    made = plan_of(platform, [writing("same")])

    def interrupt() -> None:
        if len(trace) == 3 + 2 * 4:
            raise KeyboardInterrupt

    with contextlib.suppress(BaseException):
        Run(tmp_path).follow(made, check=interrupt)
    trace.clear()
    resumed = Run(tmp_path)
    resumed.follow(made, resume=True)
    comparison = comparison_of(resumed.recorder.results)
    assert comparison.has_different_outputs
    assert len(trace) == 2 + 2 * (len(comparison.pairs) - 4)  # the control was not launched again for its outputs


def test_a_stored_comparison_that_is_judged_again_keeps_what_is_known_of_its_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _, _ = compare(tmp_path, by_side(b"right", b"wrong"), [writing("better-on-A")])
    assert reevaluate(run.results, {"margin": 0.02}, Console(width=200), tree=run.results) is ExitCode.UNDECIDED
    shown = capsys.readouterr().out
    assert "undecided, outputs differ" in shown
    assert shown.count("compute different outputs") == 1


def test_a_stored_comparison_of_a_harness_that_did_not_look_stays_an_improvement(tmp_path: Path) -> None:
    _, results, _ = compare(tmp_path, SAME_BYTES, [writing("better-on-A")])
    stored = comparison_of(results).model_dump(mode="json", exclude={"outputs"})
    assert Comparison.model_validate(stored).outputs is None
    assert Comparison.model_validate(stored).effective_verdict is Verdict.IMPROVEMENT
