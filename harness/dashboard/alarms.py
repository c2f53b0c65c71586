"""Pages of alarms: the list, open ones first, and everything about one, with what persons did about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from harness.core.alarm import AlarmReport
from harness.core.commit import Commit
from harness.core.effect import Effect
from harness.core.metric import LATENCY, Direction
from harness.core.probability import format_probability
from harness.core.verdict import Verdict
from harness.dashboard.change_lines import CommitLine, describe_commit_info
from harness.dashboard.links import Links, Site
from harness.dashboard.rendering import render_view
from harness.dashboard.wording import format_day, format_moment
from harness.presentation.alarm_headlines import (
    clip,
    describe_remeasurement,
    describe_size,
    format_effect,
    headline,
    other_sizes,
    short,
)
from harness.presentation.numbers import format_change, format_evidence, format_interval, format_quantity
from harness.presentation.repository_links import commit_url, is_web_address
from harness.store.history import AlarmDetail, AlarmRemark, AlarmRow, Cell, CommitInfo
from reporters.alarms.page import REASON, select_candidates
from reporters.alarms.plot import caption, draw_series
from reporters.document.picture import Picture

_FOREVER: Final = 250_000_000_000.0
"""A mute until after the year 9800 has no end."""
_OPERATORS: Final = 20
_CULPRITS: Final = 4
_ACTIONS: Final = {
    "acknowledge": "acknowledged it",
    "mute": "muted it",
    "unmute": "ended the mute",
    "comment": "commented",
}


class AlarmLine(Struct, frozen=True):
    """Alarm as a row of the list.

    Attributes:
        kind: Class of the style sheet.
        href: Its page.
        stage: How far it is.
        size: Relative change with its interval.
        order: Log ratio.
        title: Name of the benchmark.
        cell_href: Page of the cell; empty where the store has no result of it.
        device: Name of the device.
        metric: Name of the metric, where it is not the latency.
        culprits: Commits that caused it, as far as they are known.
        more: How many further ones there are.
        since: Day on which it was raised.
        opened: The same in Unix seconds.
        acknowledged: Who has seen it, and when.
        muted: Until when it is muted.
        remarks: Number of remarks.
    """

    kind: str
    href: str
    stage: str
    size: str
    order: float
    title: str
    cell_href: str
    device: str
    metric: str
    culprits: tuple[CommitLine, ...]
    more: int
    since: str
    opened: float
    acknowledged: str
    muted: str
    remarks: int


class _RemarkLine(Struct, frozen=True):
    person: str
    action: str
    moment: str
    text: str
    until: str


class _Suspect(Struct, frozen=True):
    """Commit in question."""

    commit: CommitLine
    is_culprit: bool
    when: str
    builds: str
    probability: str


def render_alarms(rows: Sequence[AlarmRow], site: Site) -> str:
    """Render the list.

    Args:
        rows: Alarms, newest first.
        site: The site.
    """
    groups: dict[str, list[AlarmLine]] = {"open": [], "improved": [], "muted": [], "closed": []}
    for row in rows:
        line = _describe_row(row, site.links)
        place = "closed" if not row.is_open else "muted" if row.muted_until is not None else "open"
        groups["improved" if place == "open" and line.kind == Verdict.IMPROVEMENT.value else place].append(line)
    return render_view("alarms.html", site, title="Alarms", view="Alarms", summary=_summarise(groups), groups=groups)


def render_alarm(detail: AlarmDetail, site: Site) -> str:
    """Render everything about an alarm.

    Args:
        detail: The alarm.
        site: The site.
    """
    row, report = detail.row, detail.report
    alarm, verification = report.alarm, report.alarm.verification
    return render_view(
        "alarm.html",
        site,
        title=f"Alarm: {row.title}",
        view="Alarms",
        line=_describe_row(row, site.links),
        is_open=row.is_open,
        headline=headline(report),
        reason=alarm.reason,
        size=describe_size(report),
        facts=list(_list_facts(detail)),
        picture=_draw(report),
        caption=caption(report) if report.series else "",
        suspects=list(_list_suspects(report, site.links)),
        left_out=select_candidates(report).left_out,
        search=alarm.search.reason if alarm.search is not None else "",
        evidence=list(_list_evidence(report)),
        others=[(name, commits, format_effect(effect)) for name, commits, effect in other_sizes(report)],
        operators=list(_list_operators(report)),
        diff_url=report.diff_url if is_web_address(report.diff_url) else "",
        comparison_href=site.links.comparison(alarm.size.before, alarm.size.after)
        if alarm.size.before and alarm.size.after
        else "",
        result_href=site.links.result(verification.result) if verification is not None and verification.result else "",
        results=[place for place in report.results if is_web_address(place)],
        command=report.command,
        remeasurement=describe_remeasurement(report),
        closing=f"{report.closing_command} {REASON}" if report.closing_command else "",
        remarks=[_describe_remark(remark) for remark in row.remarks],
        action=f"{site.links.alarm(row.identity)}/remarks" if site.live and site.person else "",
        person=site.person,
        form_token=site.form_token,
        is_muted=row.muted_until is not None,
        is_acknowledged=row.acknowledged is not None,
    )


def _describe_row(row: AlarmRow, links: Links) -> AlarmLine:
    known = row.culprits or ((row.culprit,) if row.culprit is not None else ())
    seen = row.acknowledged
    return AlarmLine(
        kind="over" if not row.is_open else _judge(row.effect, row.metric.direction),
        href=links.alarm(row.identity),
        stage=row.stage.value,
        size=format_effect(row.effect),
        order=row.effect.log_ratio,
        title=row.title,
        cell_href=_link_cell(row.cell, row.metric.name, links),
        device=row.device,
        metric="" if row.metric.name == LATENCY else clip(row.metric.name),
        culprits=tuple(describe_commit_info(commit, links) for commit in known[:_CULPRITS]),
        more=max(len(known) - _CULPRITS, 0),
        since=format_day(row.opened),
        opened=row.opened,
        acknowledged=f"{clip(seen.person)}, {format_day(seen.time)}" if seen is not None else "",
        muted=_format_until(row.muted_until),
        remarks=len(row.remarks),
    )


def _link_cell(cell: Cell | None, metric: str, links: Links) -> str:
    """Return the history of a metric of a cell, or of its main metric where that has no page."""
    return "" if cell is None else links.cell(cell.key, metric) or links.cell(cell.key)


def _judge(effect: Effect, direction: Direction) -> str:
    is_worse = effect.log_ratio < 0 if direction is Direction.HIGHER else effect.log_ratio > 0
    return (Verdict.REGRESSION if is_worse else Verdict.IMPROVEMENT).value


def _format_until(until: float | None) -> str:
    if until is None:
        return ""
    return "without end" if until > _FOREVER else f"until {format_day(until)}"


def _summarise(groups: dict[str, list[AlarmLine]]) -> str:
    if not any(groups.values()):
        return "No alarm. `harness watch` raises them when a level of a series shifts and measuring again confirms it."
    waiting = sum(not line.acknowledged for line in groups["open"])
    parts = [f"{len(lines)} {name}" for name, lines in groups.items() if lines]
    return f"{', '.join(parts)}{f'; nobody has acknowledged {waiting} of them' if waiting else ''}."


def _list_facts(detail: AlarmDetail) -> Iterator[tuple[str, str]]:
    row, report = detail.row, detail.report
    discovery = report.discovery
    yield "stage", row.stage.value
    yield "raised", f"{format_moment(row.opened)} UTC"
    yield "last change", f"{format_moment(row.updated)} UTC"
    yield "found by", f"harness {clip(discovery.harness)} on {clip(discovery.host)}"
    closing = report.alarm.closing
    if closing is not None:
        by = f", repaired by {clip(closing.by)}" if closing.by else ""
        yield "closed by", f"{clip(closing.person)}, {format_moment(closing.time)} UTC: {clip(closing.reason, 200)}{by}"
    yield "identity", row.identity


def _draw(report: AlarmReport) -> Picture | None:
    return draw_series(report) if report.series else None


def _list_suspects(report: AlarmReport, links: Links) -> Iterator[_Suspect]:
    culprits = {commit for culprit in report.alarm.culprits for commit in culprit.commits}
    for candidate in select_candidates(report).shown:
        commit = candidate.commit
        yield _Suspect(
            commit=_describe_commit(commit, report.repository, links),
            is_culprit=commit.id in culprits,
            when="" if commit.time is None else format_moment(commit.time),
            builds="does not build" if candidate.builds is False else "",
            probability="" if candidate.probability is None else format_probability(candidate.probability),
        )


def _describe_commit(commit: Commit, repository: str, links: Links) -> CommitLine:
    url = commit_url(repository, commit.id) or ""
    info = CommitInfo(id=commit.id, subject=commit.subject, author=commit.author, url=url)
    return describe_commit_info(info, links)


def _list_evidence(report: AlarmReport) -> Iterator[str]:
    alarm, verification = report.alarm, report.alarm.verification
    yield (
        f"the series shows a change for the {'worse' if alarm.change.is_worse else 'better'} "
        f"({alarm.change.kind.value}) after commit {short(report.before)}"
    )
    if verification is None:
        yield "it was not measured again"
        return
    cost = f"{verification.pairs:,} pairs, {format_quantity(verification.seconds, 's')} of device time"
    yield (
        f"both builds were measured again, side by side: {verification.verdict.value} "
        f"{format_effect(verification.effect)} ({cost}; evidence {format_evidence(verification.evidence)})"
    )
    if verification.reason:
        yield verification.reason
    if alarm.search is not None and alarm.search.pairs:
        yield f"the search for the culprit took {alarm.search.pairs:,} pairs"
    for culprit in alarm.culprits:
        proof = "proven" if culprit.confirmed else "not proven"
        yield (
            f"culprit {clip(culprit.commits[-1], 12)}: {format_effect(culprit.effect)}, probability "
            f"{format_probability(culprit.probability)}, evidence {format_evidence(culprit.evidence)}, {proof}"
        )


def _list_operators(report: AlarmReport) -> Iterator[tuple[str, str, str, str]]:
    verification = report.alarm.verification
    if verification is None:
        return
    ordered = sorted(verification.operators, key=lambda operator: -abs(operator.contribution or 0.0))
    for operator in ordered[:_OPERATORS]:
        effect = operator.effect
        size = format_change(effect.relative_change) if effect is not None else "only in one build"
        ends = format_interval(effect.low_relative_change, effect.high_relative_change) if effect is not None else ""
        yield clip(operator.name), size, ends, format_change(operator.contribution)


def _describe_remark(remark: AlarmRemark) -> _RemarkLine:
    return _RemarkLine(
        person=clip(remark.person),
        action=_ACTIONS[remark.action.value],
        moment=format_moment(remark.time),
        text=remark.text,
        until=_format_until(remark.until) if remark.until is not None else "",
    )
