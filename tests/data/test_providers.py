"""What each provider gives, and what it says of input that it cannot use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from pydantic import JsonValue

from harness.core.benchmark import Input
from harness.core.errors import DataUnavailable
from harness.core.examples import DTYPES, DataRequest, Split
from harness.data.arrays import ArrayFiles
from harness.data.digits import Digits
from harness.data.images import Images
from harness.data.provider import DataProvider, DataSet
from harness.data.random_numbers import RandomNumbers

Arrays = list[NDArray[Any]]


def take(
    provider: DataProvider,
    inputs: tuple[Input, ...],
    options: dict[str, JsonValue] | None = None,
    *,
    count: int | None = None,
    seed: int = 0,
    split: Split = Split.EVALUATION,
) -> tuple[DataSet, list[tuple[NDArray[Any], ...]], list[int | None]]:
    request = DataRequest(provider="p", options=options or {}, count=count, seed=seed)
    provider.fingerprint(request, inputs, split)
    data = provider.open(request, inputs, split)
    examples = list(data.examples)
    assert len(examples) == data.count
    return data, [example.arrays for example in examples], [example.label for example in examples]


# random


@given(st.lists(st.sampled_from(sorted(DTYPES)), min_size=1, max_size=3), st.integers(0, 5))
def test_random_numbers_have_the_types_and_shapes_of_the_inputs(types: list[str], seed: int) -> None:
    inputs = tuple(Input(name=f"x{n}", shape=(2, n + 1), dtype=dtype) for n, dtype in enumerate(types))
    data, examples, _ = take(RandomNumbers(), inputs, count=2, seed=seed)
    for arrays in examples:
        for array, item, tensor in zip(arrays, inputs, data.inputs, strict=True):
            assert (array.dtype.name, array.shape) == (DTYPES[item.dtype], item.shape) == (tensor.dtype, tensor.shape)


def test_random_streams_differ_by_split_seed_and_input_and_longer_ones_begin_alike() -> None:
    inputs = (Input(name="a", shape=(3,)), Input(name="b", shape=(3,)))

    def drawn(count: int | None = None, *, seed: int = 0, split: Split = Split.EVALUATION) -> list[list[float]]:
        _, examples, _ = take(RandomNumbers(), inputs, count=count, seed=seed, split=split)
        return [array.tolist() for arrays in examples for array in arrays]

    assert drawn() == drawn()
    assert len(drawn()) == 64  # 32 examples of two inputs
    assert drawn(count=40)[:64] == drawn()
    everything = drawn() + drawn(seed=1) + drawn(split=Split.CALIBRATION)
    assert len({tuple(numbers) for numbers in everything}) == len(everything)


def test_random_integers_cover_their_range() -> None:
    inputs = (Input(name="ids", shape=(1, 64), dtype="int64"),)
    data, examples, _ = take(RandomNumbers(), inputs, {"low": 5, "high": 8})
    assert {int(number) for (array,) in examples for number in array.ravel()} == {5, 6, 7, 8}
    assert "integers from 5 to 8" in data.description


@pytest.mark.parametrize(
    ("dtype", "options", "message"),
    [
        ("int8", {"low": 0, "high": 200}, "0 to 200 is no range of int8"),
        ("int8", {"low": 3, "high": 2}, "3 to 2 is no range"),
        ("float", {"std": -1.0}, "`std` is -1"),
        ("float", {"higth": 3}, "unknown option `higth`"),
        ("float", {"high": "3"}, "option `high`: input should be a valid integer"),
        ("flaot", {}, "unknown type `flaot`"),
    ],
)
def test_random_refuses(dtype: str, options: dict[str, JsonValue], message: str) -> None:
    with pytest.raises(DataUnavailable, match=message) as raised:
        take(RandomNumbers(), (Input(name="x", shape=(2,), dtype=dtype),), options)
    assert raised.value.hint


def test_random_needs_shapes() -> None:
    with pytest.raises(DataUnavailable, match="needs the shapes"):
        take(RandomNumbers(), ())


# digits


def test_digits_are_drawn_by_the_seed() -> None:
    inputs = (Input(name="image", shape=(1, 1, 8, 8)),)
    _, first, labels = take(Digits(), inputs, count=20)
    _, other, _ = take(Digits(), inputs, count=20, seed=1)
    assert first[0][0].shape == (1, 1, 8, 8)
    assert 0 <= min(a.min() for (a,) in first) <= max(a.max() for (a,) in first) == 1
    assert len(set(labels)) > 5
    assert [a.tobytes() for (a,) in first] != [a.tobytes() for (a,) in other]


def test_digits_come_in_batches_without_labels() -> None:
    _, examples, labels = take(Digits(), (Input(name="image", shape=(4, 1, 8, 8)),), count=3)
    assert [array.shape for (array,) in examples] == [(4, 1, 8, 8)] * 3
    assert labels == [None] * 3


def test_digits_refuse_other_inputs() -> None:
    with pytest.raises(DataUnavailable, match=r"input `x` is float32 \[1, 3, 8, 8\], expected float32 \[1, 1, 8, 8\]"):
        take(Digits(), (Input(name="x", shape=(1, 3, 8, 8)),))
    with pytest.raises(DataUnavailable, match="has 360 images for evaluation, 400 examples"):
        take(Digits(), (), count=400)
    with pytest.raises(DataUnavailable, match="one input, this one has 2: `a`, `b`"):
        take(Digits(), (Input(name="a", shape=(1,)), Input(name="b", shape=(1,))))


# files

X = (Input(name="x", shape=(1, 2, 3)),)


def numbers(*shape: int, dtype: str = "float32") -> NDArray[Any]:
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize(("shape", "count"), [((1, 2, 3), 1), ((5, 1, 2, 3), 5), ((5, 2, 3), 5), ((2, 3), 1)])
def test_an_array_has_one_example_or_an_axis_of_them(shape: tuple[int, ...], count: int, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", numbers(*shape))
    data, examples, _ = take(ArrayFiles(), X, {"path": str(tmp_path / "x.npy")})
    assert data.count == count
    assert np.concatenate([array.ravel() for (array,) in examples]).tolist() == list(range(count * 6))
    assert {array.shape for (array,) in examples} == {(1, 2, 3)}


def test_a_folder_has_a_file_for_each_example(tmp_path: Path) -> None:
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", np.full((1, 2, 3), number, np.float32))
    (tmp_path / "notes.txt").write_text("not an array")
    _, examples, _ = take(ArrayFiles(), X, {"path": str(tmp_path)})
    assert [array[0, 0, 0] for (array,) in examples] == [0, 1, 2]


def test_several_inputs_by_name_by_order_and_in_one_file(tmp_path: Path) -> None:
    inputs = (Input(name="a", shape=(2,)), Input(name="b", shape=(3,), dtype="int64"))
    a, b = numbers(4, 2), numbers(4, 3, dtype="int64")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    np.savez(tmp_path / "both.npz", b=b, a=a)
    paths: list[JsonValue] = [
        {"b": str(tmp_path / "b.npy"), "a": str(tmp_path / "a.npy")},
        [str(tmp_path / "a.npy"), str(tmp_path / "b.npy")],
        str(tmp_path / "both.npz"),
    ]
    for path in paths:
        _, examples, _ = take(ArrayFiles(), inputs, {"path": path})
        assert [array.tolist() for array in examples[3]] == [[6, 7], [9, 10, 11]]


def test_labels_of_arrays_and_of_lines(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", numbers(3, 2, 3))
    np.save(tmp_path / "y.npy", np.array([4, 0, 2]))
    (tmp_path / "y.txt").write_text("4\n0\n2\n")
    for labels in ("y.npy", "y.txt"):
        options: dict[str, JsonValue] = {"path": str(tmp_path / "x.npy"), "labels": str(tmp_path / labels)}
        assert take(ArrayFiles(), X, options)[2] == [4, 0, 2]
        assert sorted(map(str, take(ArrayFiles(), X, options, count=2)[2])) != []


def test_labels_stay_with_their_examples_and_splits_are_disjoint(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(20, dtype=np.float32)[:, None])
    np.save(tmp_path / "y.npy", np.arange(20))
    options: dict[str, JsonValue] = {"path": str(tmp_path / "x.npy"), "labels": str(tmp_path / "y.npy")}
    inputs = (Input(name="x", shape=(1, 1)),)
    drawn: list[int] = []
    for split, count in ((Split.EVALUATION, 12), (Split.CALIBRATION, 8)):
        _, examples, labels = take(ArrayFiles(), inputs, options, count=count, split=split)
        assert [int(array.item()) for (array,) in examples] == labels
        drawn += [label for label in labels if label is not None]
    assert sorted(drawn) == list(range(20))


def test_numbers_are_rounded_to_the_type_of_the_input_and_told(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", numbers(2, 2, 3, dtype="float64"))
    data, examples, _ = take(ArrayFiles(), X, {"path": str(tmp_path / "x.npy")})
    assert examples[0][0].dtype == np.float32
    assert "converted from float64 to float32" in data.description


@pytest.mark.slow
def test_files_of_torch_are_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    inputs = (Input(name="a", shape=(2,)), Input(name="b", shape=(3,), dtype="int64"))
    a, b = torch.arange(8).reshape(4, 2).bfloat16(), torch.arange(12).reshape(4, 3)
    for content in ({"b": b, "a": a}, (a, b)):
        torch.save(content, tmp_path / "both.pt")
        _, examples, _ = take(ArrayFiles(), inputs, {"path": str(tmp_path / "both.pt")})
        assert [array.tolist() for array in examples[3]] == [[6, 7], [9, 10, 11]]
    torch.save({"a": a, "epoch": 3}, tmp_path / "both.pt")
    with pytest.raises(DataUnavailable, match=r"both\.pt cannot be read: TypeError: it holds dict, expected"):
        take(ArrayFiles(), inputs, {"path": str(tmp_path / "both.pt")})


def _unequal(folder: Path) -> dict[str, JsonValue]:
    np.save(folder / "a.npy", numbers(2, 2, 3))
    np.save(folder / "b.npy", numbers(3, 2, 3))
    return {"path": {"a": str(folder / "a.npy"), "b": str(folder / "b.npy")}}


def test_unequally_many_examples_are_refused(tmp_path: Path) -> None:
    inputs = (Input(name="a", shape=(1, 2, 3)), Input(name="b", shape=(1, 2, 3)))
    with pytest.raises(DataUnavailable, match="unequally many examples: 2 of `a`, 3 of `b`"):
        take(ArrayFiles(), inputs, _unequal(tmp_path))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (numbers(1, 3, 2), r"x\.npy: an array of float32 \[1, 3, 2\] for input `x`, expected float32 \[1, 2, 3\]"),
        (numbers(4), r"an array of float32 \[4\]"),
        (numbers(1, 2, 3, dtype="uint8"), "the file has uint8, the input is float32"),
        (np.array([{}], dtype=object), r"x\.npy cannot be read as an array: Array can.t be memory-mapped"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(array: NDArray[Any], message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(DataUnavailable, match=message):
        take(ArrayFiles(), X, {"path": str(tmp_path / "x.npy")})


def test_integers_are_converted_where_they_fit(tmp_path: Path) -> None:
    inputs = (Input(name="x", shape=(2,), dtype="int8"),)
    np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 200]]))
    with pytest.raises(DataUnavailable, match="example 1, input `x`: the file has int64, its values do not fit"):
        take(ArrayFiles(), inputs, {"path": str(tmp_path / "x.npy")})
    np.save(tmp_path / "x.npy", np.array([[1, 2], [3, 100]]))
    assert take(ArrayFiles(), inputs, {"path": str(tmp_path / "x.npy")})[1][1][0].tolist() == [3, 100]


@pytest.mark.parametrize(
    ("stored", "values", "wanted"),
    [("uint8", [3, 200], "int8"), ("int8", [3, -2], "uint8"), ("int64", [0, -1], "uint8")],
)
def test_integers_that_would_change_their_sign_are_refused(
    stored: str, values: list[int], wanted: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.array([values], stored))
    with pytest.raises(DataUnavailable, match=f"the file has {stored}, its values do not fit into {wanted}"):
        take(ArrayFiles(), (Input(name="x", shape=(2,), dtype=wanted),), {"path": str(tmp_path / "x.npy")})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.npy", b"not an array", r"x\.npy cannot be read as an array"),
        ("x.npz", b"not an archive", r"x\.npz cannot be read as an array"),
        ("x.bin", b"", r"files of examples end in \.npy"),
    ],
)
def test_broken_files_are_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataUnavailable, match=message):
        take(ArrayFiles(), X, {"path": str(tmp_path / name)})


def test_missing_files_and_wrong_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"there is no .*nothing"):
        take(ArrayFiles(), X, {"path": str(tmp_path / "nothing")})
    with pytest.raises(DataUnavailable, match=r"no file in .* ends in"):
        take(ArrayFiles(), X, {"path": str(tmp_path)})
    np.savez(tmp_path / "x.npz", y=numbers(2, 3), z=numbers(2, 3))
    with pytest.raises(DataUnavailable, match="holds `y`, `z`, the inputs are `x`"):
        take(ArrayFiles(), X, {"path": str(tmp_path / "x.npz")})
    with pytest.raises(DataUnavailable, match="paths of y, but the inputs are x"):
        take(ArrayFiles(), X, {"path": {"y": str(tmp_path / "x.npz")}})
    with pytest.raises(DataUnavailable, match="2 paths for 1 inputs"):
        take(ArrayFiles(), X, {"path": ["a", "b"]})
    with pytest.raises(DataUnavailable, match="option `path`: field required"):
        take(ArrayFiles(), X)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1\n2\n", "has 2 labels for 3 examples"),
        ("1\nx\n2\n", r"y\.txt:2: 'x' is no whole"),
        ("0\n-1\n2\n", "label 1 is -1"),
    ],
)
def test_wrong_labels_are_refused(lines: str, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", numbers(3, 2, 3))
    (tmp_path / "y.txt").write_text(lines)
    with pytest.raises(DataUnavailable, match=message):
        take(ArrayFiles(), X, {"path": str(tmp_path / "x.npy"), "labels": str(tmp_path / "y.txt")})


# images

PICTURE = (Input(name="input", shape=(1, 3, 4, 4)),)


def picture(file: Path, size: tuple[int, int] = (8, 6), seed: int = 0) -> Path:
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(file)
    return file


def test_the_usual_preprocessing_is_that_of_imagenet(tmp_path: Path) -> None:
    with Image.open(picture(tmp_path / "a.png", (300, 400))) as image:
        resized = image.resize((256, 341), Image.Resampling.BILINEAR)
    pixels = np.asarray(resized)[58:282, 16:240].astype(np.float64) / 255  # (341 - 224) / 2 = 58.5, rounded to even
    expected = ((pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)
    data, [(array,)], _ = take(Images(), (), {"path": str(tmp_path)})
    assert (array.shape, array.dtype.name) == ((1, 3, 224, 224), "float32")
    np.testing.assert_allclose(array[0], expected, atol=1e-5)
    assert "resized to 256 (bilinear), centre crop 224 x 224" in data.description
    assert "mean 0.485 0.456 0.406, std 0.229 0.224 0.225, RGB, NCHW" in data.description


def test_raw_pixels_in_another_layout(tmp_path: Path) -> None:
    with Image.open(picture(tmp_path / "a.png", (4, 4))) as image:
        pixels = np.asarray(image)
    options: dict[str, JsonValue] = {
        "path": str(tmp_path),
        "resize": 4,
        "scale": 1.0,
        "mean": [0.0] * 3,
        "std": [1.0] * 3,
        "channels": "BGR",
        "layout": "NHWC",
    }
    inputs = (Input(name="input", shape=(1, 4, 4, 3), dtype="uint8"),)
    _, [(array,)], _ = take(Images(), inputs, options)
    np.testing.assert_array_equal(array[0], pixels[:, :, ::-1])
    with pytest.raises(DataUnavailable, match="do not fit into int8"):
        take(Images(), (inputs[0].model_copy(update={"dtype": "int8"}),), options)


def test_folders_are_classes_in_the_order_of_their_names_or_of_those_given(tmp_path: Path) -> None:
    for name in ("dog", "cat", "owl"):
        picture(tmp_path / name / "a.png")
    data, _, labels = take(Images(), PICTURE, {"path": str(tmp_path)})
    assert (labels, data.classes) == ([0, 1, 2], ("cat", "dog", "owl"))
    data, _, labels = take(Images(), PICTURE, {"path": str(tmp_path), "classes": ["ant", "owl", "dog", "cat"]})
    assert (labels, data.classes) == ([3, 2, 1], ("ant", "owl", "dog", "cat"))
    with pytest.raises(DataUnavailable, match="`classes` has no cat"):
        take(Images(), PICTURE, {"path": str(tmp_path), "classes": ["dog", "owl"]})


def test_folders_with_numbers_are_the_classes_of_these_numbers(tmp_path: Path) -> None:
    for name in ("285", "967", "3"):
        picture(tmp_path / name / "a.png")
    assert take(Images(), PICTURE, {"path": str(tmp_path)})[2] == [285, 3, 967]


def test_labels_of_a_file(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png")
    picture(tmp_path / "images" / "b.jpg")
    labels = tmp_path / "labels.json"
    options: dict[str, JsonValue] = {"path": str(tmp_path / "images"), "labels": str(labels)}
    labels.write_text(json.dumps({"a.png": 7, "b.jpg": 2}))
    assert take(Images(), PICTURE, options)[2] == [7, 2]
    labels.write_text(json.dumps({"a.png": 7}))
    with pytest.raises(DataUnavailable, match=r"labels\.json has no label for b\.jpg"):
        take(Images(), PICTURE, options)
    labels.write_text(json.dumps({"a.png": "cat"}))
    with pytest.raises(DataUnavailable, match="no table of classes"):
        take(Images(), PICTURE, options)


def test_grey_images(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    inputs = (Input(name="input", shape=(1, 1, 4, 4)),)
    options: dict[str, JsonValue] = {"path": str(tmp_path), "channels": "L", "mean": [0.5], "std": [0.5]}
    assert take(Images(), inputs, options)[1][0][0].shape == (1, 1, 4, 4)
    with pytest.raises(DataUnavailable, match="grey images have no usual mean"):
        take(Images(), inputs, {"path": str(tmp_path), "channels": "L"})


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 4, 4, 3), {}, r"input `input` is \[1, 4, 4, 3\], expected \[1, 3, height, width\] for RGB in NCHW"),
        ((2, 3, 4, 4), {}, r"is \[2, 3, 4, 4\]"),
        ((1, 3, 4, 4), {"mean": [0.5]}, "`mean` has 1 values for 3 channels"),
        ((1, 3, 4, 4), {"std": [1.0, 0.0, 1.0]}, "`std` contains 0"),
        ((1, 3, 4, 4), {"resize": 3}, "`resize` is 3, less than"),
        ((1, 3, 4, 4), {"layout": "HWC"}, "option `layout`: input should be 'NCHW' or 'NHWC'"),
    ],
)
def test_a_preprocessing_that_does_not_fit_is_refused(
    shape: tuple[int, ...], options: dict[str, JsonValue], message: str, tmp_path: Path
) -> None:
    picture(tmp_path / "a.png")
    with pytest.raises(DataUnavailable, match=message):
        take(Images(), (Input(name="input", shape=shape),), {"path": str(tmp_path), **options})


def test_broken_images_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"not an image")
    with pytest.raises(DataUnavailable, match=r"a\.png is no image that Pillow can read"):
        take(Images(), PICTURE, {"path": str(tmp_path)})
    whole = picture(tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataUnavailable, match=r"a\.png cannot be decoded: "):
        take(Images(), PICTURE, {"path": str(tmp_path)})


@pytest.mark.parametrize(("kind", "name"), [("uint16", "a.png"), ("int32", "a.tif"), ("float32", "a.tif")])
def test_images_of_more_than_8_bits_are_refused(kind: str, name: str, tmp_path: Path) -> None:
    Image.fromarray(np.linspace(0, 65535, 64).reshape(8, 8).astype(kind)).save(tmp_path / name)
    with pytest.raises(DataUnavailable, match=f"{name} has pixels of more than 8 bits"):
        take(Images(), PICTURE, {"path": str(tmp_path)})


def test_an_image_beside_folders_of_classes_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "cat" / "a.png")
    picture(tmp_path / "b.png")
    with pytest.raises(DataUnavailable, match=r"b\.png lies beside folders of classes"):
        take(Images(), PICTURE, {"path": str(tmp_path)})


def test_folders_of_classes_are_called_by_numbers_or_by_names(tmp_path: Path) -> None:
    for name in ("10", "2", "extra"):
        picture(tmp_path / name / "a.png")
    with pytest.raises(DataUnavailable, match="the folder 10 is called by the number of its class, and extra is not"):
        take(Images(), PICTURE, {"path": str(tmp_path)})
    assert take(Images(), PICTURE, {"path": str(tmp_path), "classes": ["extra", "2", "10"]})[2] == [2, 1, 0]


def test_linked_folders_are_classes_and_hidden_ones_are_not(tmp_path: Path) -> None:
    picture(tmp_path / "elsewhere" / "a.png")
    folder = tmp_path / "images"
    for name in ("dog/b.png", "dog/._b.png", ".ipynb_checkpoints/b-checkpoint.png"):
        picture(folder / name)
    (folder / "cat").symlink_to(tmp_path / "elsewhere")
    (folder / "dog" / "all").symlink_to(folder)
    (tmp_path / "elsewhere" / "dogs").symlink_to(folder / "dog")  # which leads from cat to dog, and from there to both
    data, _, labels = take(Images(), PICTURE, {"path": str(folder)})
    assert (labels, data.classes) == ([0, 0, 1], ("cat", "dog"))


def test_changed_images_are_other_examples(tmp_path: Path) -> None:
    request = DataRequest(provider="images", options={"path": str(tmp_path)})
    picture(tmp_path / "a.png")
    first = Images().fingerprint(request, PICTURE, Split.EVALUATION)
    picture(tmp_path / "a.png", seed=1)
    assert Images().fingerprint(request, PICTURE, Split.EVALUATION) != first
