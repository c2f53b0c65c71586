"""Proof of the same work: a program computes what the eager model of the same weights computes, or how it does not."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from harness.core.values import Value

EAGER: Final = "eager"
"""The only reference: the model as its definition makes it, executed by torch on this machine."""

DEFAULT_TOLERANCE: Final = 1e-3
"""Difference that is rounding, for programs in `float32`: other runtimes moved whole networks by up to 1e-5, half
precision moves them by 1e-2, and quantisation by more."""


class WorkVerdict(StrEnum):
    """Whether a program does the same work as its reference."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_COMPARED = "not_compared"


class SameWorkRequest(Value):
    """Request to prove that a program computes the same as its reference.

    Attributes:
        reference: What outputs are compared with: `eager`.
        tolerance: Difference that is rounding: of the largest element, relative to the largest magnitude of the
            reference in the same example, and of all elements, as relative L2 error.
    """

    reference: str = EAGER
    tolerance: Annotated[float, Field(gt=0, lt=1)] = DEFAULT_TOLERANCE


class SameWork(Value):
    """Outputs of one program against those of its reference, on the same inputs.

    Attributes:
        verdict: Whether they are the same.
        reason: How they differ, or why they were not compared, in words; None where they are the same.
        hint: What to do about it.
        reference: What they were compared with.
        tolerance: Difference that counts as rounding.
        largest_difference: Largest difference of any element, relative to the largest magnitude of the reference in the
            same example and output; None where none was computed.
        relative_l2_error: Norm of all differences relative to the norm of the reference; None likewise.
        examples: Number of examples that were compared.
        examples_digest: SHA-256 of the examples: with equal digests programs had the same input bytes.
        weights_md5: MD5 of the weights that the program was exported with; None where it is not known.
    """

    verdict: WorkVerdict
    reason: str | None = None
    hint: str | None = None
    reference: str = EAGER
    tolerance: float = DEFAULT_TOLERANCE
    largest_difference: float | None = None
    relative_l2_error: float | None = None
    examples: int = 0
    examples_digest: str = ""
    weights_md5: str | None = None

    @property
    def is_same(self) -> bool:
        """True if the outputs were compared, and are the same."""
        return self.verdict is WorkVerdict.SAME
