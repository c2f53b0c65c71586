from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import torch

from frameworks.definitions import _torchvision
from frameworks.definitions._plain_mobilenet_v2 import MobileNetV2
from frameworks.definitions.mobilenet_v2 import mv2
from frameworks.definitions.resnet import resnet18
from frameworks.exporting.catalogue import DEFINITIONS
from frameworks.exporting.child import ExportTask
from frameworks.exporting.models import weights_md5
from harness.core.benchmark import Export, Input
from harness.core.errors import EnvironmentProblem
from harness.files.installation import install_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torchvision's own
]


@pytest.fixture
def no_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "torchvision" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # Numbers of parameters: torchvision's model documentation.
        ("mv2", 3_504_872),
        ("mv3_small", 2_542_856),
        ("mv3_large", 5_483_032),
        ("resnet18", 11_689_512),
        ("resnet50", 25_557_032),
        ("add", 0),
        ("linear", 64 * 64 + 64),
        ("mlp", 16 * 32 + 32 + 32 * 10 + 10),
    ],
)
def test_a_definition_makes_its_model(name: str, parameters: int) -> None:
    made = DEFINITIONS.find(name).load()()
    assert isinstance(made, tuple)
    module, example_inputs = made

    assert sum(parameter.numel() for parameter in module.parameters()) == parameters
    assert all(isinstance(tensor, torch.Tensor) for tensor in example_inputs)


@pytest.mark.parametrize("options", [{}, {"num_classes": 10}, {"width_mult": 0.35}, {"width_mult": 1.4}])
def test_plain_mobilenet_has_the_weights_of_torchvisions(options: dict[str, float]) -> None:
    torch.manual_seed(7)
    torchvision_model = _torchvision.models().mobilenet_v2(**options).eval()
    torch.manual_seed(7)
    ours = MobileNetV2(num_classes=int(options.get("num_classes", 1000)), width_mult=options.get("width_mult", 1.0))
    ours.eval()

    image = torch.randn(1, 3, 64, 64)

    assert weights_md5(ours) == weights_md5(torchvision_model)
    assert torch.equal(ours(image), torchvision_model(image))


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")  # Upstream's; the export process keeps them for its log.
def test_plain_mobilenet_makes_the_program_of_torchvisions(tmp_path: Path) -> None:
    from frameworks.executorch.exporting.program import write_program  # noqa: PLC0415 - seconds

    programs = {"mv2": tmp_path / "theirs.pte", f"{MobileNetV2.__module__}:MobileNetV2": tmp_path / "ours.pte"}
    for definition, program in programs.items():
        inputs = (Input(name="image", shape=(1, 3, 64, 64)),)
        export = Export(definition=definition, recipe="portable", inputs=inputs)
        write_program(ExportTask(export, program, lambda text: None))

    torchvision_program, ours = (program.read_bytes() for program in programs.values())
    assert torchvision_program == ours


def test_torchvision_is_used_where_it_is_installed() -> None:
    assert type(mv2()[0]).__module__.startswith("torchvision.")


@pytest.mark.usefixtures("no_torchvision")
def test_mobilenet_v2_does_without_torchvision() -> None:
    assert isinstance(mv2(num_classes=10)[0], MobileNetV2)


@pytest.mark.usefixtures("no_torchvision")
def test_other_models_say_how_to_install_torchvision() -> None:
    with pytest.raises(EnvironmentProblem, match="needs torchvision") as failure:
        resnet18()

    release = torch.__version__.partition("+")[0]
    assert failure.value.hint == install_command(["vision"], f"torch=={release}")


def test_trained_weights_that_are_not_installed_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(EnvironmentProblem, match="needs packages with EfficientNet-Lite0") as problem:
        DEFINITIONS.find("efficientnet_lite0").load()()

    assert problem.value.hint == install_command(["efficientnet"])
