"""MobileNetV2 in torch alone, where torchvision is not installed.

Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018, table 2.
Names of parameters, the order in which they are drawn and their distributions are those of
`torchvision.models.mobilenet_v2`: one seed gives equal weights and an equal program from both.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

_STAGES = (
    # expansion, channels, blocks, stride of the first block
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(nn.Module):
    """Classifier: `[N, 3, H, W]` images to `[N, num_classes]` logits.

    Args:
        num_classes: Number of logits.
        width_mult: Factor on the number of channels of each layer.
    """

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0) -> None:
        super().__init__()
        last = _channels(1280 * max(1.0, width_mult))
        self.features = nn.Sequential(*_layers(width_mult, last))
        self.classifier = nn.Sequential(nn.Dropout(p=0.2), nn.Linear(last, num_classes))
        for module in self.modules():
            _initialise(module)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits of a batch of images."""
        pooled = nn.functional.adaptive_avg_pool2d(self.features(images), (1, 1))
        logits: torch.Tensor = self.classifier(torch.flatten(pooled, 1))
        return logits


class _InvertedResidual(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = channels_in * expansion
        expand = [_convolution(channels_in, hidden, kernel=1)] if expansion != 1 else []
        self.conv = nn.Sequential(
            *expand,
            _convolution(hidden, hidden, kernel=3, stride=stride, groups=hidden),
            nn.Conv2d(hidden, channels_out, kernel_size=1, bias=False),
            nn.BatchNorm2d(channels_out),
        )
        self.has_shortcut = stride == 1 and channels_in == channels_out

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        transformed: torch.Tensor = self.conv(features)
        return features + transformed if self.has_shortcut else transformed


def _layers(width_mult: float, last: int) -> Iterator[nn.Module]:
    channels = _channels(32 * width_mult)
    yield _convolution(3, channels, kernel=3, stride=2)
    for expansion, base, blocks, first_stride in _STAGES:
        for block in range(blocks):
            channels_in, channels = channels, _channels(base * width_mult)
            yield _InvertedResidual(channels_in, channels, first_stride if block == 0 else 1, expansion)
    yield _convolution(channels, last, kernel=1)


def _convolution(channels_in: int, channels_out: int, *, kernel: int, stride: int = 1, groups: int = 1) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU6(inplace=True),
    )


def _channels(exact: float) -> int:
    """Round to the nearest multiple of 8, but never more than 10 % down (the authors' own rounding)."""
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * exact else rounded + 8


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out")
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
        nn.init.zeros_(module.bias)
