"""Compute one fully connected layer whose weights are rounded to a few bits, and write its outputs, one per line.

Accuracy benchmarks need a program that writes what it computed; this one needs nothing but Python. Without `--bits` the
weights stay as they are: that is how `quantised_linear_golden.txt` was made.
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path

INPUTS, OUTPUTS = 64, 32


def main() -> None:
    """Compute, and write the outputs."""
    parser = argparse.ArgumentParser(description="A layer with rounded weights.")
    parser.add_argument("--bits", type=int, help="bits of a weight, sign included; absent rounds nothing")
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    options = parser.parse_args()

    # Uniform numbers of a seeded generator are the same on every machine; exact sums do not depend on their order.
    source = random.Random(0)  # noqa: S311 - the same numbers everywhere, not secrets
    weights = [[source.uniform(-1, 1) for _ in range(INPUTS)] for _ in range(OUTPUTS)]
    activations = [source.uniform(-1, 1) for _ in range(INPUTS)]
    used = weights if options.bits is None else [rounded(row, options.bits) for row in weights]

    outputs = [math.fsum(map(float.__mul__, row, activations)) for row in used]
    options.output.write_text("".join(f"{output!r}\n" for output in outputs))


def rounded(row: list[float], bits: int) -> list[float]:
    """A row on a symmetric grid of `2^bits - 1` values, as quantisation per channel does."""
    step = max(map(abs, row)) / (2 ** (bits - 1) - 1)
    return [round(weight / step) * step for weight in row]


if __name__ == "__main__":
    main()
