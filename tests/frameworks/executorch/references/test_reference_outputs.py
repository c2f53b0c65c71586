"""Outputs of a model before it is lowered: the same model as in its export, run by torch, written for each example."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from frameworks.executorch.exporting import recipe_steps
from frameworks.executorch.exporting.exporter import EXPORTER
from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.executorch.references import maker
from harness.core.benchmark import Export, Input
from harness.core.errors import ExportFailed
from harness.core.examples import MANIFEST, OutputManifest, Stage, TensorInfo
from tests.frameworks.executorch.references.example_folders import Silent, write_test_examples
from tests.frameworks.running_sum import RUNNING_SUM

NETS = """
import torch
from torch import nn

class Two(nn.Module):
    def forward(self, left, right):
        return {"sum": left + right, "both": (left.to(torch.bfloat16), right > 0)}

def two():
    return Two(), (torch.randn(1, 3), torch.randn(1, 3))

def complex_numbers():
    class Complex(nn.Module):
        def forward(self, x):
            return x, torch.complex(x, x)
    return Complex(), (torch.randn(1, 3),)

def words():
    class Words(nn.Module):
        def forward(self, x):
            return x, "a word"
    return Words(), (torch.randn(1, 3),)
"""

RECIPE = """
from frameworks.executorch.recipes import portable

def lower(module, example_inputs, calibration):
    return portable.lower(module, example_inputs, calibration)

def other(module, example_inputs, calibration):
    return portable.lower(module, example_inputs, calibration)
"""


def make(export: Export, examples: Path, stages: Sequence[Stage], folder: Path) -> dict[Stage, OutputManifest]:
    folder.mkdir()
    maker.make_references(export, examples, stages, folder, Silent([]))
    return {stage: OutputManifest.model_validate_json((folder / stage / MANIFEST).read_bytes()) for stage in stages}


def read(folder: Path, number: int = 0) -> np.ndarray:
    return np.fromfile(folder / f"output-{number}.bin", dtype="float32")


@pytest.mark.parametrize(
    ("recipe", "stages"),
    [
        ("portable", (Stage.EAGER, Stage.EXPORTED)),
        ("xnnpack_fp32", (Stage.EAGER, Stage.EXPORTED)),
        ("xnnpack_fp16", (Stage.EAGER, Stage.EXPORTED)),
        ("openvino", (Stage.EAGER, Stage.EXPORTED)),
        ("xnnpack_q8", (Stage.EAGER, Stage.EXPORTED, Stage.QUANTISED)),
        ("xnnpack_q8_relu6", (Stage.EAGER, Stage.EXPORTED, Stage.QUANTISED)),
        ("xnnpack_q8_dynamic", (Stage.EAGER, Stage.EXPORTED, Stage.QUANTISED)),
    ],
)
def test_a_recipe_has_a_quantised_stage_if_it_quantises(recipe: str, stages: Sequence[Stage]) -> None:
    assert tuple(maker.reference_stages(Export(definition="mlp", recipe=recipe))) == stages


def test_every_recipe_of_ours_has_steps() -> None:
    own = [RECIPES.find(name) for name in RECIPES.names()]
    assert all(recipe_steps.has_steps(recipe) for recipe in own if recipe.module.startswith("frameworks."))


def test_a_recipe_without_steps_has_no_quantised_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reference_recipe.py").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    for function in ("lower", "other"):
        export = Export(definition="mlp", recipe=f"reference_recipe:{function}")
        assert tuple(maker.reference_stages(export)) == (Stage.EAGER, Stage.EXPORTED)


def test_steps_belong_to_the_recipe_called_lower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = "def quantise(m, i, c): ...\ndef lower_program(p): ...\n"
    (tmp_path / "stepped_recipe.py").write_text(textwrap.dedent(RECIPE) + steps)
    monkeypatch.chdir(tmp_path)
    quantising = [recipe_steps.quantises(RECIPES.find(f"stepped_recipe:{name}")) for name in ("lower", "other")]

    assert quantising == [True, False]


def test_unknown_recipes_are_named() -> None:
    with pytest.raises(ExportFailed, match="unknown export recipe `xnnpack_q9`"):
        maker.reference_stages(Export(definition="mlp", recipe="xnnpack_q9"))


@pytest.mark.slow
def test_stages_have_the_weights_of_the_export_and_run_every_example(tmp_path: Path) -> None:
    inputs = np.random.default_rng(0).normal(size=(3, 1, 16)).astype("float32")
    examples = write_test_examples(tmp_path / "examples", inputs)
    export = Export(definition="mlp", recipe="xnnpack_q8", calibration=2, seed=3)

    manifests = make(export, examples, (Stage.QUANTISED, Stage.EAGER, Stage.EXPORTED), tmp_path / "outputs")
    report = EXPORTER.export(export, tmp_path / "mlp.pte", Silent([]))

    folder = tmp_path / "outputs"
    eager, exported, quantised = (read(folder / stage) for stage in (Stage.EAGER, Stage.EXPORTED, Stage.QUANTISED))
    assert {manifest.weights_md5 for manifest in manifests.values()} == {report.weights_md5}
    assert [stage for stage, manifest in manifests.items() if manifest.stage is not stage] == []
    assert manifests[Stage.EAGER].outputs == report.outputs
    assert report.outputs == (TensorInfo(name="output_0", dtype="float32", shape=(1, 10)),)
    assert [(tensor.dtype, tensor.shape) for tensor in report.inputs] == [("float32", (1, 16))]
    assert (manifests[Stage.EAGER].count, manifests[Stage.EAGER].examples) == (3, manifests[Stage.EXPORTED].examples)
    assert eager.shape == (30,)
    assert np.allclose(eager, exported, atol=1e-6)
    noise = float(np.linalg.norm(quantised - eager) / np.linalg.norm(eager))
    assert 1e-4 < noise < 0.5
    assert {path.name for path in folder.iterdir()} == {"eager", "exported", "quantised"}


@pytest.mark.slow
def test_nested_outputs_are_numbered_and_keep_their_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reference_nets.py").write_text(NETS + RUNNING_SUM)
    monkeypatch.chdir(tmp_path)
    left, right = np.array([[[1, 2, 3]], [[4, 5, 6]]], "float32"), np.array([[[1, -1, 1]], [[0, 0, 1]]], "float32")
    examples = write_test_examples(tmp_path / "examples", left, right)
    export = Export(definition="reference_nets:two", recipe="portable")

    manifest = make(export, examples, (Stage.EAGER,), tmp_path / "outputs")[Stage.EAGER]

    folder = tmp_path / "outputs" / "eager"
    assert [(tensor.name, tensor.dtype, tensor.shape) for tensor in manifest.outputs] == [
        ("output_0", "float32", (1, 3)),
        ("output_1", "bfloat16", (1, 3)),
        ("output_2", "bool", (1, 3)),
    ]
    assert read(folder).tolist() == (left + right).reshape(-1).tolist()
    assert (folder / "output-1.bin").stat().st_size == 2 * 6
    assert (folder / "output-2.bin").read_bytes() == bytes([1, 0, 1, 0, 0, 1])


@pytest.mark.slow
def test_every_stage_of_a_model_with_a_state_begins_with_its_first_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reference_nets.py").write_text(NETS + RUNNING_SUM)
    monkeypatch.chdir(tmp_path)
    examples = write_test_examples(tmp_path / "examples", np.ones((3, 1, 3), "float32"))
    export = Export(definition="reference_nets:running_sum", recipe="portable")

    make(export, examples, (Stage.EAGER, Stage.EXPORTED), tmp_path / "outputs")

    sums = [1.0] * 3 + [2.0] * 3 + [3.0] * 3
    assert read(tmp_path / "outputs" / "eager").tolist() == sums
    assert read(tmp_path / "outputs" / "exported").tolist() == sums


@pytest.mark.slow
@pytest.mark.parametrize(
    ("definition", "shape", "words"),
    [
        ("mlp", (1, 1, 15), r"inputs of shape \[1, 15\]; the model takes \[1, 16\]"),
        ("reference_nets:words", (1, 1, 3), "an output of the model is of type str"),
        ("reference_nets:complex_numbers", (1, 1, 3), "eager: output_1 of the model is of type complex64"),
    ],
)
def test_what_cannot_be_computed_is_told_and_leaves_no_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, definition: str, shape: tuple[int, ...], words: str
) -> None:
    (tmp_path / "reference_nets.py").write_text(NETS + RUNNING_SUM)
    monkeypatch.chdir(tmp_path)
    examples = write_test_examples(tmp_path / "examples", np.zeros(shape, "float32"))
    export = Export(definition=definition, recipe="portable", inputs=(Input(name="x", shape=(1, 16)),))
    if definition != "mlp":
        export = Export(definition=definition, recipe="portable")

    with pytest.raises(ExportFailed, match=words):
        make(export, examples, (Stage.EAGER,), tmp_path / "outputs")

    assert [path.name for path in (tmp_path / "outputs").iterdir()] == ["references.log"]
