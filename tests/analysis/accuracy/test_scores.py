"""Scores of classes against SciPy's entropies and plain sorting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import special, stats

from harness.analysis.accuracy.score_statistics import accuracy_statistics, agreement_statistics, run_mcnemar
from harness.analysis.accuracy.scores import ScoreCounts, classes_of
from harness.core.evaluation import Statistic
from harness.core.examples import Scores, TensorInfo

Array = NDArray[Any]
untimed = settings(deadline=None, max_examples=50)
logits = st.floats(-40, 40)
pairs = st.tuples(st.integers(1, 6), st.integers(2, 9)).flatmap(
    lambda shape: st.tuples(
        arrays.arrays(np.float64, shape, elements=logits), arrays.arrays(np.float64, shape, elements=logits)
    )
)


def count(reference: Array, other: Array, labels: Array | None = None) -> ScoreCounts:
    """Return the counts of examples with one row each."""
    counts = ScoreCounts(reference.shape[1], rows=1)
    for index, (row, other_row) in enumerate(zip(reference, other, strict=True)):
        counts.add(row, other_row, None if labels is None else labels[index : index + 1].tolist())
    return counts


def agreement(counts: ScoreCounts, scores: Scores = Scores.AUTOMATIC) -> dict[str, Statistic]:
    return {statistic.name: statistic for statistic in agreement_statistics(counts, scores)}


def ranks(rows: Array, classes: Array) -> list[int]:
    """Return the position of each class by a stable sort."""
    orders = np.argsort(-rows, axis=1, kind="stable")
    return [order.tolist().index(chosen) for order, chosen in zip(orders, classes, strict=True)]


@untimed
@given(pairs)
def test_divergences_of_logits_are_those_of_scipy(pair: tuple[Array, Array]) -> None:
    reference, other = pair
    found = agreement(count(reference, other), Scores.LOGITS)
    p, q = special.softmax(reference, axis=1), special.softmax(other, axis=1)
    assert found["kl_divergence"].value == pytest.approx(stats.entropy(p, q, axis=1).mean(), rel=1e-7, abs=1e-12)
    crossed = -(p * special.log_softmax(other, axis=1)).sum(axis=1).mean()
    assert found["cross_entropy"].value == pytest.approx(crossed, rel=1e-7, abs=1e-12)
    assert found["kl_divergence"].unit == "nat"


@untimed
@given(pairs)
def test_probabilities_are_recognised_and_not_softmaxed_again(pair: tuple[Array, Array]) -> None:
    p, q = (special.softmax(side, axis=1) for side in pair)
    counts = count(p, q)
    assert counts.are_probabilities
    found = agreement(counts)
    assert found["kl_divergence"].value == pytest.approx(stats.entropy(p, q, axis=1).mean(), rel=1e-6, abs=1e-12)
    assert agreement(count(pair[0] + 50, pair[1]))["kl_divergence"].value is not None


def test_one_row_that_is_no_probability_makes_all_logits() -> None:
    rows = np.array([[0.25, 0.75], [3.0, -1.0], [0.5, 0.5]])
    assert agreement(count(rows, rows + 1))["kl_divergence"].value == pytest.approx(0.0, abs=1e-15)
    assert not count(rows, rows).are_probabilities


@untimed
@given(pairs, st.data())
def test_ranks_are_those_of_a_stable_sort(pair: tuple[Array, Array], data: st.DataObject) -> None:
    reference, other = (np.round(side) for side in pair)  # many ties
    labels = data.draw(arrays.arrays(np.int64, len(reference), elements=st.integers(0, reference.shape[1] - 1)))
    counts = count(reference, other, labels)
    choices = reference.argmax(axis=1)
    expected = ranks(other, choices)
    assert counts.agreement_ranks == expected
    found = agreement(counts)
    assert found["top1_agreement"].value == pytest.approx(np.mean(choices == other.argmax(axis=1)))
    if reference.shape[1] > 5:
        assert found["top5_agreement"].value == pytest.approx(np.mean(np.array(expected) < 5))
    else:
        assert "top5_agreement" not in found
    accuracy = {statistic.name: statistic.value for statistic in accuracy_statistics(counts)}
    right, reference_right = other.argmax(axis=1) == labels, choices == labels
    assert accuracy["top1_accuracy"] == pytest.approx(right.mean())
    assert accuracy["reference_top1_accuracy"] == pytest.approx(reference_right.mean())
    assert accuracy["top1_accuracy_difference"] == pytest.approx(right.mean() - reference_right.mean())
    test = run_mcnemar(counts)
    assert test is not None
    assert (test.stage_only, test.reference_only) == (
        (right & ~reference_right).sum(),
        (reference_right & ~right).sum(),
    )


def test_huge_logits_do_not_overflow() -> None:
    found = agreement(count(np.array([[1e6, -1e6]]), np.array([[-1e6, 1e6]])))
    assert found["kl_divergence"].value == pytest.approx(2e6)
    assert found["top1_agreement"].value == 0.0


def test_tiny_divergences_are_not_lost() -> None:
    found = agreement(count(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 3.0 + 1e-9]])))
    p = special.softmax([1.0, 2.0, 3.0])[2]
    assert found["kl_divergence"].value == pytest.approx(p * (1 - p) * 1e-18 / 2, rel=1e-5)


def test_a_probability_of_zero_where_the_reference_has_more_is_a_reason() -> None:
    found = agreement(count(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])))
    assert found["kl_divergence"].value is None
    assert "probability 0" in (found["kl_divergence"].reason or "")
    equal = agreement(count(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])))
    assert equal["kl_divergence"].value == 0.0


def test_a_stage_without_finite_scores_agrees_with_nothing() -> None:
    counts = ScoreCounts(10, rows=1)
    counts.add(np.arange(10, dtype=np.float64), None, [9])
    counts.add(np.arange(10, dtype=np.float64), np.arange(10, dtype=np.float64), [9])
    found = agreement(counts)
    assert (found["top1_agreement"].value, found["top1_agreement"].examples) == (0.5, 2)
    assert found["top5_agreement"].value == 0.5
    assert found["kl_divergence"].examples == 1
    test = run_mcnemar(counts)
    assert test is not None
    assert (test.reference_only, test.stage_only) == (1, 0)


def test_rows_of_a_batch_count_each_and_places_of_an_example_do_not() -> None:
    chance = np.random.default_rng(0)
    reference = chance.normal(size=(20, 4, 7))
    other = reference + 0.5 * chance.normal(size=(20, 4, 7))
    batch, dense = ScoreCounts(7, rows=4), ScoreCounts(7, rows=4, is_dense=True)
    for counts in (batch, dense):
        for pair in zip(reference, other, strict=True):
            counts.add(*pair, None)
    of_batch, of_dense = (agreement(counts)["top1_agreement"] for counts in (batch, dense))
    assert of_batch.value == pytest.approx(of_dense.value)
    assert (of_batch.examples, of_dense.examples) == (80, 20)
    assert of_dense.low is not None
    assert of_dense.examples_for_a_point is None


@pytest.mark.parametrize(
    ("shape", "dtype", "scores", "classes"),
    [
        ((100, 4), "float32", Scores.AUTOMATIC, None),
        ((100, 4), "float32", Scores.LOGITS, 4),
        ((1, 10), "float32", Scores.AUTOMATIC, 10),
        ((10,), "bfloat16", Scores.AUTOMATIC, 10),
        ((1, 10), "int8", Scores.AUTOMATIC, None),
        ((1, 10), "int8", Scores.LOGITS, 10),
        ((1, 10), "float32", Scores.NONE, None),
        ((1, 8, 10), "float32", Scores.AUTOMATIC, None),
        ((1, 8, 10), "float32", Scores.LOGITS, 10),
        ((1, 1), "float32", Scores.AUTOMATIC, None),
        ((), "float32", Scores.LOGITS, None),
        ((0, 10), "float32", Scores.AUTOMATIC, None),
    ],
)
def test_which_outputs_score_classes(shape: tuple[int, ...], dtype: str, scores: Scores, classes: int | None) -> None:
    assert classes_of(TensorInfo(name="", dtype=dtype, shape=shape), scores) == classes


def test_a_batch_scores_one_row_for_each_input() -> None:
    assert classes_of(TensorInfo(name="", dtype="float32", shape=(8, 10)), batch=8) == 10
