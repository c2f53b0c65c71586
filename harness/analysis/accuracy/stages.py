"""Evaluation of the outputs of one stage against those of its reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct

from harness.analysis.accuracy.arrays import (
    Array,
    Floats,
    OutputArrays,
    OutputMismatch,
    OutputStream,
    check_example,
    describe_mismatch,
    pair_examples,
    to_float64,
    unequal_elements,
)
from harness.analysis.accuracy.gaps import ExampleGap, gap_statistics, join_gaps, measure_gap
from harness.analysis.accuracy.notes import fault_notes, meaning_notes, type_notes
from harness.analysis.accuracy.score_statistics import (
    accuracy_statistics,
    agreement_statistics,
    own_accuracy_statistics,
    run_mcnemar,
)
from harness.analysis.accuracy.scores import ScoreCounts, classes_of
from harness.core.evaluation import StageEvaluation, Statistic
from harness.core.examples import Scores, Stage, TensorInfo
from harness.core.note import Note

_FORM_HINT: Final = "make both from the same model and input shapes; a folder of earlier outputs has to be made again"


class Labels(Struct, frozen=True):
    """Right classes.

    Attributes:
        classes: The right class of each row of scores, example by example.
        output: Index of the output that they are about; None for the first that scores classes.
    """

    classes: Sequence[int]
    output: int | None = None


def evaluate_stage(
    stage: Stage,
    outputs: OutputStream,
    reference: Stage,
    reference_outputs: OutputStream,
    *,
    scores: Sequence[Scores] = (),
    labels: Labels | None = None,
    batch: int = 1,
) -> tuple[StageEvaluation, ...]:
    """Evaluate the outputs of a stage against those of its reference, on the same inputs.

    Args:
        stage: The stage.
        outputs: Its outputs.
        reference: The stage that it is compared with.
        reference_outputs: The outputs of that.
        scores: Meaning of each output; outputs beyond its end are `AUTOMATIC`.
        labels: Right classes, where they are known.
        batch: Number of inputs in one example.

    Returns:
        All outputs together and, where there are several, each of them. A single one with a `failure` where outputs
        cannot be compared.
    """
    mismatch = describe_mismatch(reference_outputs, outputs, same_precision=False)
    if mismatch is not None:
        return (_failure(stage, reference, 0, mismatch),)
    evaluator = _Evaluator((stage, reference), outputs, reference_outputs, _Meaning(scores, labels, batch))
    return evaluator.evaluate(pair_examples(reference_outputs, outputs))


def evaluate_reference(
    stage: Stage,
    outputs: OutputStream,
    *,
    scores: Sequence[Scores] = (),
    labels: Labels | None = None,
    batch: int = 1,
) -> StageEvaluation:
    """Evaluate a stage by itself: accuracy with labels, and outputs that are not finite. See `evaluate_stage`."""
    evaluator = _Evaluator((stage, stage), outputs, outputs, _Meaning(scores, labels, batch))
    return evaluator.evaluate(_pair_with_themselves(outputs))[0]


class _Meaning(NamedTuple):
    """Meaning of outputs: see the arguments of `evaluate_stage`."""

    scores: Sequence[Scores]
    labels: Labels | None
    batch: int


class _Part(NamedTuple):
    """One output of one example: its gap is None where either side is not finite."""

    reference: Floats
    other: Floats
    reference_finite: bool
    has_nan: bool
    has_infinity: bool
    identical: bool
    gap: ExampleGap | None


@dataclass(slots=True)
class _Tally:
    """Examples by what became of them, for one output or for all together."""

    examples: int = 0
    nan: int = 0
    infinite: int = 0
    identical: int = 0
    faulty_reference: int = 0
    gaps: list[ExampleGap] = field(default_factory=list)

    def add(self, parts: Sequence[_Part], *, alone: bool) -> None:
        self.examples += 1
        self.identical += all(part.identical for part in parts)
        if not alone and not all(part.reference_finite for part in parts):
            self.faulty_reference += 1
        elif any(part.has_nan for part in parts):
            self.nan += 1
        elif any(part.has_infinity for part in parts):
            self.infinite += 1
        else:
            self.gaps.append(join_gaps([part.gap for part in parts if part.gap is not None]))


class _Evaluator:
    """Evaluation of one stage in progress."""

    def __init__(
        self,
        stages: tuple[Stage, Stage],
        outputs: OutputStream,
        reference_outputs: OutputStream,
        meaning: _Meaning,
    ) -> None:
        scores, labels, batch = meaning
        self.stage, self.reference = stages
        self.alone = outputs is reference_outputs
        self.tensors, self.reference_tensors = outputs.tensors, reference_outputs.tensors
        self.scores = [scores[index] if index < len(scores) else Scores.AUTOMATIC for index in range(len(self.tensors))]
        self.counts = {
            index: ScoreCounts(classes, rows=prod(tensor.shape[:-1]), is_dense=len(tensor.shape) > 2)
            for index, tensor in enumerate(self.reference_tensors)
            if (classes := classes_of(tensor, self.scores[index], batch)) is not None
        }
        self.notes: list[Note] = []
        self.labelled = self._labelled_output(labels, outputs.count)
        self.labels: Sequence[int] = labels.classes if labels is not None else ()
        self.together, self.tallies = _Tally(), [_Tally() for _ in self.tensors]

    def _labelled_output(self, labels: Labels | None, examples: int) -> int | None:
        """Return the output that labels are about; None, with a note, where they fit none."""
        if labels is None:
            return None
        output = labels.output if labels.output is not None else next(iter(self.counts), None)
        counts = None if output is None else self.counts.get(output)
        if output is None or counts is None:
            reason = "no output scores classes" if output is None else f"output {output} does not score classes"
        elif counts.is_dense:
            reason = f"output {output} has several dimensions of scores"
        elif len(labels.classes) != examples * counts.rows:
            reason = f"there are {len(labels.classes)} labels for {examples * counts.rows} rows of scores"
        elif not all(0 <= label < counts.classes for label in labels.classes):
            reason = f"a label is none of the {counts.classes} classes of output {output}"
        else:
            return output
        self.notes.append(Note(code="labels", message=f"accuracy is not computed: {reason}", hint="check the labels"))
        return None

    def evaluate(self, pairs: Iterable[tuple[OutputArrays, OutputArrays]]) -> tuple[StageEvaluation, ...]:
        """Consume all examples and return the evaluations."""
        try:
            for expected, actual in pairs:
                self._add(expected, actual)
        except OutputMismatch as error:
            return (_failure(self.stage, self.reference, self.together.examples, str(error)),)
        scored = next(iter(self.counts), None) if self.labelled is None else self.labelled
        together = self._conclude(self.together, "", scored)
        if len(self.tensors) < 2 or self.alone:
            return (together,)
        names = [tensor.name or f"output {index}" for index, tensor in enumerate(self.reference_tensors)]
        return together, *(self._conclude(self.tallies[index], name, index) for index, name in enumerate(names))

    def _add(self, expected: OutputArrays, actual: OutputArrays) -> None:
        parts = [
            _examine(before, self.reference_tensors[index], after, self.tensors[index])
            for index, (before, after) in enumerate(zip(expected, actual, strict=True))
        ]
        for index, counts in self.counts.items():
            part, start = parts[index], self.together.examples * counts.rows
            labels = self.labels[start : start + counts.rows] if index == self.labelled else None
            if part.reference_finite:
                counts.add(part.reference, part.other if part.gap is not None else None, labels)
            elif self.alone and labels is not None:
                counts.add_faulty(labels)
        self.together.add(parts, alone=self.alone)
        for tally, part in zip(self.tallies, parts, strict=True):
            tally.add([part], alone=self.alone)

    def _conclude(self, tally: _Tally, name: str, scored: int | None) -> StageEvaluation:
        """Return the evaluation of one output, or of all together with the scores of one of them."""
        counts = self.counts.get(scored) if scored is not None else None
        statistics: list[Statistic] = [] if self.alone else list(gap_statistics(tally.gaps))
        notes = [*self.notes] if scored == self.labelled or not name else []
        if not self.alone:
            notes.extend(type_notes(self.stage, self.reference, self.tensors, self.reference_tensors))
        notes.extend(
            fault_notes(
                self.stage,
                None if self.alone else self.reference,
                examples=tally.examples,
                nan=tally.nan,
                infinite=tally.infinite,
                faulty_reference=tally.faulty_reference,
            )
        )
        if counts is not None and scored is not None:
            if not self.alone and counts.choices:
                statistics.extend(agreement_statistics(counts, self.scores[scored]))
                notes.extend(meaning_notes(counts, self.scores[scored], self.reference))
            accuracy = own_accuracy_statistics if self.alone else accuracy_statistics
            statistics.extend(accuracy(counts))
        return StageEvaluation(
            stage=self.stage,
            reference=self.reference,
            output=name,
            examples=tally.examples,
            statistics=tuple(statistics),
            nan_examples=tally.nan,
            infinite_examples=tally.infinite,
            identical_examples=tally.identical,
            faulty_reference_examples=tally.faulty_reference,
            distinct_classes=len(set(counts.choices)) if counts is not None and counts.choices else None,
            mcnemar=run_mcnemar(counts) if counts is not None and not self.alone else None,
            notes=tuple(notes),
        )


def _examine(before: Array, expected: TensorInfo, after: Array, actual: TensorInfo) -> _Part:
    reference, other = to_float64(before, expected.dtype), to_float64(after, actual.dtype)
    reference_finite, finite = bool(np.isfinite(reference).all()), bool(np.isfinite(other).all())
    same_type = expected.dtype == actual.dtype
    return _Part(
        reference=reference,
        other=other,
        reference_finite=reference_finite,
        has_nan=not finite and bool(np.isnan(other).any()),
        has_infinity=not finite and bool(np.isinf(other).any()),
        identical=same_type and not unequal_elements(before, after, expected.dtype).any(),
        gap=measure_gap(reference, other) if reference_finite and finite else None,
    )


def _pair_with_themselves(outputs: OutputStream) -> Iterator[tuple[OutputArrays, OutputArrays]]:
    count = 0
    for example in outputs.examples:
        check_example(outputs.tensors, example)
        count += 1
        yield example, example
    if count != outputs.count:
        raise OutputMismatch(f"outputs have {count} examples instead of {outputs.count}")


def _failure(stage: Stage, reference: Stage, examples: int, mismatch: str) -> StageEvaluation:
    return StageEvaluation(
        stage=stage,
        reference=reference,
        examples=examples,
        failure=f"outputs of {stage} cannot be compared with those of {reference}: {mismatch}",
        hint=_FORM_HINT,
    )
