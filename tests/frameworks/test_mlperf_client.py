"""Results of MLPerf Client in the output of programs, and in their output files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from frameworks.observations.observer import parse_lines
from harness.core.metric import Observation
from harness.core.note import Note

SAMPLES = Path(__file__).parents[1] / "foreign" / "samples"
LINE, FAILED, IMAGES = (SAMPLES / "mlperf_client.jsonl").read_text(encoding="utf-8").splitlines()
"""Its origin is in the folder's README."""


def _parse(text: str, identifiers: tuple[str, ...] | None = None) -> tuple[dict[str, Observation], tuple[Note, ...]]:
    observations, notes = parse_lines(text) if identifiers is None else parse_lines(text, identifiers)
    return {observation.name: observation for observation in observations}, notes


@pytest.mark.parametrize(
    ("before", "identifiers"),
    [("", None), ("Running\n", None), ('{"another": 1}\n', None), ("", ()), ("Running\n", ())],
)
def test_a_line_is_read_wherever_it_stands(before: str, identifiers: tuple[str, ...] | None) -> None:
    observations, notes = _parse(f"{before}{LINE}\n", identifiers)
    assert notes == ()
    assert observations["mlperf_client decode_rate"].samples == (48.125,)
    assert observations["mlperf_client time_to_first_token"].unit == "s"
    assert observations["mlperf_client.code_analysis decode_rate"].samples == (45.5,)
    assert "mlperf_client.summarization_intermediate decode_rate" not in observations
    assert observations["mlperf_client results_verified"].info == "yes"


def test_a_benchmark_that_failed_is_no_number() -> None:
    observations, notes = _parse(f"{FAILED}\n")
    assert observations == {}
    assert {note.code for note in notes} == {"bad_lines", "lost_metric"}
    assert "Failed to create tokenizer" in notes[0].message


def test_a_second_result_in_one_output_is_refused() -> None:
    observations, notes = _parse(f"{LINE}\n{LINE}\n")
    assert observations["mlperf_client decode_rate"].samples == (48.125,)
    assert notes[0].code == "bad_lines"
    assert "may hold earlier runs" in notes[0].message


def test_images_have_rates_of_their_own() -> None:
    observations, notes = _parse(IMAGES)
    assert notes == ()
    assert observations["mlperf_client image_rate"].samples == (0.1,)


def test_a_result_of_zeros_is_no_number() -> None:
    entry = json.loads(IMAGES) | {"Images Per Minute": 0.0, "Steps Per Second": 0, "Avg End-to-End Seconds": 0.0}
    observations, notes = _parse(json.dumps(entry))
    assert observations == {}
    assert "without figures" in notes[0].message


@pytest.mark.parametrize("value", ["NaN", "1e999", '"1"', "-3", "[1]", "true"])
def test_figures_that_are_none_are_refused_in_words(value: str) -> None:
    observations, notes = _parse(LINE.replace("48.125", value))
    assert observations == {}
    assert "MLPerf Client" in notes[0].message
