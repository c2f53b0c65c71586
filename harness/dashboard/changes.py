"""Page of changes: what became worse or better in a period, by how much, how sure, and which commit did it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.dashboard.change_lines import describe_change_row, is_worse
from harness.dashboard.links import Site
from harness.dashboard.periods import format_period, offer_periods
from harness.dashboard.rendering import render_view
from harness.presentation.differences import WHAT_IS_UNKNOWN
from harness.presentation.numbers import format_change
from harness.store.history import ChangeRow, Period, Selection


def render_changes(
    changes: Sequence[ChangeRow], levels: Sequence[ChangeRow], period: Period, selection: Selection, site: Site
) -> str:
    """Render the page.

    Args:
        changes: Proven changes, as `HistoryReader.changes` gives them.
        levels: Differences of medians, as `HistoryReader.levels` gives them.
        period: The period that they are of.
        selection: The cells that they are of.
        site: The site.
    """
    worse = [change for change in changes if is_worse(change)]
    better = [change for change in changes if not is_worse(change)]
    return render_view(
        "changes.html",
        site,
        title="Changes",
        view="Changes",
        selection=selection,
        summary=summarise_changes(changes, levels, period),
        period=offer_periods(site, period, selection),
        worse=[describe_change_row(change, site.links) for change in worse],
        order_of_worse=_describe_order(worse),
        better=[describe_change_row(change, site.links) for change in better],
        order_of_better=_describe_order(better),
        levels=[describe_change_row(change, site.links) for change in levels],
        unknown=WHAT_IS_UNKNOWN,
        nothing=(
            "Nothing was measured here, or all of it is of another period."
            if site.options.results
            else "The store is empty: `harness -b SPECIFICATION --database` measures something into it."
        ),
    )


def summarise_changes(changes: Sequence[ChangeRow], levels: Sequence[ChangeRow], period: Period) -> str:
    """Summarise a period in one sentence: `3 proven regressions on 2 devices, the largest +18 % ...`."""
    worse = [change for change in changes if is_worse(change)]
    better = len(changes) - len(worse)
    when = format_period(period)
    when = f", {when}" if period != Period() else " in all time"
    if not changes:
        measured = f" {len(levels)} cells have figures; their levels are below." if levels else ""
        return f"No proven change{when}.{measured}"
    parts = [_count(len(worse), "proven regression")]
    if worse:
        parts[0] += f" on {_count(len({change.cell.device.identity for change in worse}), 'device')}"
        largest = max(worse, key=lambda change: abs(change.effect.log_ratio) if change.effect else 0.0)
        size = format_change(largest.effect.relative_change) if largest.effect is not None else ""
        parts.append(f"the largest {size} in {largest.cell.title} on {largest.cell.device.name}")
        culprits = {change.after.id for change in worse if change.culprit and change.after is not None}
        parts += [f"{_count(len(culprits), 'culprit')} known"] if culprits else []
    parts += [_count(better, "improvement")] if better else []
    return f"{', '.join(parts)}{when}."


def _describe_order(changes: Sequence[ChangeRow]) -> str:
    """Return the order of changes as `HistoryReader.changes` gives them."""
    if len({change.proof for change in changes}) > 1:
        return "verified alarms before comparisons, the largest of each first"
    return "largest first"


def _count(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
