"""Headline of an alarm: one sentence of plain text, fit for the subject of a mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from harness.core.alarm import AlarmEvent, AlarmReport, AlarmSize, SizeOrigin
from harness.core.change import ChangeKind
from harness.core.commit import Commit, short_id
from harness.core.culprit import Culprit
from harness.core.effect import Effect
from harness.core.metric import LATENCY
from harness.presentation.numbers import format_change, format_interval
from harness.presentation.text import make_printable

_SUBJECT: Final = 80
"""Most characters of a commit's subject, which git's own conventions keep below 72."""
_NAME: Final = 60
"""Most characters of any other name."""
_NAMED: Final = 3
"""Most culprits that are named; the others are counted."""


def headline(report: AlarmReport) -> str:
    """Return what changed, by how much and with which commit."""
    change = f"{describe_series(report)} {describe_change(report)} {describe_cause(report)}"
    if report.event in {AlarmEvent.RECOVERED, AlarmEvent.CLOSED}:
        return f"{change}: {report.alarm.reason}"
    if report.event is AlarmEvent.REOPENED:
        return f"{change}: {describe_reopening(report)}"
    return change


def describe_reopening(report: AlarmReport) -> str:
    """Say why an alarm is open again: `open again: its commits are in the history again`."""
    return f"open again: {report.alarm.reopened[-1]}" if report.alarm.reopened else "open again"


def describe_commit(commit: Commit) -> str:
    """Describe a commit: `1a2b3c4d5e6f “Use a slower loop” by Ada`."""
    subject = f" “{clip(commit.subject, _SUBJECT)}”" if make_printable(commit.subject) else ""
    author = f" by {clip(commit.author)}" if make_printable(commit.author) else ""
    return f"{short(commit)}{subject}{author}"


def short(commit: Commit) -> str:
    """Return the short name of a commit; versions may be of any length."""
    return clip(commit.short)


def describe_range(commits: Sequence[Commit]) -> str:
    """Name several commits by their first and last."""
    return f"{short(commits[0])} to {short(commits[-1])}"


def clip(text: str, most: int = _NAME) -> str:
    """Return a text as one printable line of at most so many characters."""
    line = make_printable(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def describe_series(report: AlarmReport) -> str:
    """Name the benchmark, the device, and the metric unless it is the latency."""
    change = report.alarm.change
    place = f"{clip(change.title)} on {clip(report.device_name)}"
    return place if change.metric.name == LATENCY else f"{clip(change.metric.name)} of {place}"


def describe_change(report: AlarmReport) -> str:
    """Say by how much it changed: `became 3.1 % slower [2.6, 3.6]`."""
    effect, figure = report.alarm.size.effect, report.alarm.size.figure
    more = effect.log_ratio >= 0
    size = f"{_format_size(effect)}{{}}{_format_interval_of_size(effect)}{f' in its {figure}' if figure else ''}"
    if report.alarm.change.metric.name == LATENCY:
        return f"became {size.format(' slower' if more else ' faster')}"
    return f"{'rose' if more else 'fell'} by {size.format('')}"


def _format_size(effect: Effect) -> str:
    """Format a change without its sign, which words express."""
    return f"{_format_percent(abs(effect.relative_change))} %"


def _format_interval_of_size(effect: Effect) -> str:
    """Format the interval of a change in percent, seen from the same side as its size; empty where none is known."""
    low, high = effect.low_relative_change, effect.high_relative_change
    if effect.log_ratio < 0:
        low, high = _negate(high), _negate(low)
    if low is None and high is None:
        return ""
    return f" [{'-∞' if low is None else _format_percent(low)}, {'∞' if high is None else _format_percent(high)}]"


def _negate(end: float | None) -> float | None:
    return None if end is None else -end


def _format_percent(share: float) -> str:
    """Format percent with two significant digits, or as many as there are before the point.

    What is beside zero does not read as zero: an interval contains zero or it does not.
    """
    size = abs(100 * share)
    decimals = 2 if size < 0.95 else 1 if size < 99.5 else 0
    text = f"{100 * share:,.{decimals}f}" if size < 1e9 else f"{100 * share:.2e}"
    return text if text.strip("-0.") else f"{100 * share:.1g}" if share else text.lstrip("-")


def describe_cause(report: AlarmReport) -> str:
    """Say with which commit it changed, as far as is known: `with commit 1a2b3c4d5e6f “Use a slower loop” by Ada`."""
    if report.alarm.culprits:
        return _describe_culprits(report)
    commits = [candidate.commit for candidate in report.alarm.candidates]
    if not commits:
        return f"after commit {short(report.before)}"
    if len(commits) == 1:
        return f"with commit {describe_commit(commits[0])}"
    if report.alarm.change.kind is ChangeKind.DRIFT:
        return f"bit by bit over {len(commits)} commits, {describe_range(commits)}"
    return f"with one of {len(commits)} commits, {describe_range(commits)}"


def _describe_culprits(report: AlarmReport) -> str:
    culprits = report.alarm.culprits
    if len(culprits) == 1:
        return f"{_doubt(culprits[0])}with {_describe_fully(commits_of(culprits[0], report))}"
    parts = [
        f"{_doubt(culprit)}{_describe_briefly(commits_of(culprit, report))} "
        f"({format_change(culprit.effect.relative_change)})"
        for culprit in culprits[:_NAMED]
    ]
    if len(culprits) > _NAMED:
        parts.append(f"{len(culprits) - _NAMED} more")
    return f"with {len(culprits)} changes: {', '.join(parts[:-1])} and {parts[-1]}"


def commits_of(culprit: Culprit, report: AlarmReport) -> list[Commit]:
    """Return the commits of a culprit as the report knows them, at least by their ids."""
    known = {candidate.commit.id: candidate.commit for candidate in report.alarm.candidates}
    return [known.get(commit) or Commit(source="", id=commit) for commit in culprit.commits]


def _doubt(culprit: Culprit) -> str:
    return "" if culprit.confirmed else "probably "


def _describe_fully(commits: Sequence[Commit]) -> str:
    if len(commits) == 1:
        return f"commit {describe_commit(commits[0])}"
    return f"one of {len(commits)} commits, {describe_range(commits)}, of which only the last builds"


def _describe_briefly(commits: Sequence[Commit]) -> str:
    return describe_commit(commits[0]) if len(commits) == 1 else f"one of {describe_range(commits)}"


_MEASUREMENTS: Final = {
    SizeOrigin.SEARCH: "the search for the culprit",
    SizeOrigin.VERIFICATION: "measuring the two builds again",
    SizeOrigin.SERIES: "the series",
}


def describe_size(report: AlarmReport) -> str:
    """Say once what the size of the headline is of, and which measurement it is from."""
    size, culprits = report.alarm.size, report.alarm.culprits
    is_only = len(culprits) == 1 and len(culprits[0].commits) == 1
    earlier = f"the commit before it, {_name(size.before, report)}" if is_only else _name(size.before, report)
    compared = f"{_name(size.after, report)} against {earlier}"
    return f"{format_effect(size.effect)}: {compared}, from {describe_origin(size)}"


def describe_remeasurement(report: AlarmReport) -> str:
    """Say what the command of a report compares: the culprit, where it is known, or the range of the detection."""
    size, culprits = report.alarm.size, report.alarm.culprits
    before, after = _name(size.before, report), _name(size.after, report)
    if len(culprits) == 1 and len(culprits[0].commits) > 1:
        count = len(culprits[0].commits)
        return (
            f"{after}, the last of {count} commits of which one is the culprit, against the one before them, {before}"
        )
    if len(culprits) == 1:
        return f"{after}, the culprit, against the commit before it, {before}"
    if culprits:
        return f"{after} against {before}, the range of all {len(culprits)} culprits"
    if len(report.alarm.candidates) == 1:
        return f"{after}, the only commit in question, against the commit before it, {before}"
    return f"{after} against {before}, the range in which the change was detected; the culprit is not known"


def describe_origin(size: AlarmSize) -> str:
    """Name the measurement that a size is from."""
    return _MEASUREMENTS[size.origin]


def other_sizes(report: AlarmReport) -> Iterator[tuple[str, str, Effect]]:
    """Yield the measurements of a change that its size is not from: what was done, what was compared, the result."""
    alarm, size = report.alarm, report.alarm.size
    change, verification = alarm.change, alarm.verification
    if verification is not None and verification.effect is not None and size.origin is not SizeOrigin.VERIFICATION:
        ends = f"{_name(change.first_with, report)} against {_name(change.last_without, report)}"
        yield "measured again", ends, verification.effect
    if size.origin is not SizeOrigin.SERIES:
        yield "series", "all commits after the change against those before it", change.effect


def _name(commit: str, report: AlarmReport) -> str:
    return clip(short_id(commit)) if commit else short(report.before)


def format_effect(effect: Effect | None) -> str:
    """Format a relative change with its interval: `+3.05 % [+2.71 … +3.40 %]`; None is empty."""
    if effect is None:
        return ""
    size = format_change(effect.relative_change)
    interval = format_interval(effect.low_relative_change, effect.high_relative_change)
    return f"{size} [{interval}]" if interval else size
