"""Reproduce lines of comparisons: the command that compares once more what a result compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from harness.config.settings import Settings
from harness.core.comparison import Parameters
from harness.core.metric import LATENCY
from harness.core.protocols import Platform
from harness.core.reproduction import Reproduction
from harness.core.result import Result
from harness.flows.measure.reproduction import info_words, make_reproduction, recipe_words, shared_words
from harness.flows.measure.runners import CommitRunner, GivenRunner, Side, installed_runner
from harness.presentation.commands import parameter_words


class ComparedSides(Struct, frozen=True):
    """What was compared, and how it was decided: the part of a comparison that flags beside those of a run name.

    Attributes:
        control: Origin of the control's runner.
        treatment: Origin of the treatment's runner.
        parameters: How it was decided.
        metrics: The metrics; none for the latency.
        unequal_options: Names of build options that were meant to differ.
        recipes: Folders of further recipes.
    """

    control: Side
    treatment: Side
    parameters: Parameters
    metrics: tuple[str, ...] = ()
    unequal_options: tuple[str, ...] = ()
    recipes: tuple[Path, ...] = ()


def reproduce_comparison(
    result: Result, sides: ComparedSides, settings: Settings, platform: Platform
) -> Reproduction | None:
    """Return the command that compares once more what a result compared.

    Args:
        result: The result.
        sides: What was compared.
        settings: The settings of its run.
        platform: Its platform.

    Returns:
        None where nothing names the runners, or no file is the specification, which was a dictionary.
    """
    words = _side_words(sides.control, sides.treatment, settings)
    if words is None or result.benchmark.is_of_dictionary:
        return None
    metrics = [] if sides.metrics == (LATENCY,) else [word for name in sides.metrics for word in ("--metric", name)]
    unequal = ["--unequal-options", *sides.unequal_options] if sides.unequal_options else []
    settings = dataclasses.replace(settings, program={}) if "--info" in words else settings
    command = ("harness", "compare", *shared_words(settings, platform), *words, *recipe_words(sides.recipes))
    parameters = parameter_words(sides.parameters, generates=result.benchmark.generation is not None)
    return make_reproduction((*command, *metrics, *unequal, *parameters), result)


def _side_words(control: Side, treatment: Side, settings: Settings) -> Sequence[str] | None:
    """Return the flags that name both sides; None where flags cannot."""
    if control is installed_runner and treatment is installed_runner:
        return ["--self-check"]
    if isinstance(control, CommitRunner) and isinstance(treatment, CommitRunner):
        if control.source.name != treatment.source.name:
            return None
        return ["--source", control.source.name, "--control", control.commit.id, "--treatment", treatment.commit.id]
    if isinstance(control, GivenRunner) and isinstance(treatment, GivenRunner):
        named = [side.given.commit or side.given.variables for side in (control, treatment)]
        if any(named):
            return info_words(settings, treatment.given, control.given)
        return [*_program_words("control", control), *_program_words("treatment", treatment)]
    return None


def _program_words(name: str, side: GivenRunner) -> list[str]:
    return [f"--{name}-program", *(f"{key}={path.absolute()}" for key, path in side.given.programs.items())]
