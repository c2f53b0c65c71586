from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from frameworks.exporting.models import calibration_batches, prepare, weights_md5
from harness.core.benchmark import Export, Input
from harness.core.errors import ExportFailed
from harness.core.examples import DataRequest, Split, TensorInfo
from harness.files.examples import write_examples

pytestmark = pytest.mark.slow

NETS = """
import torch

class Normalised(torch.nn.Sequential):
    def __init__(self, variance=1.0):
        super().__init__(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Dropout(0.5))
        self[1].running_var.fill_(variance)

def with_inputs(variance=1.0):
    return Normalised(variance), (torch.randn(1, 3, 8, 8),)

def one_tensor():
    return torch.nn.Linear(4, 2), torch.zeros(1, 4)

def tokens():
    return torch.nn.Embedding(50, 4), [torch.tensor([[3, 17, 49]])]

def without_inputs():
    return torch.nn.Linear(4, 2)

def nonsense():
    return "a model"

def odd_inputs():
    return torch.nn.Linear(4, 2), (torch.zeros(1, 4), 3)
"""


@pytest.fixture(autouse=True)
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "preparing_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def request(function: str, **fields: object) -> Export:
    return Export.model_validate({"definition": f"preparing_nets:{function}", "recipe": "portable", **fields})


def test_equal_seeds_give_equal_models_and_different_seeds_different_models() -> None:
    once, again, other = (prepare(request("with_inputs", seed=seed)) for seed in (1, 1, 2))

    assert weights_md5(once.module) == weights_md5(again.module) != weights_md5(other.module)
    assert torch.equal(once.example_inputs[0], again.example_inputs[0])


def test_equal_weights_under_different_names_have_different_checksums() -> None:
    linear = torch.nn.Linear(2, 2)

    assert weights_md5(torch.nn.Sequential(linear)) != weights_md5(torch.nn.ModuleDict({"named": linear}))


def test_batch_normalisation_without_statistics_is_initialised() -> None:
    layer = prepare(request("with_inputs")).module.get_submodule("1")

    assert isinstance(layer, torch.nn.BatchNorm2d)
    assert layer.running_mean is not None
    assert layer.running_mean.abs().max() > 0
    assert int(layer.num_batches_tracked or 0) == 2
    assert layer.momentum == 0.1


def test_batch_normalisation_of_a_trained_model_is_unchanged() -> None:
    layer = prepare(request("with_inputs", options={"variance": 2.0})).module.get_submodule("1")

    assert isinstance(layer, torch.nn.BatchNorm2d)
    assert layer.running_var is not None
    assert bool((layer.running_var == 2.0).all())


def test_the_module_is_in_evaluation_mode_throughout() -> None:
    module = prepare(request("with_inputs")).module

    assert not any(part.training for part in module.modules())


def test_requested_inputs_replace_those_of_the_definition() -> None:
    inputs = (Input(name="image", shape=(2, 3, 6, 6), dtype="double"),)

    (tensor,) = prepare(request("without_inputs", inputs=inputs)).example_inputs

    assert tensor.shape == (2, 3, 6, 6)
    assert tensor.dtype == torch.float64


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("float", torch.float32),
        ("half", torch.float16),
        ("double", torch.float64),
        ("int8", torch.int8),
        ("uint8", torch.uint8),
        ("int16", torch.int16),
        ("int", torch.int32),
        ("int64", torch.int64),
        ("bool", torch.bool),
    ],
)
def test_each_input_type_can_be_generated_and_varied(name: str, dtype: torch.dtype) -> None:
    inputs = prepare(request("without_inputs", inputs=[{"name": "x", "shape": [3], "dtype": name}])).example_inputs
    (batch,) = next(calibration_batches(inputs, request("tokens", calibration=1)))

    assert (inputs[0].dtype, batch.dtype) == (dtype, dtype)
    assert batch.shape == (3,)


def test_a_misspelt_type_gets_a_suggestion() -> None:
    with pytest.raises(ExportFailed, match="unknown type `flot`") as failure:
        prepare(request("without_inputs", inputs=[{"name": "x", "shape": [3], "dtype": "flot"}]))

    assert "did you mean `float`?" in (failure.value.hint or "")


def test_a_single_tensor_is_the_only_input() -> None:
    assert len(prepare(request("one_tensor")).example_inputs) == 1


def test_calibration_stays_in_the_range_of_whole_example_numbers() -> None:
    inputs = prepare(request("tokens")).example_inputs

    batches = [batch for (batch,) in calibration_batches(inputs, request("tokens", calibration=20))]

    assert len(batches) == 20
    assert all(3 <= int(batch.min()) <= int(batch.max()) <= 49 for batch in batches)
    assert not torch.equal(batches[0], batches[1])


def test_calibration_data_depends_on_the_seed_alone() -> None:
    inputs = prepare(request("one_tensor")).example_inputs
    torch.manual_seed(123)
    (once,), (again,), (other,) = (
        next(calibration_batches(inputs, request("one_tensor", calibration=1, seed=seed))) for seed in (5, 5, 6)
    )

    assert torch.equal(once, again)
    assert not torch.equal(once, other)


@pytest.mark.parametrize(
    ("function", "words", "remedy"),
    [
        ("without_inputs", "has no example inputs", "give the export `inputs`"),
        ("nonsense", "returned str", "torch.nn.Module"),
        ("odd_inputs", "returned tuple", "tuple of example tensors"),
        ("with_input", "has no function `with_input`", "did you mean `with_inputs`?"),
    ],
)
def test_invalid_definitions_are_rejected_with_an_explanation(function: str, words: str, remedy: str) -> None:
    with pytest.raises(ExportFailed, match=words) as failure:
        prepare(request(function))

    assert remedy in (failure.value.hint or "")


def test_an_unknown_option_is_rejected_with_the_list_of_options() -> None:
    with pytest.raises(ExportFailed, match="unexpected keyword argument 'variance2'") as failure:
        prepare(request("with_inputs", options={"variance2": 1.0}))

    assert failure.value.hint == "it takes: variance"


def write(folder: Path, arrays: list[np.ndarray[Any, np.dtype[np.float32]]]) -> Path:
    tensor = TensorInfo(name="x", dtype="float32", shape=arrays[0].shape)
    data = DataRequest(provider="random")
    with write_examples(folder, [tensor], request=data, split=Split.CALIBRATION, description="") as writer:
        for array in arrays:
            writer.add([array])
    return folder


def test_calibration_takes_the_first_examples_of_a_folder(tmp_path: Path) -> None:
    inputs = prepare(request("one_tensor")).example_inputs
    examples = write(tmp_path / "examples", [np.full((1, 4), number, np.float32) for number in range(3)])

    batches = list(calibration_batches(inputs, request("one_tensor", calibration=2), examples))

    assert [batch.tolist() for (batch,) in batches] == [[[0.0] * 4], [[1.0] * 4]]


def test_calibration_data_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    inputs = prepare(request("one_tensor")).example_inputs
    examples = write(tmp_path / "examples", [np.zeros((1, 4), np.float32)])

    with pytest.raises(ExportFailed, match="have 1 examples, `calibration` asks for 2"):
        calibration_batches(inputs, request("one_tensor", calibration=2), examples)
    with pytest.raises(ExportFailed, match=r"shape \[1, 4\]; the model takes \[1, 3, 8, 8\]"):
        calibration_batches(prepare(request("with_inputs")).example_inputs, request("tokens"), examples)
    with pytest.raises(ExportFailed, match="the data set `random`, to calibrate with, was not given"):
        calibration_batches(inputs, request("one_tensor", calibration_data={"provider": "random"}))
