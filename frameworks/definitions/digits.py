"""A network for handwritten digits that is trained where it is defined, in seconds and without a download."""

from __future__ import annotations

from typing import Final

import torch
from torch import nn

from harness.core.examples import Split
from harness.files.digits import read_digits

_BATCH: Final = 32


def digits(epochs: int = 30) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """Two convolutions and two fully connected layers, trained on the digits that nothing is evaluated with.

    Equal seeds give equal weights on one kind of processor: torch has one thread in the process of an export.

    Args:
        epochs: Number of passes over the images.

    Raises:
        DataUnavailable: Scikit-learn is not installed.
    """
    images, labels = (torch.from_numpy(array) for array in read_digits(Split.CALIBRATION))
    module = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(512, 16),
        nn.ReLU(),
        nn.Linear(16, 10),
    )
    _train(module, images, labels, epochs)
    return module, (images[:1].clone(),)


def _train(module: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int) -> None:
    steps = epochs * (len(images) // _BATCH)
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=max(steps, 1))
    module.train()
    for _ in range(epochs):
        for chosen in torch.randperm(len(images))[: len(images) // _BATCH * _BATCH].reshape(-1, _BATCH):
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(module(images[chosen]), labels[chosen]))
            optimizer.step()
            schedule.step()
    module.eval()
