"""Every recipe makes a program that runs and computes what the model computes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from frameworks.executorch.exporting.companions import GRAPH
from frameworks.executorch.exporting.recipes import RECIPES
from frameworks.exporting.child import ExportTask
from frameworks.exporting.companions import REPORT, beside
from frameworks.exporting.models import prepare
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.errors import EnvironmentProblem, ExportFailed
from harness.files.installation import install_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Upstream's; the export process keeps them for its log.
]

NETS = """
import torch
from torch import nn

def clamped():
    def layer(channels_in, channels_out):
        return [nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.BatchNorm2d(channels_out), nn.ReLU6()]
    layers = [*layer(3, 16), *layer(16, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 5)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 12, 12),)
"""

WORST_ERROR = {
    # Relative L2 distance from the eager model, in the recipe's precision.
    "portable": 1e-5,
    "xnnpack_fp32": 1e-5,
    "xnnpack_fp16": 1e-2,
    "xnnpack_q8": 0.1,
    "xnnpack_q8_relu6": 0.1,
    "xnnpack_q8_dynamic": 0.1,
    "xnnpack_8da4w": 0.2,
}


@dataclass(frozen=True)
class Made:
    report: ExportReport
    graph: str
    error: float


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Made]]:
    from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - seconds

    folder = tmp_path_factory.mktemp("programs")
    (folder / "recipe_nets.py").write_text(NETS)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        errors = {}
        for recipe in WORST_ERROR:
            export = Export(definition="recipe_nets:clamped", recipe=recipe, calibration=4)
            program = folder / f"{recipe}.pte"
            write_program(ExportTask(export, program, lambda text: None))
            report = ExportReport.model_validate_json(beside(program, REPORT).read_bytes())
            errors[recipe] = Made(report, beside(program, GRAPH).read_text(), error_against_eager(export, program))
        yield errors


def error_against_eager(export: Export, program: Path) -> float:
    """Relative L2 distance of the program's output from the eager model's."""
    prepared = prepare(export)
    with torch.no_grad():
        expected = prepared.module(*prepared.example_inputs)
    dtype = torch.float16 if export.recipe == "xnnpack_fp16" else torch.float32
    (output,) = execute(program, [tensor.to(dtype) for tensor in prepared.example_inputs])
    return float(torch.linalg.vector_norm(output.float() - expected) / torch.linalg.vector_norm(expected))


def execute(program: Path, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    from executorch.extension.pybindings import _C  # noqa: PLC0415 - seconds

    outputs: list[torch.Tensor] = _C._load_program(str(program)).load_method("forward").call(inputs, True)
    return outputs


def test_every_recipe_has_an_error_bound() -> None:
    in_files_of_their_own = ("openvino",)  # measuring/test_openvino.py
    assert tuple(sorted((*WORST_ERROR, *in_files_of_their_own))) == RECIPES.names()


@pytest.mark.parametrize("recipe", WORST_ERROR)
def test_a_program_computes_what_the_model_computes(made: Mapping[str, Made], recipe: str) -> None:
    assert made[recipe].error < WORST_ERROR[recipe]


@pytest.mark.parametrize("recipe", ["xnnpack_fp16", "xnnpack_q8", "xnnpack_q8_relu6", "xnnpack_q8_dynamic"])
def test_lower_precision_increases_the_error(made: Mapping[str, Made], recipe: str) -> None:
    assert made[recipe].error > 1e-6
    assert made[recipe].report.size_bytes < made["xnnpack_fp32"].report.size_bytes


def test_all_recipes_start_from_equal_weights(made: Mapping[str, Made]) -> None:
    assert len({program.report.weights_md5 for program in made.values()}) == 1


def test_the_portable_recipe_delegates_nothing(made: Mapping[str, Made]) -> None:
    delegation = made["portable"].report.delegation

    assert delegation is not None
    assert (delegation.subgraphs, delegation.delegated_count) == (0, 0)
    assert delegation.non_delegated["convolution"] == 2
    assert delegation.non_delegated["hardtanh"] == 2


def test_xnnpack_delegates_every_operator(made: Mapping[str, Made]) -> None:
    delegation = made["xnnpack_fp32"].report.delegation

    assert delegation is not None
    assert delegation.subgraphs == 1
    assert delegation.delegated["convolution"] == 2
    assert set(delegation.non_delegated) == {"getitem"}
    assert "backend_id: XnnpackBackend" in made["xnnpack_fp32"].graph
    assert "aten.convolution.default" in made["xnnpack_fp32"].graph


def test_fusing_relu6_saves_one_quantisation_for_each(made: Mapping[str, Made]) -> None:
    stock, fused = made["xnnpack_q8"].report.delegation, made["xnnpack_q8_relu6"].report.delegation

    assert stock is not None
    assert fused is not None
    assert stock.delegated["quantize_per_tensor"] - fused.delegated["quantize_per_tensor"] == 2


def test_fusing_relu6_reduces_the_error(made: Mapping[str, Made]) -> None:
    assert made["xnnpack_q8_relu6"].error < made["xnnpack_q8"].error / 2


def test_fusing_relu6_does_not_modify_the_quantiser_of_upstream(made: Mapping[str, Made]) -> None:
    from executorch.backends.xnnpack.quantizer import (  # noqa: PLC0415 - seconds
        xnnpack_quantizer_utils as upstream,
    )

    assert made
    assert upstream.is_relu_node.__module__ == upstream.__name__


def test_openvino_that_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from frameworks.executorch.recipes import openvino  # noqa: PLC0415 - seconds

    monkeypatch.setitem(sys.modules, "nncf", None)
    with pytest.raises(EnvironmentProblem, match="nncf") as failure:
        openvino.lower(torch.nn.ReLU(), (torch.zeros(2),), [])

    assert failure.value.hint == install_command(["openvino"])


def test_layers_with_few_inputs_are_not_rounded_to_4_bits(tmp_path: Path) -> None:
    from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - seconds

    export = Export(definition="linear", recipe="xnnpack_8da4w", options={"in_features": 24})
    with pytest.raises(ExportFailed, match="multiple of 32 inputs") as failure:
        write_program(ExportTask(export, tmp_path / "linear.pte", lambda text: None))

    assert "xnnpack_q8_dynamic" in (failure.value.hint or "")


def test_static_quantisation_without_calibration_is_rejected(tmp_path: Path) -> None:
    from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - seconds

    program = tmp_path / "mlp.pte"
    export = Export(definition="mlp", recipe="xnnpack_q8", calibration=0)
    with pytest.raises(ExportFailed, match="needs calibration data") as failure:
        write_program(ExportTask(export, program, lambda text: None))

    assert "`calibration`" in (failure.value.hint or "")
    assert list(tmp_path.iterdir()) == []
