"""Crops of photographs that packages bring: seeded, within the photographs, others for calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pydantic import JsonValue

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split
from harness.data import sample_images
from harness.data.sample_images import PHOTOGRAPHS, SampleImageOptions, draw_crops

INPUTS = (Input(name="x", shape=(1, 3, 6, 8)),)


@pytest.fixture
def photographs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install small pictures in place of the photographs."""
    rng = np.random.default_rng(0)
    for name in (*PHOTOGRAPHS[Split.EVALUATION], *PHOTOGRAPHS[Split.CALIBRATION]):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (30, 40, 3), dtype=np.uint8)).save(file)
    monkeypatch.setattr(sample_images, "_find", lambda name: tmp_path / name)


def take(split: Split = Split.EVALUATION, *, count: int, seed: int = 0, **options: JsonValue) -> list[NDArray[Any]]:
    wanted = DataRequest(provider="sample_images", options=options, count=count, seed=seed)
    return [example.arrays[0] for example in sample_images.create(None).open(wanted, INPUTS, split).examples]


@pytest.mark.usefixtures("photographs")
def test_equal_requests_give_equal_crops_and_more_begin_with_the_same() -> None:
    few, many = take(count=3), take(count=9)

    assert (len(few), len(many)) == (3, 9)
    assert all(np.array_equal(first, second) for first, second in zip(few, many, strict=False))
    assert many[0].shape == (1, 3, 6, 8)
    assert many[0].dtype == np.float32
    assert not np.array_equal(few[0], take(count=1, seed=1)[0])


@pytest.mark.usefixtures("photographs")
def test_values_are_scaled_and_normalised_as_asked_for() -> None:
    (raw,) = take(count=1, scale=1, mean=[0, 0, 0], std=[1, 1, 1])
    (scaled,) = take(count=1, scale=1, mean=[127, 127, 127], std=[128, 128, 128])

    assert 0 <= raw.min() < raw.max() <= 255
    assert np.allclose(scaled, (raw - 127) / 128)


@pytest.mark.usefixtures("photographs")
def test_crops_lie_within_their_photographs(tmp_path: Path) -> None:
    files = tuple(tmp_path / name for name in PHOTOGRAPHS[Split.EVALUATION])
    crops = list(draw_crops(files, 50, 3, SampleImageOptions(smallest=0.5, largest=1.0)))

    assert [crop.file for crop in crops] == [files[number % len(files)] for number in range(50)]
    assert all(15 <= crop.side <= 30 for crop in crops)
    assert all(0 <= crop.left <= 40 - crop.side and 0 <= crop.top <= 30 - crop.side for crop in crops)
    assert len({(crop.left, crop.top, crop.side) for crop in crops}) > 40


def test_no_photograph_is_for_evaluation_and_for_calibration() -> None:
    assert set(PHOTOGRAPHS[Split.EVALUATION]).isdisjoint(PHOTOGRAPHS[Split.CALIBRATION])


@pytest.mark.usefixtures("photographs")
def test_the_fingerprint_is_of_the_photographs_of_the_split(tmp_path: Path) -> None:
    request, provider = DataRequest(provider="sample_images"), sample_images.create(None)
    before = {split: provider.fingerprint(request, INPUTS, split) for split in Split}
    Image.new("RGB", (40, 30)).save(tmp_path / "skimage/data/coffee.png")
    after = {split: provider.fingerprint(request, INPUTS, split) for split in Split}

    assert before[Split.EVALUATION] != after[Split.EVALUATION]
    assert before[Split.CALIBRATION] == after[Split.CALIBRATION]


@pytest.mark.parametrize(
    ("request_", "inputs", "words"),
    [
        ({"options": {"smallest": 0.9, "largest": 0.5}}, INPUTS, r"0\.9 to 0\.5 is no range"),
        ({"options": {"std": [1, 1, 0]}}, INPUTS, "`std` is"),
        ({"options": {"sides": 3}}, INPUTS, "unknown option `sides`"),
        ({}, (Input(name="x", shape=(1, 1, 6, 8)),), r"is \[1, 1, 6, 8\], expected \[1, 3, height, width\]"),
    ],
)
def test_wrong_requests_are_refused(request_: dict[str, Any], inputs: tuple[Input, ...], words: str) -> None:
    request = DataRequest(provider="sample_images", **request_)

    with pytest.raises(DataUnavailable, match=words):
        sample_images.create(None).open(request, inputs, Split.EVALUATION)


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_images, "find_spec", lambda name: None)
    request = DataRequest(provider="sample_images")

    with pytest.raises(DataUnavailable, match=r"needs chelsea\.png of scikit-image, which is not installed") as problem:
        sample_images.create(None).fingerprint(request, INPUTS, Split.EVALUATION)

    assert "efficientnet" in (problem.value.hint or "")
