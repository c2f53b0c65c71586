"""Source of a model definition with a state: each output is the sum of all inputs so far."""

from __future__ import annotations

from typing import Final

RUNNING_SUM: Final = """
import torch

class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 3))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 1.0

def running_sum():
    return Sum(), (torch.ones(1, 3),)
"""
