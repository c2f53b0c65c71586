"""Whether two builds compute the same: identical bits, within a tolerance, or different."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harness.analysis.accuracy.arrays import (
    FLOATING,
    Floats,
    OutputArrays,
    OutputMismatch,
    OutputStream,
    describe_mismatch,
    pair_examples,
    to_float64,
    unequal_elements,
)
from harness.core.evaluation import OutputComparison
from harness.core.examples import TensorInfo
from harness.core.verdict import OutputVerdict


class Tolerance(NamedTuple):
    """Differences that count as rounding: up to `absolute + relative * largest`.

    `largest` is the largest magnitude of the control's output in the same example. Errors of a network's output are as
    large as the rounding of its largest terms, also in elements that happen to be near zero: a tolerance relative to
    each element would call those different, whatever it is.
    """

    absolute: float
    relative: float


EXACT: Final = Tolerance(0.0, 0.0)
TOLERANCES: Final = MappingProxyType(
    {
        "float64": Tolerance(2.0**-1022, 1e-10),
        "float32": Tolerance(2.0**-126, 1e-4),
        "bfloat16": Tolerance(2.0**-126, 1e-1),
        "float16": Tolerance(2.0**-14, 2e-2),
    }
)
"""Default tolerance by element type; integers and truth values have to be equal.

Relative, by how far kernels that add in another order moved outputs of MobileNetV2, random weights (with and without
oneDNN, channels first and last; maximum over eight inputs): 1e-14 in `float64`, 7e-6 in `float32`, 7e-3 in `float16`
and 3e-2 in `bfloat16`. The limits of the former two lie between that and the next lower precision, which moved them by
6e-6 and 2e-2: a kernel that silently computes in it is different. The half types have three times their own rounding.
Absolute: the smallest normal number, because processors may flush smaller ones to zero.
"""


def tolerance_of(dtype: str) -> Tolerance:
    """Return the default tolerance of an element type."""
    return TOLERANCES.get(dtype, EXACT)


def compare_outputs(
    control: OutputStream, treatment: OutputStream, tolerance: Tolerance | None = None
) -> OutputComparison:
    """Compare the outputs of two builds for the same inputs.

    Elements that are not a number on both sides are equal, and so are equal infinities; `reason` tells of them.

    Args:
        control: The control's outputs.
        treatment: The treatment's.
        tolerance: For all outputs; None takes the default of each element type.

    Returns:
        The comparison: `different` with a reason where numbers, shapes or element types of outputs differ,
        `not_compared` where there is nothing to compare. Its tolerances are the largest among the outputs.
    """
    mismatch = describe_mismatch(control, treatment)
    if mismatch is not None:
        reason = f"the treatment's outputs have another form than the control's: {mismatch}"
        return OutputComparison(verdict=OutputVerdict.DIFFERENT, reason=reason)
    if not control.count or not control.tensors:
        return OutputComparison(verdict=OutputVerdict.NOT_COMPARED, reason="there are no outputs to compare")
    tolerances = [tolerance or tolerance_of(tensor.dtype) for tensor in control.tensors]
    accumulator = _ComparisonAccumulator(control.tensors, tolerances)
    try:
        for expected, actual in pair_examples(control, treatment):
            with np.errstate(over="ignore", invalid="ignore"):
                accumulator.add(expected, actual)
    except OutputMismatch as error:
        return OutputComparison(verdict=OutputVerdict.NOT_COMPARED, reason=str(error), examples=accumulator.examples)
    return accumulator.conclude()


@dataclass(slots=True)
class _ComparisonAccumulator:
    """Comparison in progress. An error that is not finite makes the largest and the relative error None."""

    tensors: Sequence[TensorInfo]
    tolerances: Sequence[Tolerance]
    examples: int = 0
    identical: bool = True
    finite: bool = True
    differing_examples: int = 0
    control_faults: int = 0
    treatment_faults: int = 0
    first_difference: str | None = None
    largest_error: float = 0.0
    error_energy: float = 0.0
    control_energy: float = 0.0

    def add(self, control: OutputArrays, treatment: OutputArrays) -> None:
        """Compare the outputs of one example."""
        within, control_finite, treatment_finite = True, True, True
        for index, (expected, actual) in enumerate(zip(control, treatment, strict=True)):
            tensor = self.tensors[index]
            before, after = to_float64(expected, tensor.dtype), to_float64(actual, tensor.dtype)
            finite = np.isfinite(before)
            control_finite &= bool(finite.all())
            self.control_energy += float(np.square(before[finite]).sum())
            unequal = unequal_elements(expected, actual, tensor.dtype)
            if not unequal.any():
                continue
            self.identical = False
            treatment_finite &= bool(np.isfinite(after[finite]).all())
            beyond = self._add_errors(index, before, after, unequal)
            if beyond.any():
                within = False
                if self.first_difference is None:
                    self.first_difference = self._describe(index, int(np.flatnonzero(beyond)[0]), before, after)
        self.differing_examples += not within
        self.control_faults += not control_finite
        self.treatment_faults += not treatment_finite
        self.examples += 1

    def _add_errors(self, index: int, before: Floats, after: Floats, unequal: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which elements of one output are beyond its tolerance."""
        tolerance = self.tolerances[index]
        finite = np.isfinite(before) & np.isfinite(after)
        self.finite &= bool(finite[unequal].all())
        errors = np.where(finite, np.abs(np.where(finite, after, 0.0) - np.where(finite, before, 0.0)), 0.0)
        if self.tensors[index].dtype not in FLOATING:
            errors = np.where(unequal, np.maximum(errors, 1.0), 0.0)  # a double cannot tell large integers apart
        self.largest_error = max(self.largest_error, float(errors.max()))
        self.error_energy += float(np.square(errors).sum())
        largest = float(np.abs(before[np.isfinite(before)]).max(initial=0.0))
        return np.asarray(unequal & (~finite | (errors > tolerance.absolute + tolerance.relative * largest)))

    def _describe(self, index: int, position: int, before: Floats, after: Floats) -> str:
        place = [int(number) for number in np.unravel_index(position, before.shape)]
        values = f"{after.flat[position]:.6g} instead of {before.flat[position]:.6g}"
        return f"output {index}, example {self.examples}, {place}: {values}"

    def conclude(self) -> OutputComparison:
        """Return the comparison of all examples so far."""
        if self.identical:
            verdict = OutputVerdict.IDENTICAL
        elif self.differing_examples:
            verdict = OutputVerdict.DIFFERENT
        else:
            verdict = OutputVerdict.WITHIN_TOLERANCE
        relative = math.sqrt(self.error_energy / self.control_energy) if self.control_energy else None
        return OutputComparison(
            verdict=verdict,
            reason=self._reason(),
            examples=self.examples,
            absolute_tolerance=max(tolerance.absolute for tolerance in self.tolerances),
            relative_tolerance=max(tolerance.relative for tolerance in self.tolerances),
            max_absolute_error=self._finite(self.largest_error),
            relative_l2_error=self._finite(0.0 if self.identical else relative),
            differing_examples=self.differing_examples,
            first_difference=self.first_difference,
        )

    def _reason(self) -> str | None:
        """Return in words what the figures do not show: outputs that are not finite."""
        total, reasons = self.examples, []
        if self.treatment_faults:
            reasons.append(
                f"the treatment's outputs are not finite in {self.treatment_faults} of {total} examples, "
                "where those of the control are"
            )
        if self.control_faults:
            reasons.append(f"the control's outputs are not finite in {self.control_faults} of {total} examples")
        return "; ".join(reasons) or None

    def _finite(self, error: float | None) -> float | None:
        return error if error is not None and self.finite and math.isfinite(error) else None
