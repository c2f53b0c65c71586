"""Whether files that two programs wrote are the same: as numbers of a known element type, else byte by byte."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.analysis.accuracy.arrays import OutputStream
from harness.analysis.accuracy.comparison import Tolerance, compare_outputs
from harness.core.evaluation import OutputComparison
from harness.core.examples import ITEM_BYTES, TensorInfo
from harness.core.verdict import OutputVerdict
from harness.files.numbers import UnreadableNumbers, is_self_describing, read_numbers

_SEVERITY: Final = (
    OutputVerdict.DIFFERENT,
    OutputVerdict.NOT_COMPARED,
    OutputVerdict.WITHIN_TOLERANCE,
    OutputVerdict.IDENTICAL,
)
_CHUNK: Final = 1 << 20


def compare_files(
    name: str, control: Path, treatment: Path, *, dtype: str | None = None, tolerance: Tolerance | None = None
) -> OutputComparison:
    """Compare what two programs wrote to a file from the same inputs.

    Args:
        name: Its name in messages.
        control: The control's file.
        treatment: The treatment's.
        dtype: Element type of its numbers, `text` for numbers as text; None compares bytes, unless the name of the
            file shows that it describes itself (`.npy`).
        tolerance: For its numbers; None takes the default of the element type. Bytes have to be equal.
    """
    place = _first_difference(control, treatment)
    if place is None:
        return OutputComparison(verdict=OutputVerdict.IDENTICAL, examples=1)
    if dtype is not None or is_self_describing(control):
        compared = _compare_numbers(control, treatment, dtype, tolerance)
        if compared is not None:
            return _name(compared, name)
    sizes = [path.stat().st_size for path in (control, treatment)]
    length = "" if sizes[0] == sizes[1] else f", and the treatment's file has {sizes[1]} bytes instead of {sizes[0]}"
    return OutputComparison(
        verdict=OutputVerdict.DIFFERENT,
        reason=f"{name} differs from byte {place} on{length}",
        examples=1,
        differing_examples=1,
    )


def merge_comparisons(comparisons: Iterable[OutputComparison]) -> OutputComparison:
    """Return the gravest of the comparisons of several files, with the largest errors of all."""
    compared = sorted(comparisons, key=lambda comparison: _SEVERITY.index(comparison.verdict))
    errors = [comparison.max_absolute_error for comparison in compared]
    relative = [comparison.relative_l2_error for comparison in compared]
    reasons = dict.fromkeys(comparison.reason for comparison in compared if comparison.reason)
    return compared[0].model_copy(
        update={
            "reason": "; ".join(reasons) or None,
            "absolute_tolerance": max(comparison.absolute_tolerance for comparison in compared),
            "relative_tolerance": max(comparison.relative_tolerance for comparison in compared),
            "max_absolute_error": _largest(errors),
            "relative_l2_error": _largest(relative),
        }
    )


def _largest(errors: list[float | None]) -> float | None:
    return max((error for error in errors if error is not None), default=None)


def _first_difference(control: Path, treatment: Path) -> int | None:
    """Return the place of the first byte that differs; None where the files are equal."""
    place = 0
    with control.open("rb") as first, treatment.open("rb") as second:
        while True:
            one, other = first.read(_CHUNK), second.read(_CHUNK)
            if one != other:
                same = zip(one, other, strict=False)
                return place + next((at for at, (a, b) in enumerate(same) if a != b), min(len(one), len(other)))
            if not one:
                return None
            place += len(one)


def _compare_numbers(
    control: Path, treatment: Path, dtype: str | None, tolerance: Tolerance | None
) -> OutputComparison | None:
    """Compare the numbers of two files; None where they are of a type that is compared as bytes."""
    streams = []
    for path, side in ((control, "control"), (treatment, "treatment")):
        try:
            numbers, name = read_numbers(path, dtype)
        except UnreadableNumbers as error:
            reason = f"the {side}'s {error}"
            return OutputComparison(verdict=OutputVerdict.DIFFERENT, reason=reason, examples=1, differing_examples=1)
        if name not in ITEM_BYTES:
            return None
        tensor = TensorInfo(name=path.name, dtype=name, shape=numbers.shape)
        streams.append(OutputStream((tensor,), 1, [(numbers,)]))
    return compare_outputs(streams[0], streams[1], tolerance)


def _name(comparison: OutputComparison, name: str) -> OutputComparison:
    """Return the comparison with the name of its file in place of the number of the output."""
    return comparison.model_copy(
        update={
            "reason": comparison.reason and f"{name}: {comparison.reason}",
            "first_difference": comparison.first_difference
            and comparison.first_difference.replace("output 0, example 0", name, 1),
        }
    )
