"""The report that ExecuTorch's LLM runners log.

`recorded/llm_report.txt` is from the standard error of the llama_main in test_llama_main.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frameworks.executorch import create
from frameworks.executorch.llm_report import parse_report
from harness.config.settings import Settings
from harness.core.command import Command, Completed
from tests.frameworks.executorch.generating import benchmark

RECORDED = Path(__file__).parent / "recorded"
REPORT = (RECORDED / "llm_report.txt").read_text(encoding="utf-8")
STATISTICS = (RECORDED / "llama_main.txt").read_text(encoding="utf-8")


def _parse(stdout: str, stderr: str = "") -> dict[str, list[float]]:
    completed = Completed(Command(("app",)), exit_code=0, stdout=stdout, stderr=stderr)
    observations, _ = create(Settings()).parse([completed], benchmark())
    return {observation.name: list(observation.samples) for observation in observations}


def test_the_report_has_the_figures_of_the_statistics() -> None:
    report, statistics = _parse(REPORT), _parse(STATISTICS)
    only_there = statistics.pop("LLM model_execution_time")
    assert only_there == [319]
    assert {name: pytest.approx(samples) for name, samples in report.items()} == statistics
    assert next(iter(report)) == "LLM generate_tokens_per_second"


def test_beside_the_statistics_it_does_not_count_again() -> None:
    assert _parse(STATISTICS, REPORT) == _parse(STATISTICS)


def test_the_lines_of_an_apps_log_are_enough() -> None:
    lines = [line.partition("] ")[2] for line in REPORT.splitlines()]
    assert _parse("\n".join(lines)) == _parse(REPORT)


def test_several_generations_are_several_samples_and_zeros_are_absent() -> None:
    found = _parse(REPORT + REPORT.replace("0.281000", "0.000000"))
    assert len(found["LLM time_to_first_token"]) == 2
    assert len(found["LLM model_load_time"]) == 1
    assert "LLM sampling_time" not in found


@pytest.mark.parametrize("value", ["-1.0", "nan", "1e9", "1" * 400, ""])
def test_times_that_are_none_are_left_out(value: str) -> None:
    assert "LLM time_to_first_token" not in _parse(REPORT.replace("token:\t0.030000", f"token:\t{value}"))


def test_a_report_without_its_beginning_is_none() -> None:
    assert parse_report("\n".join(REPORT.splitlines()[2:]), ()) == ()


@given(st.text(max_size=200))
def test_no_log_is_an_error(text: str) -> None:
    parse_report(text + REPORT[:150] + text + REPORT[150:], ())
