"""Judge outputs against golden ones, on the host, and print observer lines.

SQNR is 10 log10(sum of golden^2 / sum of error^2) in decibels: 6 dB are one bit. `top1 agreement` tells whether the
largest output is the same one.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path


def main() -> None:
    """Compare two files with one number per line."""
    parser = argparse.ArgumentParser(description="Compare outputs with golden ones.")
    parser.add_argument("--golden", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()

    golden, output = read(options.golden), read(options.output)
    if len(golden) != len(output):
        sys.exit(f"{options.output} has {len(output)} numbers, {options.golden} has {len(golden)}")
    observe("sqnr", "dB", sqnr_db(golden, output))
    observe("max_abs_error", "", max(abs(one - other) for one, other in zip(golden, output, strict=True)))
    observe("top1_agreement", "", float(golden.index(max(golden)) == output.index(max(output))))


def read(file: Path) -> list[float]:
    """The numbers of a file."""
    return [float(line) for line in file.read_text().split()]


def sqnr_db(golden: list[float], output: list[float]) -> float:
    """Signal to quantisation noise. Equal outputs count as 400 dB: beyond what a double can tell apart."""
    signal = math.fsum(value * value for value in golden)
    noise = math.fsum((one - other) ** 2 for one, other in zip(golden, output, strict=True))
    return 10 * math.log10(signal / noise) if noise else 400.0


def observe(metric: str, unit: str, value: float) -> None:
    """Print one observer line."""
    print("PyTorchObserver", json.dumps({"type": "NET", "metric": metric, "unit": unit, "value": str(value)}))


if __name__ == "__main__":
    main()
