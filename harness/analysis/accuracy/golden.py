"""Outputs of a program against golden ones, in FAI-PEP's form: statistics of outputs, golden ones and differences."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from harness.analysis.accuracy.arrays import to_float64
from harness.analysis.summary import summarise
from harness.core.benchmark import ERROR
from harness.core.metric import ControlSide, Direction, Metric
from harness.files.numbers import UnreadableNumbers, read_numbers

_REAL: Final = "biuf"
"""NumPy's kinds of truth values, integers and floating-point numbers."""


class GoldenMismatch(Exception):
    """Outputs that cannot be compared with golden ones; the message is for users."""


def compare_with_golden(
    name: str, output: Path, golden: Path, dtype: str | None = None, statistics: tuple[str, ...] = ()
) -> tuple[Metric, ...]:
    """Compare the numbers of an output file with those of a golden one, element by element.

    The first metric has FAI-PEP's form (`_processErrorData` of its `benchmark_driver.py`): p0 to p100 of the outputs as
    its summary, those of the golden outputs as `control_summary`, and those of the differences, output minus golden, as
    `diff_summary`. FAI-PEP cuts the longer file; here other counts and shapes are a mistake.

    Args:
        name: Name of the output, the type of the metrics.
        output: The file that the program wrote.
        golden: The file with what it should have written.
        dtype: Element type of raw files, `text` or None for numbers as text; `.npy` files have their own.
        statistics: Further statistics.

    Returns:
        `<name> error`, and `<name> max_absolute_error`.

    Raises:
        GoldenMismatch: The files cannot be read, or do not fit one another, or an output is not finite.
    """
    try:
        values, value_type = read_numbers(output, dtype)
        expected, golden_type = read_numbers(golden, dtype)
    except UnreadableNumbers as error:
        hint = "" if dtype else " (say `dtype` of the output file, where it is raw)"
        raise GoldenMismatch(f"{name}: {error}{hint}") from error
    for which, numbers in ((output.name, values), (f"the golden file {golden.name}", expected)):
        if numbers.dtype.kind not in _REAL:
            raise GoldenMismatch(f"{name}: {which} holds {numbers.dtype.name}, and only real numbers are compared")
    if values.size != expected.size:
        raise GoldenMismatch(
            f"{name}: {output.name} has {values.size} numbers, and the golden file {golden.name} has {expected.size}"
        )
    if values.shape != expected.shape and values.ndim > 1 and expected.ndim > 1:
        raise GoldenMismatch(
            f"{name}: {output.name} has the shape {list(values.shape)}, and the golden file {golden.name} "
            f"{list(expected.shape)}"
        )
    if not values.size:
        raise GoldenMismatch(f"{name}: {output.name} and the golden file {golden.name} have no numbers")
    outputs, targets = to_float64(values, value_type).ravel(), to_float64(expected, golden_type).ravel()
    for which, numbers in ((output.name, outputs), (f"the golden file {golden.name}", targets)):
        if faults := int((~np.isfinite(numbers)).sum()):
            first = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise GoldenMismatch(
                f"{name}: {faults} of {numbers.size} numbers of {which} are not finite, first number {first}, which is "
                f"{numbers[first]}"
            )
    differences = outputs - targets
    return (
        Metric(
            name=f"{name} {ERROR}",
            type=name,
            metric=ERROR,
            unit="",
            summary=summarise(outputs.tolist(), statistics),
            control=ControlSide(
                control_summary=summarise(targets.tolist(), statistics),
                diff_summary=summarise(differences.tolist(), statistics),
            ),
        ),
        Metric(
            name=f"{name} max_absolute_error",
            type=name,
            metric="max_absolute_error",
            unit="",
            direction=Direction.LOWER,
            samples=(float(np.abs(differences).max()),),
            launches=(0,),
            summary=summarise([float(np.abs(differences).max())]),
        ),
    )
