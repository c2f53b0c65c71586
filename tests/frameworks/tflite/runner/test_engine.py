"""The engine with the real LiteRT, on models whose outputs are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from frameworks.python_runner.engine import LoadedModel, LoadRequest, TimesOperators
from frameworks.python_runner.failure import ExitStatus, RunnerFailure
from tests.frameworks.tflite.conftest import RECORDED, Load

Floats = npt.NDArray[np.float32]
BOTH = pytest.mark.parametrize("api", ["interpreter", "compiled_model"])


def run(model: LoadedModel, *inputs: Floats) -> list[Floats]:
    model.set_inputs([value.tobytes() for value in inputs])
    model.execute()
    return [
        np.frombuffer(output.content, output.tensor.dtype).reshape(output.tensor.shape) for output in model.outputs()
    ]


def image() -> Floats:
    return np.random.default_rng(0).standard_normal((1, 3, 6, 5)).astype(np.float32)


@BOTH
def test_inputs_and_outputs_are_in_the_order_of_the_function(load: Load, api: str) -> None:
    model = load("eleven_inputs", api=api)
    assert [tensor.shape for tensor in model.inputs] == [(2,)] * 11
    assert {tensor.dtype for tensor in model.inputs} == {"float32"}
    inputs = [np.full(2, 10.0**place if place < 3 else 0.0, np.float32) for place in range(11)]
    total, difference = run(model, *inputs)
    assert total.tolist() == [321, 321]
    assert difference.tolist() == [-9, -9]


@pytest.mark.parametrize("delegate", ["xnnpack", "none", "reference"])
@BOTH
def test_kernels_of_each_kind_compute_the_same(load: Load, api: str, delegate: str) -> None:
    (expected,) = run(load("conv"), image())
    model = load("conv", api=api, delegate=delegate)
    (output,) = run(model, image())
    assert output.shape == (1, 4, 4, 3)
    assert np.allclose(output, expected, atol=1e-6)
    assert model.describe()["delegate"] == delegate
    assert model.describe()["api"] == api


@BOTH
def test_models_that_take_nhwc_are_given_nchw(load: Load, api: str) -> None:
    (expected,) = run(load("conv"), image())
    model = load("conv_nhwc", api=api, layout="nhwc")
    assert [tensor.shape for tensor in model.inputs] == [(1, 3, 6, 5)]
    (output,) = run(model, image())
    assert np.allclose(output, expected, atol=1e-6)
    assert [tensor.shape for tensor in load("conv_nhwc", api=api).inputs] == [(1, 6, 5, 3)]


@BOTH
def test_threads_that_were_asked_for_are_not_what_litert_tells(load: Load, api: str) -> None:
    assert load("conv", threads=2, api=api).threads is None


def test_quantised_models_take_and_return_floats(load: Load) -> None:
    model = load("mlp_q8")
    assert [(tensor.dtype, tensor.shape) for tensor in model.inputs] == [("float32", (1, 16))]
    (output,) = run(model, np.ones((1, 16), np.float32))
    assert output.dtype == np.float32


@pytest.mark.parametrize("delegate", ["xnnpack", "none"])
def test_operators_are_timed_in_each_execution(load: Load, delegate: str) -> None:
    model = load("conv", operators=True, delegate=delegate)
    assert model.consumes_inputs
    for _ in range(5):
        run(model, image())
    assert isinstance(model, TimesOperators)
    operators = model.operator_times(2, 3)
    assert any("conv" in operator.name.lower() for operator in operators)
    assert all(len(operator.samples_us) == 3 for operator in operators)
    assert all(" " not in operator.place for operator in operators)
    if delegate == "none":
        assert [operator.place for operator in operators] == [str(place) for place in range(len(operators))]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delegate": "gpu"}, "delegate=gpu is unknown"),
        ({"colour": "red"}, "colour=red is unknown"),
        ({"precision": "f16", "delegate": "none"}, "needs delegate=xnnpack"),
        ({"precision": "f16", "api": "interpreter"}, "needs api=compiled_model"),
    ],
)
def test_options_that_cannot_be_had_are_refused(load: Load, options: dict[str, str], message: str) -> None:
    with pytest.raises(RunnerFailure, match=message) as failure:
        load("conv", **options)
    assert failure.value.status == ExitStatus.USAGE


@BOTH
@pytest.mark.parametrize("content", [b"", b"not a model at all", (RECORDED / "conv.tflite").read_bytes()[:300]])
def test_files_that_are_no_models_are_refused_in_words(
    litert: None, tmp_path_factory: pytest.TempPathFactory, content: bytes, api: str
) -> None:
    from frameworks.tflite.runner.engine import ENGINE  # noqa: PLC0415 - needs LiteRT

    file = tmp_path_factory.mktemp("models") / 'a "b".tflite'
    file.write_bytes(content)
    with pytest.raises(RunnerFailure, match="cannot load") as failure:
        ENGINE.load(LoadRequest(file, options={"api": api}))
    assert failure.value.status == ExitStatus.NOT_LOADED
