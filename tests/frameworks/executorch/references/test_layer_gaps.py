"""Gaps of layers: where quantisation loses, and what the runtime computes otherwise than torch."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from frameworks.executorch.references import maker
from frameworks.executorch.references.process import LayerRequest
from harness.core.benchmark import Export
from harness.core.evaluation import LayerGap, LayerGaps
from harness.core.examples import Stage
from tests.frameworks.executorch.references.example_folders import Silent, write_test_examples

slow = pytest.mark.slow
pytestmark = pytest.mark.filterwarnings("ignore")  # Upstream's; the process keeps them for its log.

NETS = """
import torch
from torch import nn

class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = nn.functional.relu6(self.norm(self.conv(x)))
        return self.head(x.mean((2, 3)))

class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.act = nn.ReLU6()
        self.head = nn.Linear(8, 5)
        with torch.no_grad():
            self.conv.weight[0] *= 60  # what one channel needs of the range, ReLU6 removes

    def forward(self, x):
        return self.head(self.act(self.conv(x)).mean((2, 3)))

class Doubling(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.head = nn.Linear(6, 5)

    def forward(self, x):
        x.mul_(2)
        return self.head(torch.tanh(self.body(x)))

class Summing(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.register_buffer("total", torch.full((1, 6), 0.5))

    def forward(self, x):
        self.total.add_(self.body(x))
        return self.total * 1.0

def doubling():
    return Doubling(), (torch.randn(1, 6),)

def clamped():
    return Clamped(), (torch.randn(1, 3, 8, 8),)

def wide():
    return Wide(), (torch.randn(1, 3, 8, 8),)
"""

RECIPE = """
from frameworks.executorch.recipes import portable

def lower(module, example_inputs, calibration):
    return portable.lower(module, example_inputs, calibration)
"""


@pytest.fixture(scope="module")
def gaps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, LayerGaps]]:
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "gap_nets.py").write_text(NETS)
    inputs = np.random.default_rng(0).normal(size=(3, 1, 3, 8, 8)).astype("float32")
    examples = write_test_examples(folder / "examples", inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        yield {
            "portable": compare(folder, examples, Export(definition="gap_nets:clamped", recipe="portable")),
            "fp16": compare(folder, examples, Export(definition="gap_nets:clamped", recipe="xnnpack_fp16")),
            "q8": compare(folder, examples, Export(definition="gap_nets:wide", recipe="xnnpack_q8", calibration=4)),
            "q8_relu6": maker.compare_layers(
                Export(definition="gap_nets:wide", recipe="xnnpack_q8_relu6", calibration=4),
                examples,
                Silent(),
                limit=2,
            ),
        }


def compare(folder: Path, examples: Path, export: Export) -> LayerGaps:
    """Compare layers in this process, which saves a start."""
    from frameworks.executorch.references.layers import compare_layers  # noqa: PLC0415 - seconds

    return compare_layers(LayerRequest(export=export, examples=examples, limit=2, scratch=folder), print)


def select(gaps: LayerGaps, stage: Stage) -> dict[str, LayerGap]:
    return {gap.name: gap for gap in gaps.gaps if gap.stage is stage}


@slow
def test_layers_of_a_portable_program_compute_what_torch_computes(gaps: Mapping[str, LayerGaps]) -> None:
    layers = gaps["portable"].gaps

    assert [gap.operator for gap in layers] == ["relu6", "mean", "linear"]
    assert {(gap.stage, gap.reference, gap.delegate, gap.examples) for gap in layers} == {
        (Stage.HOST, Stage.EXPORTED, "", 2)
    }
    assert all(gap.sqnr_db is None or gap.sqnr_db > 120 for gap in layers)
    assert all((gap.max_absolute_error or 0) < 1e-5 for gap in layers)


@slow
def test_a_layer_has_its_module_and_its_line(gaps: Mapping[str, LayerGaps]) -> None:
    layers = {gap.operator: gap for gap in gaps["portable"].gaps}

    assert layers["linear"].module == "head"
    assert layers["mean"].source.startswith("gap_nets.py:")


@slow
def test_half_precision_is_compared_with_the_program_in_full_precision(gaps: Mapping[str, LayerGaps]) -> None:
    layers = gaps["fp16"].gaps

    assert {(gap.stage, gap.reference) for gap in layers} == {(Stage.HOST, Stage.EXPORTED)}
    assert [gap.delegate for gap in layers] == ["XnnpackBackend", "", "XnnpackBackend"]
    assert all(40 < (gap.sqnr_db or math.inf) < 100 for gap in layers)


@slow
def test_the_stage_where_quantisation_loses_is_told_inside_a_delegate(gaps: Mapping[str, LayerGaps]) -> None:
    stock, fused = select(gaps["q8"], Stage.QUANTISED), select(gaps["q8_relu6"], Stage.QUANTISED)

    assert [gap.operator for gap in stock.values()] == ["conv2d", "hardtanh", "mean", "linear"]
    assert [gap.operator for gap in fused.values()] == ["hardtanh", "mean", "linear"]
    assert {gap.reference for gap in stock.values()} == {Stage.EXPORTED}
    assert stock["hardtanh"].delegate == "XnnpackBackend"
    assert (fused["hardtanh"].sqnr_db or 0) > (stock["hardtanh"].sqnr_db or 0) + 2


@slow
def test_the_runtime_is_compared_with_the_quantised_program(gaps: Mapping[str, LayerGaps]) -> None:
    layers = select(gaps["q8_relu6"], Stage.HOST)

    assert {gap.reference for gap in layers.values()} == {Stage.QUANTISED}
    assert all(gap.sqnr_db is None or gap.sqnr_db > 30 for gap in layers.values())


@slow
@pytest.mark.parametrize("name", ["portable", "q8", "q8_relu6"])
def test_further_outputs_do_not_change_the_programs_own(gaps: Mapping[str, LayerGaps], name: str) -> None:
    assert gaps[name].notes[1].startswith("its own outputs are bit by bit")
    assert gaps[name].unavailable is None


@slow
def test_layers_of_a_model_that_changes_its_input_are_of_the_same_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doubling_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    examples = write_test_examples(tmp_path / "examples", np.ones((2, 1, 6), "float32"))
    gaps = compare(tmp_path, examples, Export(definition="doubling_nets:doubling", recipe="portable"))
    assert gaps.gaps
    assert all(gap.sqnr_db is None or gap.sqnr_db > 100 for gap in gaps.gaps)


@slow
def test_a_quantised_program_begins_with_the_first_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch  # noqa: PLC0415 - seconds

    from frameworks.executorch.recipes import xnnpack_q8  # noqa: PLC0415 - likewise

    (tmp_path / "summing_nets.py").write_text(NETS)
    monkeypatch.syspath_prepend(str(tmp_path))
    inputs = (torch.randn(1, 6),)
    module = importlib.import_module("summing_nets").Summing().eval().requires_grad_(requires_grad=False)
    program = xnnpack_q8.quantise(module, inputs, [inputs] * 3)
    assert program.state_dict["total"].tolist() == [[0.5] * 6]


def test_a_recipe_that_does_not_show_its_program_has_no_gaps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gap_recipe.py").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    gaps = maker.compare_layers(Export(definition="mlp", recipe="gap_recipe:lower"), tmp_path, Silent())

    assert gaps.gaps == ()
    assert "defines no `lower_program`" in (gaps.unavailable or "")


@slow
def test_sums_over_examples_give_the_figures_of_all_together() -> None:
    import torch  # noqa: PLC0415 - seconds

    from frameworks.executorch.references.accumulation import GapSums  # noqa: PLC0415 - imports torch

    rng = np.random.default_rng(1)
    reference = rng.normal(size=(5, 40))
    other = reference + rng.normal(scale=0.1, size=(5, 40))
    sums, equal, broken = GapSums(), GapSums(), GapSums()
    for expected, actual in zip(reference, other, strict=True):
        sums.add(torch.from_numpy(expected), torch.from_numpy(actual))
        equal.add(torch.from_numpy(expected), torch.from_numpy(expected))
    for value in (float("nan"), 1.0):
        broken.add(torch.ones(1), torch.tensor([value]))

    noise = np.linalg.norm(other - reference)
    cosine = float(np.sum(reference * other) / np.linalg.norm(reference) / np.linalg.norm(other))
    assert sums.sqnr_db == pytest.approx(20 * np.log10(np.linalg.norm(reference) / noise))
    assert sums.max_absolute_error == pytest.approx(np.abs(other - reference).max())
    assert sums.cosine_similarity == pytest.approx(cosine)
    assert (equal.sqnr_db, equal.max_absolute_error) == (None, 0.0)
    assert (broken.sqnr_db, broken.max_absolute_error, broken.cosine_similarity) == (None, None, None)
