from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from msgspec.structs import replace
from numpy.typing import NDArray

from harness.analysis.accuracy.comparison import TOLERANCES, Tolerance, compare_outputs
from harness.core.verdict import OutputVerdict
from tests.analysis.accuracy.streams import floats, stream, to_bfloat16

untimed = settings(deadline=None)
NAN, INF = math.nan, math.inf


@untimed
@given(st.sampled_from(["float32", "float16", "int8", "int64", "bool", "uint16"]), st.data())
def test_equal_bits_are_identical_whatever_they_stand_for(dtype: str, data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=3))
    values = data.draw(arrays.arrays(dtype, shape))
    comparison = compare_outputs(stream(values), stream(values.copy()))
    assert comparison.verdict is OutputVerdict.IDENTICAL
    assert comparison.examples == len(values)
    assert (comparison.max_absolute_error, comparison.relative_l2_error) == (0.0, 0.0)
    assert (comparison.reason is None) == bool(np.isfinite(values.astype(float)).all())


def test_rounding_is_within_tolerance() -> None:
    control = floats([1.0, 1e-7], [2.0, 3.0])
    comparison = compare_outputs(stream(control), stream(control + np.float32(2e-5)))
    assert comparison.verdict is OutputVerdict.WITHIN_TOLERANCE
    assert comparison.max_absolute_error == pytest.approx(2e-5, rel=0.02)
    assert comparison.relative_tolerance == 1e-4
    assert comparison.differing_examples == 0


def test_a_difference_is_named_with_its_place_and_size() -> None:
    control = floats([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])
    treatment = floats([1.0, 2.0], [3.0, 4.5], [5.5, 6.0])
    comparison = compare_outputs(stream(control, control), stream(control, treatment))
    assert comparison.verdict is OutputVerdict.DIFFERENT
    assert comparison.first_difference == "output 1, example 1, [1]: 4.5 instead of 4"
    assert comparison.differing_examples == 2
    assert comparison.max_absolute_error == 0.5
    assert comparison.relative_l2_error == pytest.approx(math.sqrt(0.5 / (2 * 91)))


def test_negative_zero_is_not_the_same_bits_but_within_tolerance() -> None:
    comparison = compare_outputs(stream(floats([0.0, 1.0])), stream(floats([-0.0, 1.0])))
    assert comparison.verdict is OutputVerdict.WITHIN_TOLERANCE
    assert comparison.max_absolute_error == 0.0


def test_a_stated_tolerance_replaces_the_default() -> None:
    control, treatment = stream(floats([1.0, 100.0])), stream(floats([1.5, 100.0]))
    assert compare_outputs(control, treatment, Tolerance(0.0, 0.01)).verdict is OutputVerdict.WITHIN_TOLERANCE
    control, treatment = stream(floats([1.0, 100.0])), stream(floats([1.5, 100.0]))
    assert compare_outputs(control, treatment, Tolerance(0.4, 0.0)).verdict is OutputVerdict.DIFFERENT


@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "uint8"])
def test_integers_and_truth_values_have_to_be_equal(dtype: str) -> None:
    comparison = compare_outputs(stream(np.array([[0, 1]], dtype)), stream(np.array([[1, 1]], dtype)))
    assert comparison.verdict is OutputVerdict.DIFFERENT
    assert comparison.relative_tolerance == 0.0


def test_large_integers_that_a_double_cannot_tell_apart_differ() -> None:
    comparison = compare_outputs(stream(np.array([[2**60]])), stream(np.array([[2**60 + 1]])))
    assert comparison.verdict is OutputVerdict.DIFFERENT
    assert comparison.max_absolute_error == 1.0


def test_not_a_number_in_the_treatment_is_different_and_named() -> None:
    comparison = compare_outputs(stream(floats([1.0, 2.0], [1.0, 2.0])), stream(floats([1.0, 2.0], [1.0, NAN])))
    assert comparison.verdict is OutputVerdict.DIFFERENT
    assert (
        comparison.reason == "the treatment's outputs are not finite in 1 of 2 examples, where those of the control are"
    )
    assert comparison.max_absolute_error is None
    assert comparison.relative_l2_error is None


@pytest.mark.parametrize("fault", [NAN, INF, -INF])
def test_the_same_fault_on_both_sides_is_identical_and_named(fault: float) -> None:
    comparison = compare_outputs(stream(floats([1.0, fault])), stream(floats([1.0, fault])))
    assert comparison.verdict is OutputVerdict.IDENTICAL
    assert comparison.reason == "the control's outputs are not finite in 1 of 1 examples"


def test_bits_of_not_a_number_do_not_count() -> None:
    quiet, other = np.array([[0x7FC00000]], np.uint32).view(np.float32), np.array([[0xFFC00001]], np.uint32)
    assert compare_outputs(stream(quiet), stream(other.view(np.float32))).verdict is OutputVerdict.IDENTICAL


def test_faults_at_different_places_differ() -> None:
    assert compare_outputs(stream(floats([NAN, 1.0])), stream(floats([1.0, NAN]))).verdict is OutputVerdict.DIFFERENT
    assert compare_outputs(stream(floats([INF])), stream(floats([-INF]))).verdict is OutputVerdict.DIFFERENT


def test_bfloat16_is_read_from_its_bits() -> None:
    control = to_bfloat16(floats([1.0, 2.0, -3.0]))
    treatment = control + np.array([[0, 1, 0]], np.uint16)  # one unit in the last place: 2**-6
    comparison = compare_outputs(stream(control, dtypes=["bfloat16"]), stream(treatment, dtypes=["bfloat16"]))
    assert comparison.max_absolute_error == 2.0**-6
    assert comparison.verdict is OutputVerdict.WITHIN_TOLERANCE
    assert comparison.relative_tolerance == TOLERANCES["bfloat16"].relative


def test_bfloat16_may_come_as_float32() -> None:
    values = floats([1.0, 2.0, -3.0])
    comparison = compare_outputs(stream(values, dtypes=["bfloat16"]), stream(to_bfloat16(values), dtypes=["bfloat16"]))
    assert comparison.verdict is OutputVerdict.IDENTICAL


@pytest.mark.parametrize(
    ("treatment", "reason"),
    [
        (np.zeros((2, 4), "f4"), "output 0 has the shape [4] instead of [3]"),
        (np.zeros((2, 3), "f8"), "output 0 has the element type float64 instead of float32"),
        (np.zeros((1, 3), "f4"), "1 example instead of 2"),
    ],
)
def test_outputs_of_another_form_are_different_in_words(treatment: NDArray[Any], reason: str) -> None:
    comparison = compare_outputs(stream(np.zeros((2, 3), "f4")), stream(treatment))
    assert comparison.verdict is OutputVerdict.DIFFERENT
    assert comparison.reason == f"the treatment's outputs have another form than the control's: {reason}"


def test_another_number_of_outputs_is_different_in_words() -> None:
    zeros = np.zeros((2, 3), "f4")
    comparison = compare_outputs(stream(zeros), stream(zeros, zeros))
    assert comparison.reason is not None
    assert comparison.reason.endswith("2 outputs instead of 1")


def test_a_stream_that_ends_early_is_not_compared() -> None:
    control, treatment = stream(np.zeros((3, 2), "f4")), stream(np.zeros((2, 2), "f4"))
    comparison = compare_outputs(control, replace(treatment, count=3))
    assert comparison.verdict is OutputVerdict.NOT_COMPARED
    assert comparison.reason == "outputs end after 2 examples of 3"


def test_arrays_unlike_their_description_are_not_compared() -> None:
    control, treatment = stream(np.zeros((3, 2), "f4")), stream(np.zeros((3, 2), "f4"))
    broken = replace(treatment, examples=iter([[np.zeros(5, "f4")]] * 3))
    comparison = compare_outputs(control, broken)
    assert comparison.verdict is OutputVerdict.NOT_COMPARED
    assert comparison.reason == "output 0 has the shape [5] instead of [2]"


def test_nothing_is_not_compared() -> None:
    assert compare_outputs(stream(), stream()).verdict is OutputVerdict.NOT_COMPARED
    empty = np.zeros((0, 3), "f4")
    assert compare_outputs(stream(empty), stream(empty)).verdict is OutputVerdict.NOT_COMPARED


def test_a_control_of_zeros_and_outputs_without_elements_have_a_verdict() -> None:
    comparison = compare_outputs(stream(floats([0.0, 0.0])), stream(floats([0.0, 1e-3])))
    assert comparison.verdict is OutputVerdict.DIFFERENT
    assert comparison.relative_l2_error is None
    void = np.zeros((2, 0), "f4")
    assert compare_outputs(stream(void), stream(void)).verdict is OutputVerdict.IDENTICAL
    scalars = np.array([1.0, 2.0], "f4")
    assert (
        compare_outputs(stream(scalars), stream(scalars * 2)).first_difference
        == "output 0, example 0, []: 2 instead of 1"
    )


values = st.floats(-100, 100, width=32)
sides = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(
        arrays.arrays("float32", shape, elements=values),
        arrays.arrays("float32", shape, elements=st.sampled_from([0.0, 1e-6, 1e-3, 0.1])),
    )
)


@untimed
@given(sides, st.sampled_from([1e-5, 1e-3, 0.1]), st.sampled_from([0.0, 1e-4]))
def test_tolerance_is_relative_to_the_largest_element_of_each_example(
    pair: tuple[NDArray[Any], NDArray[Any]], relative: float, absolute: float
) -> None:
    control, treatment = pair[0], pair[0] + pair[1]
    errors = np.abs(np.float64(treatment) - np.float64(control))
    allowed = absolute + relative * np.abs(np.float64(control)).max(axis=1, keepdims=True)
    comparison = compare_outputs(stream(control), stream(treatment), Tolerance(absolute, relative))
    assert comparison.differing_examples == int((errors > allowed).any(axis=1).sum())
    assert (comparison.verdict is OutputVerdict.DIFFERENT) == bool((errors > allowed).any())
    assert comparison.max_absolute_error == errors.max()
    assert (comparison.absolute_tolerance, comparison.relative_tolerance) == (absolute, relative)


bits = st.tuples(st.integers(1, 4), st.integers(1, 5)).flatmap(
    lambda shape: st.tuples(arrays.arrays("uint32", shape), arrays.arrays("uint32", shape))
)


@untimed
@given(bits)
def test_verdicts_agree_with_an_element_by_element_rule(pair: tuple[Any, Any]) -> None:
    control, treatment = (side.view(np.float32) for side in pair)
    same = all(
        a.tobytes() == b.tobytes() or (math.isnan(a) and math.isnan(b))
        for a, b in zip(control.flat, treatment.flat, strict=True)
    )
    comparison = compare_outputs(stream(control), stream(treatment))
    assert (comparison.verdict is OutputVerdict.IDENTICAL) == same
