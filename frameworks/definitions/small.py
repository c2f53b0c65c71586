"""Models small enough that a benchmark of them measures the runtime itself."""

from __future__ import annotations

import torch
from torch import nn


def add(size: int = 1) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """The sum of two vectors: the cost of a call."""
    return _Add(), (torch.randn(size), torch.randn(size))


def linear(in_features: int = 64, out_features: int = 64) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """One fully connected layer."""
    return nn.Linear(in_features, out_features), (torch.randn(1, in_features),)


def mlp(in_features: int = 16, hidden: int = 32, out_features: int = 10) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Two fully connected layers with a ReLU between them."""
    module = nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(), nn.Linear(hidden, out_features))
    return module, (torch.randn(1, in_features),)


class _Add(nn.Module):
    def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left + right
