"""Page of a cell: how one number moved over commits, with what was proven about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from harness.core.outcome import Outcome
from harness.dashboard.change_lines import CommitLine, describe_change_row, describe_commit_info
from harness.dashboard.history_picture import MOST_POINTS, draw_history
from harness.dashboard.links import Site
from harness.dashboard.periods import PeriodForm, Preset, format_ends, format_period
from harness.dashboard.rendering import render_view
from harness.dashboard.wording import format_moment, format_range, has_figure
from harness.presentation.alarm_headlines import clip, format_effect
from harness.presentation.numbers import format_quantity
from harness.store.history import Cell, CellHistory, HistoryPoint, Period

_ROWS: Final = 500
"""Most rows of the table: the newest."""
_METRICS: Final = 60
"""Most metrics that are offered: operators may be hundreds."""
_OTHERS: Final = 20
_LIMITS: Final = (50, 200, 1000, 10000)


class PointLine(Struct, frozen=True):
    """Point as a row of the table.

    Attributes:
        kind: Class of the style sheet.
        commit: Its commit; None where there was no build.
        moment: Time of the commit.
        time: The same in Unix seconds.
        value: Figure; empty without one.
        order: Figure by which the row is sorted; None without one.
        interval: Interval of the figure.
        verdict: Verdict against its control.
        effect: The same as a difference.
        outcome: How it ended, where that is not ok.
        reason: Why, or what speaks against it.
        origin: What is said of figures from elsewhere.
        href: Page of the result.
    """

    kind: str
    commit: CommitLine | None
    moment: str
    time: float
    value: str
    order: float | None
    interval: str
    verdict: str
    effect: str
    outcome: str
    reason: str
    origin: str
    href: str


class _Sign(Struct, frozen=True):
    """Entry of the legend: a mark of the picture, and what it means."""

    kind: str
    shape: str
    text: str


def render_cell(history: CellHistory, period: Period, site: Site) -> str:
    """Render the page.

    Args:
        history: The history, of a period.
        period: The period.
        site: The site.
    """
    cell, links = history.cell, site.links
    metric = history.metric.name if history.metric is not None else ""
    return render_view(
        "cell.html",
        site,
        title=cell.title,
        view="Latest",
        cell=cell,
        device=cell.device.name or cell.device.identity or "no device",
        model_href=links.model(cell.model),
        facts=_list_facts(cell),
        metrics=[
            Preset(each.name, _link_metric(history, each.name, site), each.name == metric)
            for each in history.metrics[:_METRICS]
        ],
        metrics_left=max(len(history.metrics) - _METRICS, 0),
        summary=summarise_history(history, period),
        picture=draw_history(history, links),
        is_ranges=len(history.points) > MOST_POINTS,
        signs=_list_signs(history),
        metric=history.metric,
        period=_offer_periods(history, metric, period, site),
        rows=[describe_point(point, history, site) for point in reversed(history.points[-_ROWS:])],
        rows_left=max(history.total, len(history.points)) - min(len(history.points), _ROWS),
        changes=[describe_change_row(change, links) for change in reversed(history.changes)],
        others=[(f"{other.title} ({other.digest[:12]})", links.cell(other.key)) for other in history.others[:_OTHERS]],
        reproduce=history.reproduce,
    )


def summarise_history(history: CellHistory, period: Period) -> str:
    """Say in a sentence or two where the number is now, and what was proven about it."""
    when = f", {format_period(period)}" if period != Period() else ""
    if not history.points:
        return f"No result{when}."
    known = [point for point in history.points if has_figure(point)]
    if not known or history.metric is None:
        return f"{_count_results(len(history.points))}{when}, and none has a figure: all failed or were skipped."
    newest = known[-1]
    value = format_quantity(newest.median, history.metric.unit)
    failed = len(history.points) - len(known)
    parts = [f"Now {value}", f"{_count_results(history.total or len(history.points))}{when}"]
    parts += [f"{failed:,} of those shown without a figure"] if failed else []
    changes = len(history.changes)
    parts.append(f"{changes or 'no'} proven change{'' if changes == 1 else 's'}")
    return f"{'; '.join(parts)}."


def describe_point(point: HistoryPoint, history: CellHistory, site: Site) -> PointLine:
    """Return a point as a row."""
    unit = history.metric.unit if history.metric is not None else ""
    is_known = has_figure(point)
    verdict = point.verdict.value if point.verdict is not None else ""
    kind = verdict.replace(" ", "-") if is_known else "skipped" if point.outcome.is_skipped else "failed"
    doubt = "" if point.trusted or not is_known else "not trusted: see its notes"
    return PointLine(
        kind=kind,
        commit=describe_commit_info(point.commit, site.links) if point.commit is not None else None,
        moment=format_moment(point.time),
        time=point.time,
        value=format_quantity(point.median, unit) if is_known else "",
        order=point.median if is_known else None,
        interval=format_range(point.low, point.high, unit) if is_known else "",
        verdict=verdict,
        effect=format_effect(point.effect),
        outcome="" if is_known else "no figure" if point.outcome is Outcome.OK else point.outcome.words,
        reason=clip(point.reason, 200) or doubt,
        origin=point.origin.words if point.origin is not None else "",
        href=site.links.result(point.uid),
    )


def _link_metric(history: CellHistory, name: str, site: Site) -> str:
    """Return the page of a metric; of the main one that of the cell."""
    key = history.cell.key
    return site.links.cell(key) if name == history.metrics[0].name else site.links.cell(key, name)


def _count_results(count: int) -> str:
    return f"{count:,} result{'' if count == 1 else 's'}"


def _list_facts(cell: Cell) -> list[tuple[str, str]]:
    device = cell.device
    facts = [
        ("device", " · ".join(filter(None, [device.name, device.kind, device.os])) or "none"),
        ("framework", cell.framework),
        ("backend", cell.backend),
        ("threads", "" if cell.threads is None else str(cell.threads)),
        ("definition", cell.digest[:12]),
    ]
    return [(name, text) for name, text in facts if text]


def _list_signs(history: CellHistory) -> Sequence[_Sign]:
    """Return what the picture has, so that the legend explains nothing that is not there."""
    points = history.points
    known = [point for point in points if has_figure(point)]
    verdicts = {point.verdict.value for point in known if point.verdict is not None and point.trusted}
    plain = any(point.verdict is None and point.origin is None for point in known)
    missing = [point for point in points if not has_figure(point)]
    signs = [_Sign(f"point {word.replace(' ', '-')}", "dot", word) for word in sorted(verdicts)]
    signs += [_Sign("point plain", "dot", "measured, not compared")] if plain else []
    signs += [_Sign("point plain doubted", "dot", "not trusted")] if any(not point.trusted for point in known) else []
    elsewhere = any(point.origin is not None for point in known)
    signs += [_Sign("point plain foreign", "diamond", "measured elsewhere")] if elsewhere else []
    signs += [_Sign("miss", "cross", "failed")] if any(not point.outcome.is_skipped for point in missing) else []
    signs += [_Sign("skip", "cross", "skipped")] if any(point.outcome.is_skipped for point in missing) else []
    signs += [_Sign("noise", "area", "where most medians of a level lie")] if history.bands else []
    signs += [_Sign("change regression", "line", "proven change")] if history.changes else []
    return signs


def _offer_periods(history: CellHistory, metric: str, period: Period, site: Site) -> PeriodForm:
    start, end = format_ends(period)
    action = site.links.cell(history.cell.key)
    shown = max(len(history.points), 2)
    presets = []
    if site.live:
        base = site.links.cell(history.cell.key, metric)
        joint = "&" if "?" in base else "?"
        presets = [Preset(f"newest {limit:,}", f"{base}{joint}limit={limit}", shown == limit) for limit in _LIMITS]
    hidden = (("metric", metric),) if metric else ()
    return PeriodForm(action, start, end, limit=max(shown, 200), presets=tuple(presets), hidden=hidden)
