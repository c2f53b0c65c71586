"""What real runners print, with edits: it is parsed, and makes a result that is stored and shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from frameworks.executorch.framework import ExecuTorch
from frameworks.generic.framework import Generic
from frameworks.observations.observer import parse_announced, parse_lines
from harness.analysis.results import build_result
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.measurement import Job, Measurement
from harness.core.result import Launch, Outcome, make_writable
from harness.display.console import CleanConsole
from harness.display.results import show_results
from harness.store.canonical_json import to_pretty_json
from harness.testing.results import DEVICE
from tests.flows.instant import benchmark as make_benchmark
from tests.fuzz.mutations import CUTS, EDITS, Cut, Edit, cut, edited, fuzzed

RECORDED = Path(__file__).parents[1] / "frameworks" / "executorch" / "recorded"
OUTPUTS = [file.read_bytes() for file in sorted(RECORDED.glob("*.txt"))]
LINES = [
    json.loads(line.partition("PyTorchObserver ")[2])
    for output in OUTPUTS
    for line in output.decode().splitlines()
    if "PyTorchObserver {" in line
]
FRAMEWORKS = (Generic({}), ExecuTorch(Settings()))


def _look(text: bytes) -> None:
    """Parse an output as every framework does, and show the result that it makes."""
    printed = text.decode(errors="replace")
    benchmark = make_benchmark("fuzzed")
    parse_announced(printed)
    parse_announced(printed, ())
    parse_lines(printed, ())
    for framework in FRAMEWORKS:
        completed = Completed(Command(("runner",)), exit_code=0, stdout=printed, stderr=printed[::2], wall_s=0.1)
        observations, notes = framework.parse([completed], benchmark)
        _show(
            benchmark,
            Measurement(
                started=1.0,
                finished=2.0,
                outcome=Outcome.OK,
                launches=tuple(Launch(index=index, outcome=Outcome.OK, started=1.0, wall_s=0.1) for index in range(2)),
                observations=(tuple(observations),) * 2,
                notes=tuple(notes),
            ),
        )


def _show(benchmark: Benchmark, measurement: Measurement) -> None:
    job = Job(benchmark, Build(source="none", commit="none"))
    result = make_writable(build_result(job, DEVICE, measurement, run_type="benchmark", meta={}))
    assert result.outcome in {Outcome.OK, Outcome.FAILED}
    assert type(result).model_validate_json(to_pretty_json(result)) == result
    show_results([result], CleanConsole(file=io.StringIO(), width=120))


@fuzzed(60)
@given(st.sampled_from(OUTPUTS), CUTS)
def test_damaged_output_of_real_runners_is_parsed(output: bytes, cuts: list[Cut]) -> None:
    _look(cut(output, cuts))


@fuzzed(100)
@given(st.lists(st.tuples(st.sampled_from(LINES), EDITS), min_size=1, max_size=4))
def test_edited_observer_lines_are_parsed(lines: list[tuple[Any, list[Edit]]]) -> None:
    _look("\n".join(f"PyTorchObserver {json.dumps(edited(line, edits))}" for line, edits in lines).encode())
