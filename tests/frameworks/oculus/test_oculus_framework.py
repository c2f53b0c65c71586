"""FAI-PEP's framework `oculus`: its contract, its command line, and its report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frameworks import oculus
from frameworks.oculus import report
from frameworks.oculus.report import parse_report
from harness.config.settings import Settings
from harness.core.benchmark import ModelFile, OutputFile
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.errors import BenchmarkFailed
from harness.testing.frameworks import CHECKS, HERE, Check, FrameworkCase, benchmark_of

RECORDED = Path(__file__).parent / "recorded"
REPORT = OutputFile(key="output_files.report", filename="report.json", location="/d/report.json")
MASK = OutputFile(key="output_files.mask", filename="mask.bin", location="/d/mask.bin")
IMAGE = ModelFile(key="input_files.image", filename="image.bin", location="/d/image.bin", origin=HERE)
BENCHMARK = benchmark_of("oculus", {"files.model": "/d/m.bin"}, input_files=(IMAGE,), output_files=(REPORT, MASK))
CASE = FrameworkCase(
    create=lambda: oculus.create(Settings()),
    benchmark=BENCHMARK,
    output='PyTorchObserver {"type": "NET", "metric": "latency", "unit": "ms", "value": 3}\n',
    observed={"NET latency": 1},
    refused=(benchmark_of("oculus", output_files=(MASK,)), benchmark_of("oculus", output_files=(REPORT,), cold=True)),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_oculus_keeps_the_contract(check: Check) -> None:
    check(CASE)


def test_the_command_line_is_that_of_fai_pep() -> None:
    files = {"program": "/d/runner", "input_files.image": "/d/image.bin"}
    command = CASE.create().command(BENCHMARK, Build(source="x", commit="1"), files)
    words = "/d/runner --json /d/report.json --input /d/image.bin --output /d/mask.bin"
    assert " ".join(command.argv) == words


def test_without_a_report_the_remedy_is_named() -> None:
    with pytest.raises(BenchmarkFailed, match="no output file takes the figures") as caught:
        CASE.create().command(benchmark_of("oculus"), Build(source="x", commit="1"), {"program": "/d/runner"})
    assert '"filename": "report.json"' in (caught.value.hint or "")


def test_the_report_gives_a_sample_of_each_test() -> None:
    completed = Completed(Command(("x",)), 0, files={"output_files.report": RECORDED / "report.json"})
    observations, notes = CASE.create().parse((completed,), BENCHMARK)
    assert {observation.name: observation.samples for observation in observations} == {
        "NET latency": (12.5, 12.75),
        "NET memory": (1048576.0, 1048576.0),
    }
    assert not notes


def test_a_report_with_a_converter_is_read_by_it() -> None:
    converter = {"converter": "json_with_identifier_converter", "converter_args": {"identifier": "X"}}
    converted = REPORT.model_copy(update=converter)
    completed = Completed(Command(("x",)), 0, files={"output_files.report": RECORDED / "report.json"})
    benchmark = BENCHMARK.model_copy(update={"output_files": (converted,)})
    observations, _ = CASE.create().parse((completed,), benchmark)
    assert not observations, "its entries do not begin lines of their own"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ('[[{"type": "NET", "metric": "latency", "unit": "ms", "value": NaN}]]', "[0][0]: value NaN is not finite"),
        ('[[3, {"type": "a"}], {"value": 2}]', "[0][0]:"),
        ('{"a": ' + "9" * 5000 + "}", "it is not JSON"),
        ("\udcff", "it is not JSON"),
    ],
)
def test_what_is_no_report_is_noted(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(content.encode(errors="surrogateescape"))
    observations, (note,) = parse_report(file)
    assert not observations
    assert message in note.message
    assert not note.trust


def test_readable_entries_of_a_damaged_report_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    good = {"type": "NET", "metric": "latency", "unit": "ms", "value": 3}
    file.write_text(json.dumps([[good, *([{"type": "NET"}] * 20)], good]))
    (observation,), (note,) = parse_report(file)
    assert observation.samples == (3.0, 3.0)
    assert "and 15 more" in note.message


def test_a_huge_report_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_BYTES", 10)
    file = tmp_path / "report.json"
    file.write_text("[" + " " * 20 + "]")
    observations, (note,) = parse_report(file)
    assert not observations
    assert "larger than" in note.message
