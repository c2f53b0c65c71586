"""The commands that measure a comparison again, and that compute its verdict again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.core.build import BuildInfo
from harness.core.comparison import Parameters
from harness.core.metric import LATENCY
from harness.core.result import Result


def again(result: Result, within: Path = Path()) -> str:
    """The command that measures what this result is of once more; programs that were given are named by a stand-in.

    Empty where no command could name both sides.

    Args:
        result: Of a comparison.
        within: The folder in which it was measured, so that the command can be given in any.
    """
    comparison = result.comparison
    sides = _sides(comparison.control, result.build) if comparison and result.build else []
    if comparison is None or not sides:
        return ""
    metric = [] if comparison.metric in {"", LATENCY} else ["--metric", comparison.metric]
    platform = [] if result.device is None or result.device.platform == "host" else ["-p", result.device.platform]
    operators = ["--operators"] if result.benchmark.operators else []
    words = ["-b", str(within / result.benchmark.specification), *platform, *sides, *metric, *operators]
    return shlex.join(["harness", "compare", *words, *_decide(comparison.parameters)])


def again_for_all(results: Sequence[Result], within: Path) -> list[str]:
    """The commands that measure all of them once more (see `again`), each once."""
    return list(dict.fromkeys(command for result in results if (command := again(result, within))))


def recompute(place: Path) -> str:
    """The command that computes the verdicts of the results below a folder again."""
    return shlex.join(["harness", "compare", "--from", str(place)])


def _sides(control: BuildInfo, treatment: BuildInfo) -> list[str]:
    """The flags that name them; none where flags cannot."""
    builds = {"control": control, "treatment": treatment}
    kinds = {name: build.source.partition(":")[0] for name, build in builds.items()}
    if set(kinds.values()) <= {"installed", "none"}:
        return ["--self_check"]
    sources = {build.source for name, build in builds.items() if kinds[name] != "prebuilt"}
    if len(sources) > 1 or sources & {"installed", "none"}:
        return []
    words = [word for source in sources for word in ("--source", source)]
    for name, build in builds.items():
        words += [f"--{name}-program", name.upper()] if kinds[name] == "prebuilt" else [f"--{name}", build.commit]
    return words


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
    return value if isinstance(value, str) else f"{value:.15g}"
