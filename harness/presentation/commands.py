"""Commands that measure a comparison once more, or compute its verdict once more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from harness.core import DEFAULT_PLATFORM
from harness.core.build import BuildInfo
from harness.core.comparison import Interleave, Parameters
from harness.core.metric import LATENCY
from harness.core.reproduction import format_lines
from harness.core.result import Result


def format_rerun_command(result: Result, folder: Path = Path()) -> str:
    """Return the command that measures this result once more: the one that is stored with it.

    That of a comparison that an older harness stored is derived from it; given programs are named by a placeholder.
    Empty where no command could name the runners or the specification.

    Args:
        result: The result.
        folder: Folder in which it was measured, so that a derived command works in any.
    """
    if result.reproduction is not None or result.benchmark.is_of_dictionary:
        return result.reproduce
    comparison = result.comparison
    side_flags = _side_flags(comparison.control, result.build) if comparison and result.build else []
    if comparison is None or not side_flags:
        return ""
    metric = [] if comparison.metric in {"", LATENCY} else ["--metric", comparison.metric]
    name = DEFAULT_PLATFORM if result.device is None else result.device.platform
    variant = _recipe_variant(result.build, name)
    platform = ["-p", f"{name}{variant}"] if name != DEFAULT_PLATFORM or variant else []
    operators = ["--operators"] if result.benchmark.operators and "--operators" not in comparison.flags else []
    words = [
        "-b",
        str(folder / result.benchmark.specification),
        *platform,
        *side_flags,
        *metric,
        *operators,
        *comparison.flags,
    ]
    return shlex.join(
        [
            "harness",
            "compare",
            *words,
            *parameter_words(comparison.parameters, generates=result.benchmark.generation is not None),
        ]
    )


def explain_missing_command(result: Result) -> str:
    """Explain why no command measures a result once more."""
    if result.benchmark.is_of_dictionary:
        return "its specification was a dictionary of a script, which no command can name"
    if result.origin is not None:
        return "another tool measured it"
    return "nothing names its runner, or an older version measured it"


def collect_rerun_commands(results: Sequence[Result], folder: Path) -> list[str]:
    """Return the commands that measure these results once more (see `format_rerun_command`), as few as can be.

    Results of one command are measured by one again, which names all of them.
    """
    stored = [result.reproduction for result in results if result.reproduction is not None and result.reproduce]
    derived = [format_rerun_command(result, folder) for result in results if result.reproduction is None]
    return list(dict.fromkeys(filter(None, [*format_lines(stored), *derived])))


def format_reevaluate_command(place: Path) -> str:
    """Return the command that computes the verdicts of the results below a folder once more."""
    return shlex.join(["harness", "compare", "--from", str(place)])


def _recipe_variant(build: BuildInfo | None, platform: str) -> str:
    """Return the recipe, among those of the platform, that built a runner, as `/NAME`; empty for the usual one."""
    words = build.recipe.split("/") if build is not None else []
    return f"/{words[-1]}" if len(words) > 2 and words[-2] == platform else ""


def _side_flags(control: BuildInfo, treatment: BuildInfo) -> list[str]:
    """Return the flags that name both sides; none where flags cannot."""
    builds = {"control": control, "treatment": treatment}
    kinds = {name: build.source.partition(":")[0] for name, build in builds.items()}
    if set(kinds.values()) <= {"installed", "none"}:
        return ["--self-check"]
    sources = {build.source for name, build in builds.items() if kinds[name] != "prebuilt"}
    if len(sources) > 1 or sources & {"installed", "none"}:
        return []
    words = [word for source in sources for word in ("--source", source)]
    for name, build in builds.items():
        words += [f"--{name}-program", name.upper()] if kinds[name] == "prebuilt" else [f"--{name}", build.commit]
    return words


def parameter_words(parameters: Parameters, *, generates: bool) -> list[str]:
    """Return the words for the parameters that differ from their defaults, and the seed.

    Args:
        parameters: The parameters.
        generates: Whether they were those of a test that generates, whose launches usually alternate in another way.
    """
    defaults = Parameters(seed=parameters.seed)
    is_usual = parameters.interleave is (Interleave.AUTO if generates else Interleave.LAUNCH)
    flags = (
        ("--alpha", parameters.alpha, defaults.alpha),
        ("--beta", parameters.beta, defaults.beta),
        ("--margin", parameters.margin, defaults.margin),
        ("--tail-margin", parameters.tail_margin, defaults.tail_margin),
        ("--fdr", parameters.fdr, defaults.fdr),
        ("--pairs", parameters.max_pairs, defaults.max_pairs),
        ("--seconds", parameters.max_seconds, defaults.max_seconds),
        ("--precision", parameters.precision, defaults.precision),
        ("--output-tolerance", parameters.output_tolerance, defaults.output_tolerance),
        ("--interleave", None if is_usual else parameters.interleave, Interleave.AUTO),
    )
    words = [
        word
        for flag, value, default in flags
        if value is not None and value != default
        for word in (flag, _format_value(value))
    ]
    return [*words, *(["--gate"] if parameters.gate else []), "--seed", str(parameters.seed)]


def _format_value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"
