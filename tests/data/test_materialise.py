"""Example folders in the cache: made once, made anew when anything changes, verified before every use."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.data import digits
from harness.data.materialise import materialise
from harness.data.provider import DataSet, Example
from harness.data.random_numbers import RandomNumbers
from harness.files.examples import input_file, read_examples
from harness.testing.progress import RecordedProgress

INPUTS = (Input(name="x", shape=(1, 4)),)
REQUEST = DataRequest(provider="counting")


class Counting:
    """Provider that counts how often it made examples, and promises as many as it is told."""

    def __init__(self, version: str = "1", promised: int = 3) -> None:
        self.version = version
        self.promised = promised
        self.made = 0

    def fingerprint(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> Mapping[str, str]:
        return {"version": self.version}

    def open(self, request: DataRequest, inputs: tuple[Input, ...], split: Split) -> DataSet:
        self.made += 1

        def examples() -> Iterator[Example]:
            for number in range(3):
                yield Example((np.full(4, number, np.float32),))

        return DataSet((TensorInfo(name="x", dtype="float32", shape=(4,)),), self.promised, "Numbers", examples())


def make(provider: Counting, cache: Path, request: DataRequest = REQUEST, split: Split = Split.EVALUATION) -> Path:
    return materialise(provider, request, INPUTS, split, cache=cache, progress=RecordedProgress())


def test_equal_requests_are_made_once(tmp_path: Path) -> None:
    provider = Counting()
    assert make(provider, tmp_path) == make(provider, tmp_path)
    assert provider.made == 1


def test_everything_that_determines_examples_is_in_the_key(tmp_path: Path) -> None:
    folders = {
        make(Counting(), tmp_path),
        make(Counting("2"), tmp_path),
        make(Counting(), tmp_path, split=Split.CALIBRATION),
        make(Counting(), tmp_path, REQUEST.model_copy(update={"seed": 1})),
        make(Counting(), tmp_path, REQUEST.model_copy(update={"options": {"path": "a"}})),
    }
    assert len(folders) == 5


def test_damaged_examples_are_made_again(tmp_path: Path) -> None:
    provider = Counting()
    folder = make(provider, tmp_path)
    content = input_file(folder, 0).read_bytes()
    input_file(folder, 0).write_bytes(bytes(len(content)))
    assert make(provider, tmp_path) == folder
    assert provider.made == 2
    assert input_file(folder, 0).read_bytes() == content


def test_a_provider_that_breaks_its_promise_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="3 examples were made, 4 were promised"):
        make(Counting(promised=4), tmp_path)
    assert [path.name for path in (tmp_path / "examples" / "counting").iterdir() if path.is_dir()] == []


def test_no_examples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="0 examples are none"):
        make(Counting(), tmp_path, REQUEST.model_copy(update={"count": 0}))


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "examples").write_text("a file where the folder should be")
    with pytest.raises(DataUnavailable, match="data `counting`") as raised:
        make(Counting(), tmp_path)
    assert "space on the disk" in str(raised.value)


def _materialise_random(cache: Path) -> str:
    request = DataRequest(provider="random", count=50)
    folder = materialise(RandomNumbers(), request, INPUTS, Split.EVALUATION, cache=cache, progress=RecordedProgress())
    return read_examples(folder).manifest.digest


def test_two_processes_share_a_folder(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        digests = pool.map(_materialise_random, [tmp_path, tmp_path])
    assert len(set(digests)) == 1


def test_the_digits_are_split_without_overlap(tmp_path: Path) -> None:
    def images(split: Split) -> list[bytes]:
        request = DataRequest(provider="digits")
        inputs = (Input(name="image", shape=(1, 1, 8, 8)),)
        folder = materialise(digits.Digits(), request, inputs, split, cache=tmp_path, progress=RecordedProgress())
        examples = read_examples(folder)
        assert examples.manifest.labels is not None
        assert set(examples.manifest.labels) == set(range(10))
        assert examples.manifest.classes == tuple("0123456789")
        return [image.tobytes() for (image,) in examples]

    evaluation, calibration = images(Split.EVALUATION), images(Split.CALIBRATION)
    assert (len(evaluation), len(calibration)) == (360, 1437)
    assert not set(evaluation) & set(calibration)
