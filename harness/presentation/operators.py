"""Operators of a benchmark: where its time goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from harness.core.metric import LATENCY, Metric, convert
from harness.core.result import Result
from harness.presentation.numbers import format_quantity
from harness.presentation.operator_identities import describe_module, describe_source
from harness.presentation.tables import Column, Row, tabulate
from harness.presentation.text import Span, make_printable


class OperatorShare(Struct, frozen=True):
    """Operator of a profile.

    Attributes:
        name: Name of the operator.
        median_us: Median, in microseconds.
        share: Share of the sum of all operators.
    """

    name: str
    median_us: float
    share: float


class Profile(Struct, frozen=True):
    """All operators of a benchmark.

    Attributes:
        operators: The longest first; those that take equally long stay in order of execution.
        coverage: Their share of the latency; None where that is unknown. Computed from means, which add up: when
            something else has the CPU now and then, it affects few operators of most iterations, and medians hide it.
    """

    operators: tuple[OperatorShare, ...]
    coverage: float | None


def compute_profile(result: Result) -> Profile | None:
    """Return the profile of a result for which operators were asked; None where there are none."""
    if not (result.ok and result.benchmark.operators):
        return None
    operators = [metric for metric in result.metrics if metric.is_of_operator]
    medians = {metric.type: convert(metric.median or 0.0, metric.unit, "us") or 0.0 for metric in operators}
    total = sum(medians.values())
    if total <= 0:
        return None
    ranked = sorted(medians.items(), key=lambda item: -item[1])
    profiled = tuple(OperatorShare(name, median_us, median_us / total) for name, median_us in ranked)
    return Profile(profiled, _coverage(operators, result.metric(LATENCY)))


def build_profile_table(results: Sequence[Result], at_most: int | None = None) -> list[Column]:
    """Build the table of each result's operators; a benchmark is named in its first row only."""
    rows = [row for result in results for row in _profile_rows(result, at_most)]
    columns = tabulate(("benchmark", "operator", "median", "share", "module", "line"), rows, first_right=2)
    module, line = (replace(column, right=False, weight=40) for column in columns[-2:])
    return [*columns[:-2], module, replace(line, weight=30)]


def describe_coverage(results: Sequence[Result]) -> Iterator[str]:
    """Yield a sentence for each result on how much of its latency the operators take."""
    for result in results:
        profile = compute_profile(result)
        if profile is not None and profile.coverage is not None:
            share = format_share(profile.coverage)
            yield f"{_title(result)}: {len(profile.operators)} operators take {share} of the latency, by their means"


def _coverage(operators: Sequence[Metric], latency: Metric | None) -> float | None:
    means = [_mean_us(metric) for metric in operators]
    total = _mean_us(latency) if latency is not None else None
    known = [mean for mean in means if mean is not None]
    return sum(known) / total if total and len(known) == len(means) else None


def _mean_us(metric: Metric) -> float | None:
    mean = metric.summary.get("mean")
    return None if mean is None else convert(mean, metric.unit, "us")


def _profile_rows(result: Result, at_most: int | None) -> Iterator[Row]:
    profile = compute_profile(result)
    if profile is None:
        return
    title = _title(result)
    identities = {identity.name: identity for identity in result.operators}
    for operator in profile.operators[:at_most]:
        identity = identities.get(operator.name)
        figures = (format_quantity(operator.median_us, "us"), format_share(operator.share))
        origin = (describe_module(identity), describe_source(identity))
        yield tuple(
            Span(text) for text in (title, make_printable(operator.name), *figures, *map(make_printable, origin))
        )
        title = ""
    if rest := profile.operators[len(profile.operators[:at_most]) :]:
        total_us, share = sum(operator.median_us for operator in rest), sum(operator.share for operator in rest)
        texts = ("", f"and {len(rest)} more", format_quantity(total_us, "us"), format_share(share), "", "")
        yield tuple(map(Span, texts))


def _title(result: Result) -> str:
    return make_printable(result.benchmark.title)


def format_share(share: float) -> str:
    """Format with one decimal in every row: these shares are added up by eye."""
    return f"{100 * share:.1f} %"
