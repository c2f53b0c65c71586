"""Example folders and output folders: what is written is read again, and a folder that is not whole is told."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.core.errors import DataUnavailable
from harness.core.examples import ITEM_BYTES, MANIFEST, DataRequest, OutputManifest, Split, Stage, TensorInfo
from harness.files.examples import (
    complete_outputs,
    input_file,
    output_file,
    read_examples,
    read_outputs,
    verify_examples,
    write_examples,
    write_outputs,
)

REQUEST = DataRequest(provider="random")
IMAGE = TensorInfo(name="image", dtype="float32", shape=(1, 2, 3))


def write(folder: Path, arrays: list[NDArray[np.float32]], labels: list[int] | None = None) -> None:
    with write_examples(folder, [IMAGE], request=REQUEST, split=Split.EVALUATION, description="Numbers") as writer:
        for number, array in enumerate(arrays):
            writer.add([array], None if labels is None else labels[number])


def images(count: int) -> list[NDArray[np.float32]]:
    return [np.full((1, 2, 3), number, np.float32) for number in range(count)]


def bytes_as(dtype: str, content: bytes, shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype == "bfloat16":
        bits = np.frombuffer(content, "<u2").astype(np.uint32) << 16
        return bits.view(np.float32).reshape(shape)
    if dtype == "bool":
        content = bytes(byte % 2 for byte in content)
    array: NDArray[Any] = np.frombuffer(content, np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return array


@given(st.data())
def test_every_type_and_shape_is_read_as_it_was_written(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(sorted(ITEM_BYTES)))
    shape = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))
    tensor = TensorInfo(name="x", dtype=dtype, shape=shape)
    size = st.binary(min_size=tensor.size_bytes, max_size=tensor.size_bytes)
    arrays = [bytes_as(dtype, content, shape) for content in data.draw(st.lists(size, max_size=4))]
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "examples"
        with write_examples(folder, [tensor], request=REQUEST, split=Split.CALIBRATION, description="") as writer:
            for array in arrays:
                writer.add([array])
        examples = read_examples(folder)
        assert len(examples) == len(arrays)
        for (read,), written in zip(examples, arrays, strict=True):
            assert read.dtype == written.dtype
            assert read.shape == written.shape
            np.testing.assert_array_equal(read, written)
        assert verify_examples(folder) == examples.manifest


@given(st.floats(width=32, allow_infinity=False))
def test_bfloat16_is_the_nearest_value(number: float) -> None:
    tensor = TensorInfo(name="x", dtype="bfloat16", shape=())
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "outputs"
        with write_outputs(folder, [tensor], stage=Stage.EAGER, examples="") as writer:
            writer.add([np.array(number, np.float32)])
        ((read,),) = read_outputs(folder)
        (bits,) = struct.unpack("<H", output_file(folder, 0).read_bytes())
    if np.isnan(number):
        assert np.isnan(read)
    elif abs(number) >= 3.3961775292304598e38:  # halfway from the largest value to the next power of two
        assert np.isinf(read)
    else:
        neighbours = [value_of(bits + step) for step in (-1, 0, 1) if 0 <= bits + step < 1 << 16]
        assert abs(float(read) - number) == min(abs(near - number) for near in neighbours if np.isfinite(near))


def value_of(bits: int) -> float:
    (value,) = struct.unpack("<f", struct.pack("<I", bits << 16))
    return float(value)


def test_a_folder_knows_labels_classes_and_origin(tmp_path: Path) -> None:
    write(tmp_path / "examples", images(3), [2, 0, 1])
    manifest = read_examples(tmp_path / "examples").manifest
    assert manifest.labels == (2, 0, 1)
    assert manifest.count == 3
    assert manifest.description == "Numbers"
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["examples"]


def test_the_digest_depends_on_content_and_labels_alone(tmp_path: Path) -> None:
    def digest(arrays: list[NDArray[np.float32]], labels: list[int] | None = None) -> str:
        write(tmp_path / "examples", arrays, labels)
        return verify_examples(tmp_path / "examples").digest

    assert digest(images(2)) == digest(images(2))
    assert len({digest(images(2)), digest(images(3)), digest(images(2)[::-1]), digest(images(2), [0, 1])}) == 4


def test_examples_can_be_taken_by_number(tmp_path: Path) -> None:
    write(tmp_path / "examples", images(3))
    examples = read_examples(tmp_path / "examples")
    (second,) = examples[1]
    assert second.tolist() == images(2)[1].tolist()
    assert not second.flags.writeable
    with pytest.raises(IndexError):
        examples[3]


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from harness.core.examples import Stage, TensorInfo
from harness.files.examples import write_outputs
tensor = TensorInfo(name="x", dtype="float32", shape=(2,))
with write_outputs(Path(sys.argv[1]), [tensor], stage=Stage.EAGER, examples="") as writer:
    writer.add([np.zeros(2, np.float32)])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writer_leaves_no_folder(tmp_path: Path) -> None:
    killed = subprocess.run((sys.executable, "-c", KILLED, str(tmp_path / "outputs")), check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "outputs").exists()


def test_an_error_leaves_the_folder_that_was_there(tmp_path: Path) -> None:
    write(tmp_path / "examples", images(2))
    with pytest.raises(DataUnavailable, match=r"example 1, `image`: float32 \[2\], expected float32 \[1, 2, 3\]"):
        write(tmp_path / "examples", [*images(1), np.zeros(2, np.float32)])
    assert len(read_examples(tmp_path / "examples")) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["examples"]


def test_no_type_is_converted_silently(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"float64 \[1, 2, 3\], expected float32"):
        write(tmp_path / "examples", [np.zeros((1, 2, 3))])  # type: ignore[list-item]


def test_labels_of_some_examples_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    with write_examples(folder, [IMAGE], request=REQUEST, split=Split.EVALUATION, description="") as writer:
        writer.add(images(1), 3)
        with pytest.raises(DataUnavailable, match="example 1 has no label"):
            writer.add(images(1))
    assert read_examples(folder).manifest.labels == (3,)


def test_a_file_that_does_not_fit_its_manifest_is_told(tmp_path: Path) -> None:
    write(tmp_path / "examples", images(2))
    os.truncate(input_file(tmp_path / "examples", 0), 47)
    with pytest.raises(DataUnavailable, match=r"input-0\.bin has 47 bytes; 2 examples of float32 .* have 48") as raised:
        read_examples(tmp_path / "examples")
    assert "delete the folder" in str(raised.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    write(tmp_path / "examples", images(2))
    input_file(tmp_path / "examples", 0).unlink()
    with pytest.raises(DataUnavailable, match=r"damaged: input-0\.bin: No such file"):
        read_examples(tmp_path / "examples")


def test_a_folder_without_manifest_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"no folder of examples: it has no manifest\.json"):
        read_examples(tmp_path)


@pytest.mark.parametrize("content", ["", "{}", '{"count": "many"}'])
def test_a_damaged_manifest_is_told(content: str, tmp_path: Path) -> None:
    write(tmp_path / "examples", images(2))
    (tmp_path / "examples" / MANIFEST).write_text(content)
    with pytest.raises(DataUnavailable, match=r"is damaged: manifest\.json: "):
        read_examples(tmp_path / "examples")


def test_changed_content_is_told(tmp_path: Path) -> None:
    write(tmp_path / "examples", images(2))
    input_file(tmp_path / "examples", 0).write_bytes(bytes(48))
    with pytest.raises(DataUnavailable, match="has changed since"):
        verify_examples(tmp_path / "examples")


def test_the_files_of_a_runner_become_an_output_folder(tmp_path: Path) -> None:
    tensor = TensorInfo(name="output 0", dtype="int64", shape=(2,))
    output_file(tmp_path, 0).write_bytes(np.arange(6, dtype="<i8").tobytes())
    manifest = OutputManifest(stage=Stage.DEVICE, outputs=(tensor,), count=3, examples="")
    complete_outputs(tmp_path, manifest)
    assert [array.tolist() for (array,) in read_outputs(tmp_path)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(DataUnavailable, match=r"output-0\.bin has 48 bytes; 4 examples"):
        complete_outputs(tmp_path, manifest.model_copy(update={"count": 4}))
