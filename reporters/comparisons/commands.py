"""The commands that measure a comparison again, and that compute its verdict again."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.core.build import BuildInfo
from harness.core.comparison import Comparison, Parameters
from harness.core.metric import LATENCY
from harness.core.result import Result


def again(result: Result) -> str:
    """The command that measures what this result is of once more; programs that were given are named by a stand-in."""
    comparison = result.comparison
    if comparison is None:
        return ""
    metric = [] if comparison.metric in {"", LATENCY} else ["--metric", comparison.metric]
    platform = [] if result.device is None or result.device.platform == "host" else ["-p", result.device.platform]
    operators = ["--operators"] if result.benchmark.operators else []
    words = ["-b", result.benchmark.specification, *platform, *_sides(comparison, result.build), *metric, *operators]
    return shlex.join(["harness", "compare", *words, *_decide(comparison.parameters)])


def recompute(place: Path) -> str:
    """The command that computes the verdicts of the results below a folder again."""
    return shlex.join(["harness", "compare", "--from", str(place)])


def _sides(comparison: Comparison, treatment: BuildInfo | None) -> list[str]:
    control = comparison.control
    kind = control.source.partition(":")[0]
    if treatment is None or control.source != treatment.source:
        return []
    if kind in {"installed", "none"}:
        return ["--self_check"]
    if kind == "prebuilt":
        return ["--control-program", "CONTROL", "--treatment-program", "TREATMENT"]
    return ["--source", control.source, "--control", control.commit, "--treatment", treatment.commit]


def _decide(parameters: Parameters) -> list[str]:
    """The flags of the parameters that are not as usual, and the seed."""
    usual = Parameters(seed=parameters.seed)
    flags = (
        ("--alpha", parameters.alpha, usual.alpha),
        ("--beta", parameters.beta, usual.beta),
        ("--margin", parameters.margin, usual.margin),
        ("--tail_margin", parameters.tail_margin, usual.tail_margin),
        ("--fdr", parameters.fdr, usual.fdr),
        ("--pairs", parameters.max_pairs, usual.max_pairs),
        ("--seconds", parameters.max_seconds, usual.max_seconds),
        ("--precision", parameters.precision, usual.precision),
        ("--interleave", parameters.interleave, usual.interleave),
    )
    words = [
        word
        for flag, value, default in flags
        if value is not None and value != default
        for word in (flag, _word(value))
    ]
    return [*words, *(["--gate"] if parameters.gate else []), "--seed", str(parameters.seed)]


def _word(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
