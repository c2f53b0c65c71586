"""Calibration with real data: the ranges of a quantised program are those of the examples that it was given."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from harness import plugins
from harness.config.settings import Settings
from harness.core.benchmark import Export, Input, Model, ModelFile, SpecificationPlace
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest
from harness.core.protocols import Exporter
from harness.files.examples import read_examples
from harness.files.tensors import Array
from harness.flows.measure.example_sets import CalibrationExamples, open_model_cache
from harness.testing.progress import RecordedProgress

EXPORT = Export(
    definition="digits",
    recipe="xnnpack_q8",
    inputs=(Input(name="image", shape=(1, 1, 8, 8)),),
    calibration=40,
    options={"epochs": 1},
    calibration_data=DataRequest(provider="digits"),
)


def settings_in(folder: Path) -> Settings:
    return Settings(cache_dir=folder / "cache", model_cache=folder / "cache" / "models")


def test_there_are_as_many_examples_as_batches(tmp_path: Path) -> None:
    calibration = CalibrationExamples(settings_in(tmp_path))
    assert calibration.find(EXPORT) is None
    folder = calibration.prepare(EXPORT, RecordedProgress())
    assert len(read_examples(folder)) == 40
    assert calibration.find(EXPORT) == folder
    assert calibration.find(EXPORT.model_copy(update={"calibration_data": None})) is None


def test_fewer_examples_than_batches_are_refused(tmp_path: Path) -> None:
    few = EXPORT.model_copy(update={"calibration_data": DataRequest(provider="digits", count=39)})
    with pytest.raises(DataUnavailable, match="has 39 examples, and `calibration` asks for 40 batches"):
        CalibrationExamples(settings_in(tmp_path)).prepare(few, RecordedProgress())


def test_an_unknown_data_set_is_named(tmp_path: Path) -> None:
    unknown = EXPORT.model_copy(update={"calibration_data": DataRequest(provider="digitz")})
    with pytest.raises(DataUnavailable, match="no data provider `digitz`") as raised:
        CalibrationExamples(settings_in(tmp_path)).prepare(unknown, RecordedProgress())
    assert raised.value.hint == "did you mean `digits`?"


@pytest.mark.slow
def test_the_ranges_of_a_quantised_program_are_those_of_its_calibration_data(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    images: list[Array] = [
        image for (image,) in read_examples(CalibrationExamples(settings).prepare(EXPORT, RecordedProgress()))
    ]
    np.save(tmp_path / "dark.npy", np.stack(images) / 4)
    dark = DataRequest(provider="files", options={"path": str(tmp_path / "dark.npy")})

    darkened = EXPORT.model_copy(update={"calibration_data": dark})
    assert _step_of_input(darkened, settings) == pytest.approx(0.25 / 255, rel=0.02)


def _step_of_input(export: Export, settings: Settings) -> float:
    """Export through the cache, and return the step of the input's quantisation: its range is 255 steps."""
    framework = plugins.framework("executorch", settings)
    assert isinstance(framework, Exporter)
    file = ModelFile(
        key="files.model", filename="digits.pte", export=export, origin=SpecificationPlace(file=Path("digits.json"))
    )
    cached = open_model_cache(settings).fetch(
        file, model=Model(name="digits", format="executorch"), exporter=framework, progress=RecordedProgress()
    )
    graph = cached.path.with_name("digits.pte.graph.txt").read_text()
    match = re.search(
        r"quantize_per_tensor\.default\]\(args = \(%\w*(?:input|image)\w*, ([\d.e-]+), (-?\d+), -128, 127", graph
    )
    assert match is not None, graph
    assert int(match[2]) == -128, "the smallest value is 0"
    return float(match[1])
