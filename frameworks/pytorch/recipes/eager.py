"""The program that torch.export captures, which torch runs operator by operator, as eager mode does."""

from __future__ import annotations

import io

import torch
from torch import nn


def write(module: nn.Module, example_inputs: tuple[torch.Tensor, ...]) -> bytes:
    """Return the archive of `torch.export.save`."""
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(module, example_inputs), buffer)
    return buffer.getvalue()
