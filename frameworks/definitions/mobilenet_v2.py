"""MobileNetV2."""

from __future__ import annotations

import torch
from torch import nn

from frameworks.definitions import _torchvision
from frameworks.definitions._plain_mobilenet_v2 import MobileNetV2
from frameworks.definitions._torchvision_release import is_installed


def mv2(num_classes: int = 1000, width_mult: float = 1.0) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """MobileNetV2, random weights, 224x224; torchvision's, or an equal one where that is absent."""
    make = _torchvision.models().mobilenet_v2 if is_installed() else MobileNetV2
    return make(num_classes=num_classes, width_mult=width_mult), (torch.randn(1, 3, 224, 224),)
