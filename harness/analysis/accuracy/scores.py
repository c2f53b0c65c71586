"""Outputs as scores of classes: agreement of the first choices, divergence of probabilities, accuracy with labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harness.analysis.accuracy.arrays import FLOATING, Floats
from harness.core.examples import Scores, TensorInfo

TOP: Final = 5
"""Number of classes that count as named in top-5 figures."""

_SUM_TOLERANCE: Final = 1e-2
"""Distance from 1 that a sum of probabilities may have: rounding of a thousand `bfloat16` numbers."""


def classes_of(tensor: TensorInfo, scores: Scores = Scores.AUTOMATIC, batch: int = 1) -> int | None:
    """Return the number of classes that an output scores, along its last dimension; None where it does not.

    Unless it is stated, only floating-point outputs with one row of at least two elements for each input are taken for
    scores: boxes, pixels and embeddings of words are not.

    Args:
        tensor: The output.
        scores: Its stated meaning.
        batch: Number of inputs in one example.
    """
    shape = tuple(tensor.shape)
    if scores is Scores.NONE or not shape or shape[-1] < 2 or 0 in shape:
        return None
    if scores is Scores.AUTOMATIC and (shape[:-1] not in {(), (1,), (batch,)} or tensor.dtype not in FLOATING):
        return None
    return shape[-1]


@dataclass(slots=True)
class ScoreCounts:
    """Figures of one output that scores classes, with one entry for each row of scores.

    A rank is the number of classes that a row puts before a class; a stage without finite scores puts all before it.

    Attributes:
        classes: Number of classes.
        rows: Rows of one example.
        is_dense: Whether rows are places of one example, such as pixels, and not examples of a batch.
        choices: First choices of the reference.
        agreement_ranks: Ranks that the stage gives these.
        label_ranks: Ranks of the right classes, the reference's and the stage's; empty without labels.
        logits: Divergence and the reference's entropy, in nats, of rows that are finite, taken as logits.
        probabilities: The same, taken as probabilities; empty where they are none.
        are_probabilities: Whether all rows of the reference may be probabilities.
    """

    classes: int
    rows: int
    is_dense: bool = False
    choices: list[int] = field(default_factory=list)
    agreement_ranks: list[int] = field(default_factory=list)
    label_ranks: list[tuple[int, int]] = field(default_factory=list)
    logits: list[tuple[float, float]] = field(default_factory=list)
    probabilities: list[tuple[float, float]] = field(default_factory=list)
    are_probabilities: bool = True

    def add(self, reference: Floats, other: Floats | None, labels: Sequence[int] | None) -> None:
        """Add one example.

        Args:
            reference: Finite scores of the reference.
            other: Those of the stage; None where they are not finite.
            labels: The right class of each row, where known.
        """
        rows = reference.reshape(self.rows, self.classes)
        others = None if other is None else other.reshape(self.rows, self.classes)
        choices = rows.argmax(axis=1)
        self.choices.extend(choices.tolist())
        self.agreement_ranks.extend(self._ranks(others, choices).tolist())
        if labels is not None:
            right = np.asarray(labels, dtype=np.int64)
            ranks = self._ranks(rows, right).tolist(), self._ranks(others, right).tolist()
            self.label_ranks.extend(zip(*ranks, strict=True))
        if self.are_probabilities and not _may_be_probabilities(rows):
            self.are_probabilities = False
            self.probabilities.clear()
        if others is not None:
            self.logits.extend(_divergences(_log_softmax(rows), _log_softmax(others)))
            if self.are_probabilities:
                self.probabilities.extend(_divergences(_log_normalised(rows), _log_normalised(others)))

    def add_faulty(self, labels: Sequence[int]) -> None:
        """Add an example without finite scores on either side to the accuracies, as wrong."""
        self.label_ranks.extend([(self.classes, self.classes)] * len(labels))

    def divergences(self, scores: Scores) -> list[tuple[float, float]]:
        """Return divergences and entropies for a stated meaning; automatically probabilities where they may be some."""
        if scores is Scores.AUTOMATIC:
            return self.probabilities if self.are_probabilities else self.logits
        return self.logits if scores is Scores.LOGITS else self.probabilities

    def _ranks(self, rows: Floats | None, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many classes each row puts before a class; of equal scores the lower index comes first."""
        if rows is None:
            return np.full(len(classes), self.classes)
        known = (classes >= 0) & (classes < self.classes)
        chosen = np.where(known, classes, 0)
        scores = np.take_along_axis(rows, chosen[:, None], axis=1)
        before = (rows == scores) & (np.arange(self.classes) < chosen[:, None])
        return np.where(known, ((rows > scores) | before).sum(axis=1), self.classes)


def _log_softmax(rows: Floats) -> Floats:
    """Return logarithms of the softmax of each row, shifted so that nothing overflows."""
    shifted = rows - rows.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def _log_normalised(rows: Floats) -> Floats:
    """Return logarithms of probabilities; -inf for 0, and what is negative counts as 0."""
    positive = np.maximum(rows, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # without any probability there is no divergence
        return np.asarray(np.log(positive) - np.log(positive.sum(axis=1, keepdims=True)))


def _may_be_probabilities(rows: Floats) -> bool:
    return bool((rows >= 0).all() and (np.abs(rows.sum(axis=1) - 1) <= _SUM_TOLERANCE).all())


def _divergences(reference: Floats, other: Floats) -> list[tuple[float, float]]:
    """Return the Kullback-Leibler divergence and the reference's entropy of each row, in nats.

    To each term p (ln p - ln q) its share q - p of a sum that is 0 is added: no term is negative then, so that tiny
    divergences do not drown in rounding.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        p, q = np.exp(reference), np.exp(other)
        gaps = reference - other
        terms = np.where(np.abs(gaps) < 30, p * (gaps + np.expm1(-gaps)), p * gaps + q - p)
        divergences = np.maximum(np.where(p > 0, terms, q).sum(axis=1), 0.0)
        entropies = -np.where(p > 0, p * reference, 0.0).sum(axis=1)
    return list(zip(divergences.tolist(), entropies.tolist(), strict=True))
