"""Changes as lines of a list: what, how much, how sure, which commit, and where the evidence is."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from harness.core.metric import LATENCY, Direction
from harness.core.verdict import Verdict
from harness.dashboard.links import Links
from harness.dashboard.wording import format_day, format_moment, name_commit
from harness.presentation.alarm_headlines import clip
from harness.presentation.numbers import format_change, format_interval, format_quantity
from harness.presentation.repository_links import is_web_address
from harness.store.history import Cell, ChangeRow, CommitInfo, ProofKind

_CULPRITS: Final = 5
"""Most culprits that a line names; the others are counted."""
_EVIDENCE: Final = {
    ProofKind.ALARM: "verified alarm",
    ProofKind.COMPARISON: "comparison",
    ProofKind.MEDIANS: "medians",
}


class CommitLine(Struct, frozen=True):
    """Commit as a line names it.

    Attributes:
        name: Short name.
        subject: First line of its message.
        author: Name of its author.
        href: Its page here.
        url: Its page in the repository; empty where that is not known.
    """

    name: str
    subject: str
    author: str
    href: str
    url: str


class ChangeLine(Struct, frozen=True):
    """Change as a line of a list.

    Attributes:
        kind: Class of the style sheet.
        verdict: Verdict in words; empty for medians.
        size: Relative change.
        interval: Its 95 % interval.
        order: Log ratio by which it is sorted.
        cell: The cell, by which rows are filtered.
        metric: Name of the metric, where it is not the latency.
        title: Name of the benchmark.
        device: Name of the device.
        cell_href: Page of the cell.
        role: What `commits` are: `culprit`, `one of these`, `first with it`.
        commits: Commits that caused it, or the first that has it.
        more: How many further commits there are.
        before: Last commit without it; None where it is not known.
        levels: Earlier and later figure; empty where it was compared side by side.
        evidence: What shows it.
        evidence_href: Its alarm or result.
        comparison_href: Page of the two commits side by side.
        moment: When, in UTC.
        day: The same without hours.
        time: The same in Unix seconds.
        reproduce: The command that measures it again.
        elsewhere: Whether a figure of it was measured by another tool.
        trusted: Whether nothing speaks against what shows it.
    """

    kind: str
    verdict: str
    size: str
    interval: str
    order: float
    cell: Cell
    metric: str
    title: str
    device: str
    cell_href: str
    role: str
    commits: tuple[CommitLine, ...]
    more: int
    before: CommitLine | None
    levels: str
    evidence: str
    evidence_href: str
    comparison_href: str
    moment: str
    day: str
    time: float
    reproduce: str
    elsewhere: bool
    trusted: bool


def describe_change_row(change: ChangeRow, links: Links) -> ChangeLine:
    """Return a change as a line.

    Args:
        change: The change.
        links: Addresses of pages.
    """
    commits = change.culprits or ((change.after,) if change.after is not None else ())
    effect, decided = change.effect, change.proof is not ProofKind.MEDIANS
    both = change.before is not None and change.after is not None
    return ChangeLine(
        kind=change.verdict.value.replace(" ", "-") if decided else "unproven",
        verdict=change.verdict.value if decided else "",
        size=format_change(effect.relative_change) if effect is not None else "",
        interval=format_interval(effect.low_relative_change, effect.high_relative_change) if effect is not None else "",
        order=effect.log_ratio if effect is not None else 0.0,
        cell=change.cell,
        metric="" if change.metric.name == LATENCY else clip(change.metric.name),
        title=change.cell.title,
        device=change.cell.device.name or change.cell.device.identity,
        cell_href=links.cell(change.cell.key, change.metric.name) or links.cell(change.cell.key),
        role=_name_role(change),
        commits=tuple(describe_commit_info(commit, links) for commit in commits[:_CULPRITS]),
        more=max(len(commits) - _CULPRITS, 0),
        before=describe_commit_info(change.before, links) if change.before is not None else None,
        levels=_format_levels(change),
        evidence=_EVIDENCE[change.proof],
        evidence_href=_link_evidence(change, links),
        comparison_href=links.comparison(change.before.id, change.after.id)
        if both and change.before is not None and change.after is not None
        else "",
        moment=format_moment(change.time),
        day=format_day(change.time),
        time=change.time,
        reproduce=change.reproduce,
        elsewhere=change.elsewhere,
        trusted=change.trusted,
    )


def describe_commit_info(commit: CommitInfo, links: Links) -> CommitLine:
    """Return a commit as a line names it; an address that is none of the web is left out."""
    return CommitLine(
        name=name_commit(commit),
        subject=clip(commit.subject, 100),
        author=clip(commit.author),
        href=links.commit(commit.id) if commit.id else "",
        url=commit.url if is_web_address(commit.url) else "",
    )


def is_worse(change: ChangeRow) -> bool:
    """Return whether a change is for the worse, by its verdict, or by its size where nothing decided it."""
    if change.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        return change.verdict is Verdict.REGRESSION
    ratio = change.effect.log_ratio if change.effect is not None else 0.0
    return ratio < 0 if change.metric.direction is Direction.HIGHER else ratio > 0


def _name_role(change: ChangeRow) -> str:
    if change.culprit:
        return "culprit" if len(change.culprits) < 2 else f"{len(change.culprits)} culprits"
    return {ProofKind.ALARM: "first with it", ProofKind.COMPARISON: "treatment"}.get(change.proof, "")


def _format_levels(change: ChangeRow) -> str:
    earlier, later = change.earlier, change.later
    if earlier is None or later is None:
        return ""
    unit = change.metric.unit
    return f"{format_quantity(earlier.median, unit)} → {format_quantity(later.median, unit)}"


def _link_evidence(change: ChangeRow, links: Links) -> str:
    if change.alarm:
        return links.alarm(change.alarm)
    return links.result(change.result) if change.result else ""
