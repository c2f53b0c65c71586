"""Evaluation: how far the outputs of a lowered model are from those of its origin, and how often both are right."""

import math

from harness.core.examples import DataRequest, Stage
from harness.core.metric import Direction
from harness.core.note import Note
from harness.core.values import Value
from harness.core.verdict import OutputVerdict


class Statistic(Value):
    """Estimate over examples, with its confidence interval.

    Attributes:
        name: Its name, for example `sqnr`, `cosine_similarity` or `top1_agreement` (docs/accuracy.md defines each).
        unit: Its unit, for example `dB`; empty for a ratio.
        direction: Which way is better.
        value: The estimate; None where it is not finite or not defined, for which `reason` says why.
        low: Lower end of the interval; None where there is none.
        high: Upper end.
        confidence: Share of such intervals that contain the true value.
        examples: Number of examples that it is computed from.
        examples_for_a_point: Number of examples that would tell one percentage point; None where that does not apply.
        reason: Why there is no value.
    """

    name: str
    unit: str = ""
    direction: Direction = Direction.LOWER
    value: float | None
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    examples: int
    examples_for_a_point: int | None = None
    reason: str | None = None

    @property
    def sufficiency(self) -> str | None:
        """In words how many examples would tell one percentage point; None where that does not apply."""
        if self.examples_for_a_point is None:
            return None
        needed = _round_up(self.examples_for_a_point)
        if self.examples >= self.examples_for_a_point:
            return f"{self.examples:,} examples are enough to tell one percentage point (about {needed:,} are needed)"
        return f"one percentage point needs about {needed:,} examples; this is computed from {self.examples:,}"


def _round_up(count: int) -> int:
    """Round up to two digits: it is itself an estimate."""
    unit = int("1".ljust(len(str(count)) - 1, "0"))
    return math.ceil(count / unit) * unit


class McNemar(Value):
    """McNemar's exact test: do two stages differ in how often they are right, on the same examples.

    Attributes:
        reference_only: Number of examples that only the reference classifies rightly.
        stage_only: Number of examples that only this stage classifies rightly.
        p_value: Probability of counts as unequal as these, or more, if both are right equally often.
    """

    reference_only: int
    stage_only: int
    p_value: float


class StageEvaluation(Value):
    """Outputs of one stage against those of its reference, on the same inputs.

    Attributes:
        stage: The stage.
        reference: The stage that it is compared with; itself for the eager model, of which only the accuracy is told.
        output: Name of the output; empty for all outputs together.
        examples: Number of examples whose outputs were compared.
        failure: Why there are no statistics, for example a shape that differs; None where there are.
        hint: What to do about it.
        statistics: The statistics over examples with finite outputs.
        nan_examples: Number of examples with an output that is not a number, where the reference has one.
        infinite_examples: Number of examples with an infinite output, where that of the reference is finite.
        identical_examples: Number of examples whose outputs are equal bit by bit.
        faulty_reference_examples: Number of examples for which the reference has an output that is not finite; they
            count in no statistic.
        distinct_classes: Number of classes that the reference chooses among all examples; None where outputs are no
            scores of classes.
        mcnemar: Test of the difference in accuracy; None without labels.
        notes: What a reader of the statistics must know, for example `agreement_meaningless`.
    """

    stage: Stage
    reference: Stage = Stage.EAGER
    output: str = ""
    examples: int
    failure: str | None = None
    hint: str | None = None
    statistics: tuple[Statistic, ...] = ()
    nan_examples: int = 0
    infinite_examples: int = 0
    identical_examples: int = 0
    faulty_reference_examples: int = 0
    distinct_classes: int | None = None
    mcnemar: McNemar | None = None
    notes: tuple[Note, ...] = ()

    @property
    def is_faulty(self) -> bool:
        """True if it has no statistics, or outputs that are not finite where those of the reference are."""
        return self.failure is not None or bool(self.nan_examples or self.infinite_examples)

    @property
    def fault(self) -> str:
        """What is wrong with its outputs, in words; empty where nothing is."""
        if self.failure is not None:
            return self.failure
        counts = ((self.nan_examples, "NaN"), (self.infinite_examples, "infinity"))
        return ", ".join(f"{count} of {self.examples} examples give {what}" for count, what in counts if count)

    def statistic(self, name: str) -> Statistic | None:
        """Return the statistic of this name."""
        return next((statistic for statistic in self.statistics if statistic.name == name), None)


class LayerGap(Value):
    """Gap of one layer: its intermediate output in a lowered stage against that in the reference.

    Attributes:
        name: Node of the exported program.
        operator: Its operator, for example `convolution`.
        module: Path of the module that it belongs to, for example `features.3.conv.0`; empty where unknown.
        source: File and line of the Python code, for example `mobilenetv2.py:64`; empty where unknown.
        delegate: Backend that executes it; empty where it is not delegated.
        stage: The stage whose intermediate output was taken.
        reference: The stage that it is compared with.
        sqnr_db: Signal-to-quantisation-noise ratio in dB; None where outputs are identical or not finite.
        max_absolute_error: Largest absolute difference.
        cosine_similarity: Cosine of the angle between both.
        examples: Number of examples.
    """

    name: str
    operator: str
    module: str = ""
    source: str = ""
    delegate: str = ""
    stage: Stage
    reference: Stage = Stage.EXPORTED
    sqnr_db: float | None = None
    max_absolute_error: float | None = None
    cosine_similarity: float | None = None
    examples: int


class LayerGaps(Value):
    """Gaps of the layers of a program.

    Attributes:
        gaps: One for each layer and pair of stages, in the order of execution; quantised stages come first.
        notes: How they were taken, and what that changed, in words.
        unavailable: Why there are none; None where there are.
    """

    gaps: tuple[LayerGap, ...] = ()
    notes: tuple[str, ...] = ()
    unavailable: str | None = None


class DataInfo(Value):
    """Examples of an evaluation.

    Attributes:
        request: The request for them.
        description: Origin and preprocessing, for people.
        examples: Number of examples.
        is_labelled: Whether the right class of each is known.
        digest: SHA-256 of inputs and labels.
    """

    request: DataRequest
    description: str
    examples: int
    is_labelled: bool
    digest: str


class Evaluation(Value):
    """Evaluation of the outputs of one benchmark on one device.

    Attributes:
        data: The examples.
        stages: Each stage against the eager model, and those of a quantised program against the quantised stage too.
        layers: Gaps of layers in the order of execution; empty where they were not asked for or cannot be told.
        layers_unavailable: Why there are no gaps of layers; None where there are, or were not asked for.
        layers_notes: How gaps of layers were taken, in words.
    """

    data: DataInfo
    stages: tuple[StageEvaluation, ...] = ()
    layers: tuple[LayerGap, ...] = ()
    layers_unavailable: str | None = None
    layers_notes: tuple[str, ...] = ()

    def stage(self, stage: Stage, reference: Stage = Stage.EAGER, output: str = "") -> StageEvaluation | None:
        """Return one stage against one reference."""
        wanted = (stage, reference, output)
        return next((item for item in self.stages if (item.stage, item.reference, item.output) == wanted), None)

    @property
    def measured(self) -> StageEvaluation | None:
        """The lowered program on its device against the eager model."""
        return self.stage(Stage.DEVICE) or self.stage(Stage.HOST)


class OutputComparison(Value):
    """Outputs of a treatment against those of its control, on the same inputs.

    Attributes:
        verdict: Whether they are the same.
        reason: Why they were not compared, or how they differ, in words.
        examples: Number of examples that were compared.
        absolute_tolerance: Difference that is allowed at any size.
        relative_tolerance: Difference that is allowed relative to the largest magnitude of the control's output in the
            same example.
        max_absolute_error: Largest absolute difference; None where none was computed.
        relative_l2_error: Norm of the difference relative to that of the control's outputs.
        differing_examples: Number of examples that are not within tolerance.
        first_difference: Place of the first element that is not within tolerance: `output 0, example 3, [0, 17]`.
        seconds: Time that taking and comparing the outputs took.
    """

    verdict: OutputVerdict
    reason: str | None = None
    examples: int = 0
    absolute_tolerance: float = 0.0
    relative_tolerance: float = 0.0
    max_absolute_error: float | None = None
    relative_l2_error: float | None = None
    differing_examples: int = 0
    first_difference: str | None = None
    seconds: float = 0.0
