"""Outputs of a treatment against those of its control, in words."""

from __future__ import annotations

from typing import Final

from harness.core.comparison import Comparison
from harness.core.evaluation import OutputComparison
from harness.core.verdict import OutputVerdict

DIFFERENT_MARK: Final = "≠"
"""Mark of a comparison whose sides compute different outputs."""

OUTPUTS_DIFFER: Final = "outputs differ"
"""What the verdict of such a comparison says beside its word."""

NOT_COMPARED: Final = "not compared"

_WORDS: Final = {
    OutputVerdict.IDENTICAL: "identical",
    OutputVerdict.WITHIN_TOLERANCE: "within tolerance",
    OutputVerdict.DIFFERENT: "DIFFERENT",
    OutputVerdict.NOT_COMPARED: NOT_COMPARED,
}


def format_outputs(comparison: Comparison | None) -> str:
    """Return whether both sides compute the same, in a word or two; empty where nobody looked."""
    outputs = comparison.outputs if comparison is not None else None
    return "" if outputs is None else _WORDS[outputs.verdict]


def describe_outputs(outputs: OutputComparison) -> str:
    """Describe in a sentence whether both sides compute the same."""
    match outputs.verdict:
        case OutputVerdict.IDENTICAL:
            sentence = f"the outputs of both sides are identical in {_count(outputs.examples)}"
            return f"{sentence} ({outputs.reason})" if outputs.reason else sentence
        case OutputVerdict.NOT_COMPARED:
            return f"outputs were not compared: {outputs.reason or 'no reason was given'}"
        case OutputVerdict.WITHIN_TOLERANCE:
            return "; ".join(
                filter(None, (f"the outputs of both sides differ within tolerance{_sizes(outputs)}", outputs.reason))
            )
        case OutputVerdict.DIFFERENT:
            return f"treatment and control compute different outputs from the same inputs{_difference(outputs)}"


def explain_withheld_improvement(comparison: Comparison) -> str:
    """Explain why an improvement is not reported as one."""
    described = describe_outputs(comparison.outputs) if comparison.outputs is not None else ""
    return f"its pairs show an improvement, but {described}: faster and different is no improvement"


def _difference(outputs: OutputComparison) -> str:
    """Return what is different: in how many examples, where first, and by how much."""
    count = f" in {outputs.differing_examples} of {_count(outputs.examples)}" if outputs.examples > 1 else ""
    parts = [f"first at {outputs.first_difference}" if outputs.first_difference else "", _sizes(outputs).strip(" ()")]
    details = ", ".join(filter(None, (*parts, outputs.reason)))
    return f"{count}: {details}" if details else count


def _sizes(outputs: OutputComparison) -> str:
    if outputs.max_absolute_error is None:
        return ""
    relative = outputs.relative_l2_error
    share = "" if relative is None else f", {relative:.2g} relative to all outputs"
    allowed = f"{outputs.relative_tolerance:.2g} of the largest output is allowed"
    return f" (largest difference {outputs.max_absolute_error:.3g}{share}; {allowed})"


def _count(examples: int) -> str:
    return "1 example" if examples == 1 else f"{examples} examples"
