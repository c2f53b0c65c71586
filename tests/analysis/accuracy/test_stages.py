from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from harness.analysis.accuracy.arrays import OutputStream
from harness.analysis.accuracy.stages import Labels, evaluate_reference, evaluate_stage
from harness.core.evaluation import StageEvaluation, Statistic
from harness.core.examples import Scores, Stage
from tests.analysis.accuracy.streams import floats, stream, to_bfloat16

NAN, INF = math.nan, math.inf
CHANCE = np.random.default_rng(7)
LOGITS = (4 * CHANCE.normal(size=(60, 10))).astype(np.float32)
NOISY = (LOGITS + 0.5 * CHANCE.normal(size=(60, 10))).astype(np.float32)
RIGHT = LOGITS.argmax(axis=1).tolist()


def evaluate(
    reference: OutputStream,
    other: OutputStream,
    labels: Labels | None = None,
    scores: Sequence[Scores] = (),
    batch: int = 1,
) -> tuple[StageEvaluation, ...]:
    return evaluate_stage(Stage.DEVICE, other, Stage.EAGER, reference, labels=labels, scores=scores, batch=batch)


def evaluate_arrays(
    reference: NDArray[Any],
    other: NDArray[Any],
    labels: Labels | None = None,
    scores: Sequence[Scores] = (),
    batch: int = 1,
) -> StageEvaluation:
    (evaluation,) = evaluate(stream(reference), stream(other), labels, scores, batch)
    return evaluation


def statistic(evaluation: StageEvaluation, name: str) -> Statistic:
    found = evaluation.statistic(name)
    assert found is not None, name
    return found


def codes(evaluation: StageEvaluation) -> list[str]:
    return [note.code for note in evaluation.notes]


def test_a_noisy_stage_has_every_statistic() -> None:
    evaluation = evaluate_arrays(LOGITS, NOISY, labels=Labels(RIGHT))
    assert [item.name for item in evaluation.statistics] == [
        *("sqnr", "sqnr_median", "sqnr_worst", "cosine_similarity", "cosine_similarity_worst", "relative_l2_error"),
        *("max_absolute_error", "mean_absolute_error", "max_relative_error", "l2_error"),
        *("kl_divergence", "cross_entropy", "top1_agreement", "top5_agreement"),
        *("top1_accuracy", "top5_accuracy", "reference_top1_accuracy", "reference_top5_accuracy"),
        "top1_accuracy_difference",
    ]
    assert all(item.examples == 60 for item in evaluation.statistics)
    assert statistic(evaluation, "reference_top1_accuracy").value == 1.0
    assert statistic(evaluation, "top1_accuracy").value == statistic(evaluation, "top1_agreement").value
    assert statistic(evaluation, "sqnr").value == pytest.approx(20 * math.log10(4 / 0.5), abs=1.0)
    assert not evaluation.is_faulty
    assert (evaluation.distinct_classes, codes(evaluation)) == (len(set(RIGHT)), [])
    assert StageEvaluation.model_validate_json(evaluation.model_dump_json()) == evaluation


def test_identical_outputs_are_counted_and_have_no_decibels() -> None:
    evaluation = evaluate_arrays(LOGITS, LOGITS.copy())
    assert evaluation.identical_examples == 60
    assert statistic(evaluation, "sqnr").value is None
    assert statistic(evaluation, "sqnr").reason == "there is no difference"
    assert statistic(evaluation, "top1_agreement").value == 1.0


@pytest.mark.parametrize(("fault", "nan", "infinite"), [(NAN, 2, 0), (INF, 0, 2), (-INF, 0, 2)])
def test_outputs_that_are_not_finite_are_counted_and_never_averaged_away(fault: float, nan: int, infinite: int) -> None:
    other = NOISY.copy()
    other[3, 4] = other[9, 0] = fault
    evaluation = evaluate_arrays(LOGITS, other, labels=Labels(RIGHT))
    assert (evaluation.nan_examples, evaluation.infinite_examples) == (nan, infinite)
    assert evaluation.is_faulty
    assert statistic(evaluation, "sqnr").examples == 58
    assert statistic(evaluation, "top1_agreement").examples == 60
    accuracy = statistic(evaluation, "top1_accuracy").value
    kept = np.delete(np.arange(60), [3, 9])
    assert accuracy == pytest.approx(float((NOISY[kept].argmax(axis=1) == np.array(RIGHT)[kept]).sum()) / 60)
    assert codes(evaluation) == ["not_finite"]
    assert (
        "of 60 examples, where those of eager are finite; errors are over the other 58" in evaluation.notes[0].message
    )


def test_a_stage_that_gives_only_nan_has_no_errors_but_reasons() -> None:
    evaluation = evaluate_arrays(LOGITS, np.full_like(LOGITS, NAN))
    assert (evaluation.nan_examples, evaluation.examples) == (60, 60)
    assert statistic(evaluation, "sqnr").reason == "no example has finite outputs"
    assert statistic(evaluation, "kl_divergence").reason == "no example has finite scores"
    assert statistic(evaluation, "top1_agreement").value == 0.0


def test_a_faulty_reference_is_told_apart_from_a_faulty_stage() -> None:
    reference = LOGITS.copy()
    reference[5, 5] = NAN
    other = NOISY.copy()
    other[5, 5] = NAN
    evaluation = evaluate_arrays(reference, other)
    assert evaluation.faulty_reference_examples == 1
    assert not evaluation.is_faulty
    assert statistic(evaluation, "top1_agreement").examples == 59
    assert codes(evaluation) == ["reference_not_finite"]
    same = evaluate_arrays(reference, reference.copy())
    assert same.identical_examples == 60


def test_the_reference_by_itself_has_only_its_accuracy() -> None:
    labels = Labels([*RIGHT[:59], (RIGHT[59] + 1) % 10])
    evaluation = evaluate_reference(Stage.EAGER, stream(LOGITS), labels=labels)
    assert [item.name for item in evaluation.statistics] == ["top1_accuracy", "top5_accuracy"]
    assert statistic(evaluation, "top1_accuracy").value == pytest.approx(59 / 60)
    assert (evaluation.stage, evaluation.reference, evaluation.mcnemar) == (Stage.EAGER, Stage.EAGER, None)
    faulty = LOGITS.copy()
    faulty[0, 0] = NAN
    evaluation = evaluate_reference(Stage.EAGER, stream(faulty), labels=Labels(RIGHT))
    assert (evaluation.is_faulty, codes(evaluation)) == (True, ["not_finite"])
    assert statistic(evaluation, "top1_accuracy").value == pytest.approx(59 / 60)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (np.zeros((60, 9), "f4"), "output 0 has the shape [9] instead of [10]"),
        (np.zeros((60, 10), "i4"), "output 0 has the element type int32 instead of float32"),
        (np.zeros((59, 10), "f4"), "59 examples instead of 60"),
    ],
)
def test_mismatches_are_words(other: NDArray[Any], words: str) -> None:
    evaluation = evaluate_arrays(LOGITS, other)
    assert evaluation.failure == f"outputs of device cannot be compared with those of eager: {words}"
    assert evaluation.hint
    assert evaluation.is_faulty
    assert evaluation.statistics == ()


def test_a_stream_that_ends_early_is_a_failure_and_no_exception() -> None:
    (evaluation,) = evaluate(stream(LOGITS), replace(stream(LOGITS[:7]), count=60))
    assert evaluation.failure is not None
    assert evaluation.failure.endswith("outputs end after 7 examples of 60")
    alone = evaluate_reference(Stage.EAGER, replace(stream(LOGITS[:7]), count=60))
    assert alone.failure is not None


def test_lower_precision_is_compared_and_noted() -> None:
    evaluation = evaluate_arrays(LOGITS, LOGITS.astype(np.float16))
    assert codes(evaluation) == ["element_types"]
    assert "float16 with float32" in evaluation.notes[0].message
    assert statistic(evaluation, "sqnr").value == pytest.approx(73, abs=4)
    assert evaluation.identical_examples == 0
    (coarse,) = evaluate(stream(LOGITS), stream(to_bfloat16(LOGITS), dtypes=["bfloat16"]))
    assert statistic(coarse, "sqnr").value == pytest.approx(50, abs=4)


def test_half_precision_that_overflows_is_faulty() -> None:
    with np.errstate(over="ignore"):
        other = (LOGITS * 1e5).astype(np.float16)
    evaluation = evaluate_arrays(LOGITS * 1e5, other)
    assert evaluation.infinite_examples == 60


def test_several_outputs_have_statistics_each_and_together() -> None:
    boxes = CHANCE.normal(size=(60, 4, 3)).astype(np.float32)
    reference, other = stream(LOGITS, boxes), stream(NOISY, boxes)
    together, scores, geometry = evaluate(reference, other, labels=Labels(RIGHT))
    assert [item.output for item in (together, scores, geometry)] == ["", "output_0", "output_1"]
    assert statistic(geometry, "max_absolute_error").value == 0.0
    assert geometry.statistic("top1_agreement") is None
    assert geometry.mcnemar is None
    assert statistic(together, "top1_accuracy") == statistic(scores, "top1_accuracy")
    noise = np.linalg.norm(NOISY - LOGITS)
    signal = math.hypot(np.linalg.norm(LOGITS), np.linalg.norm(boxes))
    assert statistic(together, "sqnr").value == pytest.approx(20 * math.log10(signal / noise))
    assert together.identical_examples == 0
    assert geometry.identical_examples == 60


def test_a_fault_in_one_output_is_one_of_that_output_and_of_all_together() -> None:
    broken = NOISY.copy()
    broken[0, 0] = INF
    together, first, second = evaluate(stream(LOGITS, LOGITS), stream(NOISY, broken))
    assert [item.infinite_examples for item in (together, first, second)] == [1, 0, 1]
    assert statistic(together, "sqnr").examples == 59


def test_a_batch_has_one_label_for_each_row() -> None:
    batch = LOGITS.reshape(20, 3, 10)
    evaluation = evaluate_arrays(batch, NOISY.reshape(20, 3, 10), labels=Labels(RIGHT), batch=3)
    assert evaluation.examples == 20
    single = evaluate_arrays(LOGITS, NOISY, labels=Labels(RIGHT))
    for name in ("top1_accuracy", "top1_agreement", "kl_divergence"):
        assert statistic(evaluation, name) == statistic(single, name)


@pytest.mark.parametrize(
    ("labels", "scores", "words"),
    [
        (Labels(RIGHT[:9]), [], "there are 9 labels for 60 rows of scores"),
        (Labels([11] * 60), [], "a label is none of the 10 classes of output 0"),
        (Labels(RIGHT, output=3), [], "output 3 does not score classes"),
        (Labels(RIGHT), [Scores.NONE], "no output scores classes"),
    ],
)
def test_labels_that_do_not_fit_are_a_note(labels: Labels, scores: Sequence[Scores], words: str) -> None:
    evaluation = evaluate_arrays(LOGITS, NOISY, labels=labels, scores=scores)
    assert [note.message for note in evaluation.notes if note.code == "labels"] == [
        f"accuracy is not computed: {words}"
    ]
    assert evaluation.mcnemar is None
    assert evaluation.statistic("top1_accuracy") is None


def test_an_output_that_scores_no_classes_has_no_agreement() -> None:
    evaluation = evaluate_arrays(LOGITS, NOISY, scores=[Scores.NONE])
    assert evaluation.statistic("top1_agreement") is None
    assert evaluation.distinct_classes is None


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_integers_and_truth_values_are_compared(dtype: str) -> None:
    reference = (LOGITS > 0).astype(dtype)
    evaluation = evaluate_arrays(reference, reference.copy())
    assert evaluation.identical_examples == 60
    other = reference.copy()
    other[0, 0] = not other[0, 0]
    assert statistic(evaluate_arrays(reference, other), "max_absolute_error").value == 1.0


def test_scalars_are_compared() -> None:
    evaluation = evaluate_arrays(floats([1.0, 2.0, 4.0])[0], floats([1.0, 2.0, 3.0])[0])
    assert statistic(evaluation, "max_absolute_error").value == 1.0
    assert evaluation.examples == 3


def test_random_weights_make_agreement_meaningless() -> None:
    logits = 0.2 * CHANCE.normal(size=(84, 1000)).astype(np.float32)
    logits[:, :8] += 1
    evaluation = evaluate_arrays(logits, logits + 0.01)
    (note,) = evaluation.notes
    assert note.code == "agreement_meaningless"
    assert "nearly the same probability to all 1,000 classes" in note.message
    assert evaluation.distinct_classes is not None


def test_a_reference_that_always_chooses_one_class_makes_agreement_meaningless() -> None:
    constant = LOGITS.copy()
    constant[:, 2] = 50
    evaluation = evaluate_arrays(constant, constant + 0.01)
    assert evaluation.distinct_classes == 1
    message = evaluation.notes[0].message
    assert message.startswith("agreement says little here: eager chooses one class for 100 % of 60 examples")
    mostly = LOGITS.copy()
    mostly[5:, 2] = 50
    assert codes(evaluate_arrays(mostly, mostly + 0.01)) == ["agreement_meaningless"]


def test_a_reference_that_chooses_few_of_many_classes_makes_agreement_meaningless() -> None:
    logits = CHANCE.normal(size=(40, 100)).astype(np.float32)
    logits[np.arange(40), np.arange(40) % 3] += 20
    evaluation = evaluate_arrays(logits, logits + 0.01)
    assert "chooses only 3 of 100 classes over 40 examples" in evaluation.notes[0].message
    logits[np.arange(40), np.arange(40) % 5] += 40
    assert codes(evaluate_arrays(logits, logits + 0.01)) == []


def test_no_examples_have_no_statistics() -> None:
    evaluation = evaluate_arrays(LOGITS[:0], LOGITS[:0])
    assert evaluation.examples == 0
    assert all(item.value is None for item in evaluation.statistics)


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(60)))
def test_the_order_of_examples_does_not_matter(order: list[int]) -> None:
    whole = evaluate_arrays(LOGITS, NOISY, labels=Labels(RIGHT))
    shuffled = evaluate_arrays(LOGITS[order], NOISY[order], labels=Labels([RIGHT[index] for index in order]))
    assert shuffled.mcnemar == whole.mcnemar
    for item in shuffled.statistics:
        expected = statistic(whole, item.name)
        assert item.model_dump() == {
            name: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            for name, value in expected.model_dump().items()
        }


def test_how_many_examples_a_point_needs_is_told_in_words() -> None:
    agreement = statistic(evaluate_arrays(LOGITS, NOISY), "top1_agreement")
    assert agreement.examples_for_a_point is not None
    assert agreement.sufficiency is not None
    assert agreement.sufficiency.startswith("one percentage point needs about ")
    assert agreement.sufficiency.endswith("this is computed from 60")
    enough = Statistic(name="top1_agreement", value=1.0, examples=500, examples_for_a_point=368)
    assert enough.sufficiency == "500 examples are enough to tell one percentage point (about 370 are needed)"
    assert Statistic(name="sqnr", value=1.0, examples=5).sufficiency is None
