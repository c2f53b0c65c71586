"""Sort random numbers, and print one observer line for each timed iteration.

All that a benchmark program has to do: warm up, time, print

    PyTorchObserver {"type": "NET", "metric": "latency", "unit": "ns", "value": "123"}

anywhere in its output. Values of equal type, metric and unit are the samples of one metric.
"""

from __future__ import annotations

import argparse
import json
import random
import time


def main() -> None:
    """Time first and print afterwards: printing between iterations would disturb them."""
    parser = argparse.ArgumentParser(description="Time sorting.")
    parser.add_argument("--size", type=int, required=True, help="how many numbers")
    parser.add_argument("--iter", type=int, required=True, help="timed iterations")
    parser.add_argument("--warmup", type=int, default=0, help="iterations before them")
    options = parser.parse_args()

    source = random.Random(0)  # noqa: S311 - the same numbers in each launch, not secrets
    numbers = [source.random() for _ in range(options.size)]
    for _ in range(options.warmup):
        latency_ns(numbers)
    latencies = [latency_ns(numbers) for _ in range(options.iter)]
    for latency in latencies:
        print("PyTorchObserver", json.dumps({"type": "NET", "metric": "latency", "unit": "ns", "value": str(latency)}))


def latency_ns(numbers: list[float]) -> int:
    """Nanoseconds that sorting a copy takes."""
    values = numbers.copy()
    start = time.perf_counter_ns()
    values.sort()
    return time.perf_counter_ns() - start


if __name__ == "__main__":
    main()
