"""One comparison as a row of texts, the same in every table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from harness.core.build import BuildInfo
from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.presentation.numbers import quantity
from harness.presentation.shares import signed, span
from harness.presentation.trajectory import Figure, figures
from harness.presentation.verdicts import Standing, standing

_HASH: Final = 40
"""Characters from which on a commit is a hash, of which twelve are told (as `harness.core.commit.Commit.short`)."""


LAUNCHES: Final = ("launches", "control", "treatment", "difference")
"""What the columns of `launches` are called."""
_LAUNCHES_KEY: Final = (
    "The figures are medians over launches, the difference is the median over pairs: it need not be theirs."
)
_CONTRARY: Final = "Where a * stands, the figures differ the other way: believe the pairs."


@dataclass(frozen=True, slots=True)
class Row:
    """What a table says about one benchmark; texts are as they came, not escaped for any format.

    Attributes:
        standing: How it came out.
        mark: That of its standing, with `!` where its numbers should not be believed.
        model: Model name.
        identifier: The benchmark's name within the model.
        device: What a person calls it.
        control_build: The control's runner.
        treatment_build: The treatment's runner.
        metric: What was compared.
        control: The median of the medians of the control's launches.
        treatment: That of the treatment's.
        difference: Signed, in percent.
        interval: Its 95 % interval.
        pairs: How many.
        time: Device time.
        verdict: In words; of a failure its outcome.
    """

    standing: Standing
    mark: str
    model: str
    identifier: str
    device: str
    control_build: str
    treatment_build: str
    metric: str = ""
    control: str = ""
    treatment: str = ""
    difference: str = ""
    interval: str = ""
    pairs: str = ""
    time: str = ""
    verdict: str = ""


def row(result: Result) -> Row:
    """What a table says about one result of a comparison."""
    how, comparison = standing(result), result.comparison
    named = Row(
        standing=how,
        mark=how.mark + ("!" if result.ok and not result.trusted else ""),
        model=result.benchmark.model,
        identifier=result.benchmark.identifier,
        device=result.device.name if result.device else "",
        control_build=control_name(result),
        treatment_build=treatment_name(result),
        verdict=_verdict(result, how),
    )
    if comparison is None or comparison.identical:
        return named
    medians = next((one for one in figures(comparison) if one.name == "median"), None)
    return replace(
        named,
        metric=comparison.metric,
        control=quantity(medians.control, comparison.unit) if medians else "",
        treatment=quantity(medians.treatment, comparison.unit) if medians else "",
        difference=signed(comparison.difference),
        interval=span(comparison.low, comparison.high),
        pairs=str(len(comparison.pairs)),
        time=quantity(comparison.seconds, "s"),
    )


def launches(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """The five statistics of the launches under `LAUNCHES`; nothing without pairs."""
    unit = comparison.unit
    return [
        (one.name, *_shown(one, unit), signed(one.difference) + ("*" if _is_contrary(one, unit) else ""))
        for one in figures(comparison)
    ]


def launches_key(comparison: Comparison) -> str:
    """What the figures of `launches` are."""
    contrary = any(_is_contrary(one, comparison.unit) for one in figures(comparison))
    return f"{_LAUNCHES_KEY} {_CONTRARY}" if contrary else _LAUNCHES_KEY


def _shown(one: Figure, unit: str) -> tuple[str, str]:
    return quantity(one.control, unit), quantity(one.treatment, unit)


def _is_contrary(one: Figure, unit: str) -> bool:
    """Whether the figures, as they are shown, differ in another direction than the pairs do."""
    control, treatment = _shown(one, unit)
    return control != treatment and (one.treatment - one.control) * one.difference < 0


def control_name(result: Result) -> str:
    """What a person calls the control's runner; empty where there is none."""
    comparison = result.comparison
    return _build_name(result.benchmark.framework, comparison.control, result.build) if comparison else ""


def treatment_name(result: Result) -> str:
    """What a person calls the treatment's runner; empty where there is none."""
    other = result.comparison.control if result.comparison else None
    return _build_name(result.benchmark.framework, result.build, other) if result.build else ""


def _build_name(framework: str, build: BuildInfo, other: BuildInfo | None) -> str:
    """Framework, commit and recipe; and the beginning of its digest where the other side would be called the same."""
    parts = _parts(build)
    if other is not None and _parts(other) == parts and other.digest != build.digest:
        parts = (*parts, build.digest[:8])
    return " ".join(part for part in (framework, *parts) if part not in {"", "none"})


def _parts(build: BuildInfo) -> tuple[str, ...]:
    return (build.commit[:12] if len(build.commit) >= _HASH else build.commit, build.recipe)


def _verdict(result: Result, how: Standing) -> str:
    if result.comparison is not None and result.comparison.identical:
        return "same bytes"
    if how in {Standing.FAILED, Standing.SKIPPED}:
        return result.outcome.value.replace("_", " ")
    return how.word
