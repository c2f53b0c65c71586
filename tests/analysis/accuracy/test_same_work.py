"""Whether a program does the same work as the eager model: outputs within a tolerance, from equal weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.analysis.accuracy.same_work import compare_work
from harness.core.examples import MANIFEST, Stage, TensorInfo
from harness.core.same_work import SameWork, SameWorkRequest, WorkVerdict
from harness.files.examples import read_outputs, write_outputs

WEIGHTS = "0" * 32
EXPECTED = np.array([[1.0, -4.0, 0.5]], dtype=np.float32)


def compare(
    tmp_path: Path,
    actual: Sequence[object],
    expected: Sequence[object] = (EXPECTED,),
    *,
    exported: str | None = WEIGHTS,
    reference: str | None = WEIGHTS,
    tolerance: float = 1e-3,
) -> SameWork:
    outputs = write(tmp_path / "outputs", actual, None)
    eager = write(tmp_path / "eager", expected, reference)
    request = SameWorkRequest(tolerance=tolerance)
    return compare_work(outputs, eager, request, stage=Stage.DEVICE, weights_md5=exported)


def write(folder: Path, arrays: Sequence[object], weights: str | None) -> Path:
    """Write an output folder with two equal examples."""
    outputs = [np.asarray(array) for array in arrays]
    tensors = tuple(
        TensorInfo(name=str(number), dtype=array.dtype.name, shape=array.shape) for number, array in enumerate(outputs)
    )
    with write_outputs(folder, tensors, stage=Stage.EAGER, examples="digest") as writer:
        writer.add(outputs)
        writer.add(outputs)
    manifest = read_outputs(folder).manifest.model_copy(update={"weights_md5": weights})
    (folder / MANIFEST).write_text(manifest.model_dump_json())
    return folder


def test_equal_bits_of_equal_weights_are_the_same_work(tmp_path: Path) -> None:
    proof = compare(tmp_path, [EXPECTED])

    assert (proof.verdict, proof.reason, proof.largest_difference, proof.relative_l2_error) == ("same", None, 0.0, 0.0)
    assert (proof.examples, proof.examples_digest, proof.weights_md5) == (2, "digest", WEIGHTS)


def test_differences_are_relative_to_the_largest_magnitude(tmp_path: Path) -> None:
    proof = compare(tmp_path, [EXPECTED + np.array([[0, 0, 0.002]], dtype=np.float32)])

    assert proof.verdict is WorkVerdict.SAME
    assert proof.largest_difference == pytest.approx(0.0005, rel=1e-3)


def test_more_than_the_tolerance_is_other_work_with_its_figures(tmp_path: Path) -> None:
    proof = compare(tmp_path, [EXPECTED + np.array([[0, 0, 0.02]], dtype=np.float32)])

    assert proof.verdict is WorkVerdict.DIFFERENT
    assert proof.reason is not None
    assert "up to 0.005 of the largest magnitude" in proof.reason


def test_small_differences_everywhere_are_other_work_by_their_norm(tmp_path: Path) -> None:
    expected = np.zeros((1, 10_000), dtype=np.float32)
    expected[0, 0] = 1
    proof = compare(tmp_path, [expected + np.float32(9e-4)], [expected])

    assert proof.largest_difference == pytest.approx(9e-4, rel=1e-3)
    assert proof.verdict is WorkVerdict.DIFFERENT


def test_each_output_counts_by_itself(tmp_path: Path) -> None:
    large, small = EXPECTED * 1000, EXPECTED
    proof = compare(tmp_path, [large, small * np.float32(1.1)], [large, small])

    assert proof.verdict is WorkVerdict.DIFFERENT


@pytest.mark.parametrize("wrong", [np.full_like(EXPECTED, np.nan), np.full_like(EXPECTED, np.inf)])
def test_outputs_that_are_not_finite_are_other_work(tmp_path: Path, wrong: object) -> None:
    assert compare(tmp_path, [wrong]).verdict is WorkVerdict.DIFFERENT


def test_another_form_is_other_work(tmp_path: Path) -> None:
    proof = compare(tmp_path, [EXPECTED[:, :2]])

    assert proof.verdict is WorkVerdict.DIFFERENT
    assert proof.reason is not None
    assert proof.reason.endswith("output 0 has the shape [1, 2] instead of [1, 3]")


def test_a_reference_that_is_not_finite_proves_nothing(tmp_path: Path) -> None:
    broken = np.full_like(EXPECTED, np.nan)

    assert compare(tmp_path, [broken], [broken]).verdict is WorkVerdict.NOT_COMPARED


def test_a_reference_of_zeros_is_matched_by_zeros_only(tmp_path: Path) -> None:
    zeros = np.zeros_like(EXPECTED)

    assert compare(tmp_path / "a", [zeros], [zeros]).verdict is WorkVerdict.SAME
    assert compare(tmp_path / "b", [EXPECTED], [zeros]).verdict is WorkVerdict.DIFFERENT


def test_other_weights_are_other_work_whatever_the_outputs(tmp_path: Path) -> None:
    proof = compare(tmp_path, [EXPECTED], exported="1" * 32)

    assert proof.verdict is WorkVerdict.DIFFERENT
    assert proof.reason is not None
    assert "other weights" in proof.reason


def test_unknown_weights_prove_nothing(tmp_path: Path) -> None:
    assert compare(tmp_path, [EXPECTED], exported=None).verdict is WorkVerdict.NOT_COMPARED
