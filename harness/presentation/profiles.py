"""Profiles: operators by time, by kind and one by one, with what each of them is in the model."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.metric import LATENCY, Metric
from harness.core.program_graph import OperatorIdentity
from harness.core.result import Result
from harness.presentation.numbers import format_change, format_median, format_quantity
from harness.presentation.operator_identities import describe_module, describe_source
from harness.presentation.operators import compute_profile, format_share
from harness.presentation.tables import Column, make_cells
from harness.presentation.text import make_printable

_NUMBER: Final = re.compile(r" #\d+$")


class ProfileRow(Struct, frozen=True):
    """Operator, or all operators of one kind.

    Attributes:
        name: Its name; of a kind, the name without number.
        calls: Number of operators.
        median_us: Median in an iteration, in microseconds; of a kind, the sum of its operators' medians.
        share: Share of the sum of all operators.
        cumulative: Share of this one and of all that take longer.
        delegate: Backend that executes it; empty for a kernel of the runtime, None where that is not known.
        identity: What it is in the model; None for a kind, and where that is not known.
    """

    name: str
    calls: int
    median_us: float
    share: float
    cumulative: float
    delegate: str | None
    identity: OperatorIdentity | None = None

    @property
    def kind(self) -> str:
        """Its name without number."""
        return _NUMBER.sub("", self.name)


class ProfileReport(Struct, frozen=True):
    """Profile of one benchmark on one device.

    Attributes:
        result: The result whose operators were timed.
        untraced: The result of the same benchmark without tracing; None where there is none.
        operators: One by one, the longest first.
        kinds: By kind and backend, the longest first.
        coverage: Their share of the latency that was measured with them; None where that is unknown.
    """

    result: Result
    untraced: Result | None
    operators: tuple[ProfileRow, ...]
    kinds: tuple[ProfileRow, ...]
    coverage: float | None

    @property
    def overhead(self) -> float | None:
        """Relative difference of the medians with and without tracing: 0.02 is 2 % slower. None where unknown."""
        medians = [result and result.metric(LATENCY) for result in (self.untraced, self.result)]
        plain, traced = (metric.median if metric else None for metric in medians)
        return traced / plain - 1 if traced is not None and plain else None


def describe_profile(result: Result, untraced: Result | None = None) -> ProfileReport | None:
    """Return the profile of a result; None where its operators were not timed."""
    profile = compute_profile(result)
    if profile is None:
        return None
    identities = {identity.name: identity for identity in result.operators}
    rows = [
        ProfileRow(
            each.name,
            1,
            each.median_us,
            each.share,
            0.0,
            _delegate(identities.get(each.name)),
            identities.get(each.name),
        )
        for each in profile.operators
    ]
    return ProfileReport(result, untraced, _accumulate(rows), _accumulate(_by_kind(rows)), profile.coverage)


def build_kinds_table(report: ProfileReport) -> list[Column]:
    """Build the table of kinds."""
    rows = report.kinds
    return [
        Column("operator", make_cells([row.name for row in rows])),
        Column("calls", make_cells([str(row.calls) for row in rows]), right=True),
        *_figures(rows),
    ]


def build_operators_table(report: ProfileReport) -> list[Column]:
    """Build the table of operators, one by one."""
    rows = report.operators
    return [
        Column("operator", make_cells([row.name for row in rows])),
        *_figures(rows),
        Column("module", make_cells([describe_module(row.identity) for row in rows])),
        Column("line", make_cells([describe_source(row.identity) for row in rows]), weight=40),
    ]


def summarise_profile(report: ProfileReport) -> Iterator[str]:
    """Yield sentences: what was measured with and without tracing, what is delegated, what cannot be told."""
    plain = report.untraced.metric(LATENCY) if report.untraced is not None else None
    traced = report.result.metric(LATENCY)
    if traced is not None and plain is not None:
        doubt = ", within the intervals of both" if _overlap(plain, traced) else ""
        change = f"{format_change(report.overhead)}{doubt}"
        yield f"latency {format_median(plain)}; while operators are timed {format_median(traced)} ({change})"
    elif traced is not None:
        yield f"latency {format_median(traced)} while operators are timed"
    if report.coverage is not None:
        share = format_share(report.coverage)
        yield f"{len(report.operators)} operators take {share} of the latency while they are timed, by their means"
    if hidden := sum(row.median_us == 0 for row in report.operators):
        verb = "takes" if hidden == 1 else "take"
        yield f"{hidden} of them {verb} less than a step of the clock that times operators, which is shown as 0"
    yield from _describe_delegation(report)
    inside = [row for row in report.operators if row.identity is not None and row.identity.nodes_inside is not None]
    untold = [row for row in inside if not row.name.startswith("delegate call")]
    if not report.result.operators:
        yield "the modules are not known: the program was not exported here, or its runner does not report places"
    elif untold:
        verb = "executes" if len(untold) == 1 else "execute"
        yield f"which nodes {len(untold)} of the operators {verb} cannot be told: their delegates do not report it"


def list_doubts(report: ProfileReport) -> tuple[str, ...]:
    """Return what speaks against the figures of either pass, each reason once."""
    results = [result for result in (report.untraced, report.result) if result is not None]
    reasons = (f"! {make_printable(note.message)}" for result in results for note in result.notes if not note.trust)
    return tuple(dict.fromkeys(reasons))


def _overlap(first: Metric, second: Metric) -> bool:
    """Return whether the intervals of both medians have a value in common; False where one has none."""
    if first.interval is None or second.interval is None:
        return False
    return first.interval.low <= second.interval.high and second.interval.low <= first.interval.high


def _describe_delegation(report: ProfileReport) -> Iterator[str]:
    shares: dict[str, float] = {}
    for row in report.operators:
        if row.delegate is None:
            return
        shares[row.delegate] = shares.get(row.delegate, 0.0) + row.share
    parts = [
        f"{format_share(share)} in {make_printable(delegate)}" if delegate else f"{format_share(share)} not delegated"
        for delegate, share in sorted(shares.items(), key=lambda item: -item[1])
    ]
    yield f"of the operators' time: {', '.join(parts)}"


def _figures(rows: Sequence[ProfileRow]) -> Iterator[Column]:
    yield Column("median", make_cells([format_quantity(row.median_us, "us") for row in rows]), right=True)
    yield Column("share", make_cells([format_share(row.share) for row in rows]), right=True)
    yield Column("cumulative", make_cells([format_share(row.cumulative) for row in rows]), right=True)
    delegates = ["" if row.delegate is None else row.delegate or "no" for row in rows]
    yield Column("delegated", make_cells(delegates))


def _delegate(identity: OperatorIdentity | None) -> str | None:
    return identity.delegate if identity is not None else None


def _by_kind(rows: Sequence[ProfileRow]) -> list[ProfileRow]:
    groups: dict[tuple[str, str | None], list[ProfileRow]] = {}
    for row in rows:
        groups.setdefault((row.kind, row.delegate), []).append(row)
    kinds = [
        ProfileRow(
            kind, len(group), sum(row.median_us for row in group), sum(row.share for row in group), 0.0, delegate
        )
        for (kind, delegate), group in groups.items()
    ]
    return sorted(kinds, key=lambda row: -row.median_us)


def _accumulate(rows: Sequence[ProfileRow]) -> tuple[ProfileRow, ...]:
    sums = itertools.accumulate(row.share for row in rows)
    return tuple(
        ProfileRow(row.name, row.calls, row.median_us, row.share, total, row.delegate, row.identity)
        for row, total in zip(rows, sums, strict=True)
    )
