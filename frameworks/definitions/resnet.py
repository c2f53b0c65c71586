"""Residual networks."""

from __future__ import annotations

import torch
from torch import nn

from frameworks.definitions import _torchvision


def resnet18(num_classes: int = 1000) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """ResNet-18 of torchvision, random weights, 224x224."""
    return _torchvision.models().resnet18(num_classes=num_classes), (torch.randn(1, 3, 224, 224),)


def resnet50(num_classes: int = 1000) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """ResNet-50 of torchvision, random weights, 224x224."""
    return _torchvision.models().resnet50(num_classes=num_classes), (torch.randn(1, 3, 224, 224),)
