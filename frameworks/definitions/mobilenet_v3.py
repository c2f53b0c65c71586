"""MobileNetV3."""

from __future__ import annotations

import torch
from torch import nn

from frameworks.definitions import _torchvision


def mv3_small(num_classes: int = 1000) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Small MobileNetV3 of torchvision, random weights, 224x224."""
    return _torchvision.models().mobilenet_v3_small(num_classes=num_classes), (torch.randn(1, 3, 224, 224),)


def mv3_large(num_classes: int = 1000) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Large MobileNetV3 of torchvision, random weights, 224x224."""
    return _torchvision.models().mobilenet_v3_large(num_classes=num_classes), (torch.randn(1, 3, 224, 224),)
