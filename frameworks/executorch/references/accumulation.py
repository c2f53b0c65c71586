"""Gap of one layer over examples, from sums that are added to one example at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass(slots=True)
class GapSums:
    """Sums over all elements of all examples, in double precision.

    Attributes:
        examples: Number of examples.
        signal: Squares of the reference.
        noise: Squares of the difference.
        energy: Squares of the other.
        product: Products of both.
        largest: The largest absolute difference.
    """

    examples: int = 0
    signal: float = 0.0
    noise: float = 0.0
    energy: float = 0.0
    product: float = 0.0
    largest: float = 0.0

    def add(self, reference: torch.Tensor, other: torch.Tensor) -> None:
        """Add one example."""
        expected, actual = reference.double().reshape(-1), other.double().reshape(-1)
        difference = actual - expected
        self.examples += 1
        self.signal += float(expected @ expected)
        self.noise += float(difference @ difference)
        self.energy += float(actual @ actual)
        self.product += float(expected @ actual)
        largest = float(difference.abs().max()) if difference.numel() else 0.0
        self.largest = largest if math.isnan(largest) else max(self.largest, largest)

    @property
    def sqnr_db(self) -> float | None:
        """Signal-to-quantisation-noise ratio in dB; None where both are equal, one is not finite, or all are zero."""
        ratio = self.signal / self.noise if self.noise else math.inf
        return 10 * math.log10(ratio) if math.isfinite(ratio) and ratio > 0 else None

    @property
    def max_absolute_error(self) -> float | None:
        """Largest absolute difference; None where it is not finite."""
        return self.largest if math.isfinite(self.noise) else None

    @property
    def cosine_similarity(self) -> float | None:
        """Cosine of the angle between both; None where one is zero or not finite."""
        norms = math.sqrt(self.signal) * math.sqrt(self.energy)
        return min(1.0, max(-1.0, self.product / norms)) if math.isfinite(norms) and norms > 0 else None
