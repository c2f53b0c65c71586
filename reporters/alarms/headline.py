"""An alarm in one sentence, as plain text: the first line of its page, and fit for the subject of a letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.core.alarm import AlarmEvent, AlarmReport, Culprit, Effect
from harness.core.commit import Commit
from harness.core.metric import LATENCY
from harness.core.trend import ChangeKind
from harness.presentation.numbers import format_change
from harness.presentation.text import make_printable

_SUBJECT: Final = 80
"""Characters of a commit's subject, which git's own conventions keep below 72."""
_NAME: Final = 60
"""Characters of any other name."""
_NAMED: Final = 3
"""So many culprits are named; of more the others are counted."""


def headline(report: AlarmReport) -> str:
    """What changed, by how much and with which commit."""
    over = "is back where it was, after it " if report.event is AlarmEvent.CLOSED else ""
    return f"{_what(report)} {over}{_became(report)} {_cause(report)}"


def _whole(report: AlarmReport) -> Effect:
    """How large the change is by the best that is known: its only culprit's step, its verification, or the series."""
    if len(report.culprits) == 1:
        return report.culprits[0].step
    verified = report.verification.effect if report.verification is not None else None
    return verified or report.change


def named(commit: Commit) -> str:
    """A commit as a person speaks of it: `1a2b3c4d5e6f “Use a slower loop” by Ada`."""
    subject = f" “{clipped(commit.subject, _SUBJECT)}”" if make_printable(commit.subject) else ""
    author = f" by {clipped(commit.author)}" if make_printable(commit.author) else ""
    return f"{short(commit)}{subject}{author}"


def short(commit: Commit) -> str:
    """Its short name; versions may be of any length."""
    return clipped(commit.short)


def stretch(commits: Sequence[Commit]) -> str:
    """Several commits, by their first and last."""
    return f"{short(commits[0])} to {short(commits[-1])}"


def clipped(text: str, most: int = _NAME) -> str:
    """One printable line of so many characters at most."""
    line = make_printable(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _what(report: AlarmReport) -> str:
    place = f"{clipped(report.title)} on {clipped(report.device_name)}"
    return place if report.metric == LATENCY else f"{clipped(report.metric)} of {place}"


def _became(report: AlarmReport) -> str:
    effect = _whole(report)
    more = effect.difference >= 0
    if report.metric == LATENCY:
        return f"became {_size(effect)} {'slower' if more else 'faster'}{_interval(effect)}"
    return f"{'rose' if more else 'fell'} by {_size(effect)}{_interval(effect)}"


def _size(effect: Effect) -> str:
    """Without its sign, which words tell."""
    return f"{_number(abs(effect.difference))} %"


def _interval(effect: Effect) -> str:
    """Its interval in percent, seen from the same side as its size; nothing where nothing is known."""
    more = effect.difference >= 0
    low, high = (effect.low, effect.high) if more else (_mirrored(effect.high), _mirrored(effect.low))
    if low is None and high is None:
        return ""
    return f" [{'-∞' if low is None else _number(low)}, {'∞' if high is None else _number(high)}]"


def _mirrored(end: float | None) -> float | None:
    return None if end is None else -end


def _number(share: float) -> str:
    """Percent with two digits that matter, or as many as stand before the point."""
    size = abs(100 * share)
    decimals = 2 if size < 0.95 else 1 if size < 99.5 else 0
    text = f"{100 * share:,.{decimals}f}" if size < 1e9 else f"{100 * share:.2e}"
    return text.lstrip("-") if not text.strip("-0.") else text


def _cause(report: AlarmReport) -> str:
    if report.culprits:
        return _guilty(report.culprits)
    commits = [one.commit for one in report.candidates]
    if not commits:
        return f"after commit {short(report.before)}"
    if len(commits) == 1:
        return f"with commit {named(commits[0])}"
    if report.kind is ChangeKind.DRIFT:
        return f"bit by bit over {len(commits)} commits, {stretch(commits)}"
    return f"with one of {len(commits)} commits, {stretch(commits)}"


def _guilty(culprits: Sequence[Culprit]) -> str:
    if len(culprits) == 1:
        return f"{_sure(culprits[0])}with {_one(culprits[0])}"
    told = [f"{_sure(one)}{_brief(one)} ({format_change(one.step.difference)})" for one in culprits[:_NAMED]]
    if len(culprits) > _NAMED:
        told.append(f"{len(culprits) - _NAMED} more")
    return f"with {len(culprits)} changes: {', '.join(told[:-1])} and {told[-1]}"


def _sure(culprit: Culprit) -> str:
    return "" if culprit.confirmed else "probably "


def _one(culprit: Culprit) -> str:
    commits = culprit.commits
    if len(commits) == 1:
        return f"commit {named(commits[0])}"
    return f"one of {len(commits)} commits, {stretch(commits)}, of which only the last builds"


def _brief(culprit: Culprit) -> str:
    return named(culprit.commits[0]) if len(culprit.commits) == 1 else f"one of {stretch(culprit.commits)}"
