"""An alarm as Markdown: what changed first, then why that is believed, then how to see it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from harness.core.alarm import AlarmEvent, AlarmReport, ChangedOperator
from harness.core.change import ChangeKind
from harness.core.commit import short_id
from harness.core.culprit import Candidate, Culprit
from harness.core.effect import relative_change
from harness.core.probability import format_probability
from harness.presentation.alarm_headlines import (
    clip,
    commits_of,
    describe_range,
    describe_remeasurement,
    describe_size,
    format_effect,
    headline,
    other_sizes,
    short,
)
from harness.presentation.markdown import escape, fence, format_table
from harness.presentation.numbers import format_change, format_evidence, format_interval, format_quantity
from harness.presentation.repository_links import commit_url, is_absolute, is_web_address
from harness.presentation.text import make_printable
from harness.presentation.verdicts import VerdictCategory
from harness.store.tree import encode_segment
from reporters.alarms.plot import caption

PICTURE: Final = "series.svg"
"""File name of the picture of the series, beside the page."""
GROUP_PAGE: Final = "index.html"
"""File name of the page of all alarms with one cause, in the folder of the oldest."""
TO_RESULTS: Final = "../../"
"""From the folder of an alarm to that of all results."""

REASON: Final = "'...'"
"""Stands for the reason in the command that closes an alarm."""

_SUBJECT: Final = 72
_OPERATORS: Final = 10
"""Most rows of operators."""
_LIKELY: Final = 0.95
"""Share of the probability that the shown candidates hold together."""
_CANDIDATES: Final = 12
"""Most rows of candidates."""
_OF_PATHS: Final = "/+=,@~"
_OF_URLS: Final = "/+=,@~:%?&#"
"""Characters that an address keeps; all others are percent-encoded (RFC 3986, section 2)."""
_LINKS: Final = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
"""Places where GitHub and others begin a link in plain text (GitHub Flavored Markdown, section 6.9)."""


def render(report: AlarmReport) -> str:
    """Render the page. Whatever texts the report contains, the page shows them as they are."""
    parts = (
        f"# {_mark(report)} {_plain(headline(report))}",
        *_stage(report),
        *_picture(report),
        *_candidates(report),
        *_culprits(report),
        *_verification(report),
        *_operators(report),
        *_links(report),
        *_command(report),
        *_other_sizes(report),
        *_about(report),
    )
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Return Markdown that shows just this text, and makes no link of an address in it."""
    return _LINKS.sub(r"\\\g<0>", escape(text))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Return a table of the columns that are not empty, without links."""
    every = range(len(headings))
    filled = [number for number in every if any(row[number] for row in rows)] or list(every)
    shown = [[row[number] for number in filled] for row in rows]
    markdown = format_table([headings[number] for number in filled], shown, [right[number] for number in filled])
    return _LINKS.sub(r"\\\g<0>", markdown)


def _mark(report: AlarmReport) -> str:
    if report.event is AlarmEvent.CLOSED:
        return "✓"
    return (VerdictCategory.REGRESSION if report.alarm.change.is_worse else VerdictCategory.IMPROVEMENT).mark


def _stage(report: AlarmReport) -> Iterator[str]:
    alarm = report.alarm
    if report.event is AlarmEvent.CLOSED:
        yield f"**Closed**: {_sentence(alarm.reason or 'nothing is left to do')}"
    elif report.event is AlarmEvent.RECOVERED:
        yield f"**Not over**: {_sentence(alarm.reason)}"
    elif report.event is AlarmEvent.REOPENED:
        yield f"**Open again**: {_sentence(alarm.reopened[-1] if alarm.reopened else alarm.reason)}"
    elif alarm.search is not None:
        unexplained = alarm.search.unexplained_log_ratio
        rest = format_change(None if unexplained is None else relative_change(unexplained))
        left = f" No culprit explains the remaining {rest}." if alarm.culprits and rest.strip("0. %") else ""
        yield f"**Searched**: {_sentence(alarm.search.reason)}{left}"
    else:
        how = "by measuring it again" if alarm.verification is not None else "by the series alone"
        missing = "" if len(alarm.candidates) == 1 else " The culprit was not searched yet."
        yield f"**Confirmed** {how}.{missing}"


def _sentence(text: str) -> str:
    """Add a full stop; the first letter stays, for it may be that of a commit's name."""
    line = make_printable(text)
    return _plain(f"{line}{'' if line.endswith(('.', '!', '?')) else '.'}")


def _picture(report: AlarmReport) -> Iterator[str]:
    if report.series:
        yield f"![{_plain(clip(report.alarm.change.metric.name))} of each commit]({PICTURE})"
        yield _plain(caption(report))


def _candidates(report: AlarmReport) -> Iterator[str]:
    candidates = report.alarm.candidates
    if len(candidates) < 2:
        return
    yield f"## {len(candidates)} commits in question"
    selection = select_candidates(report)
    culprits = {commit for culprit in report.alarm.culprits for commit in culprit.commits}
    merges = {merge for culprit in report.alarm.culprits for merge in culprit.merges}
    rows = [
        _candidate_row(
            candidate, is_culprit=candidate.commit.id in culprits, brought_culprit=candidate.commit.id in merges
        )
        for candidate in selection.shown
    ]
    if rows:
        headings = ("", "commit", "subject", "author", "time (UTC)", "builds", "probability")
        yield _table(headings, rows, (False, False, False, False, False, False, True))
    if selection.left_out:
        share = "" if selection.probability is None else f", together {format_probability(selection.probability)}"
        yield f"{selection.left_out} more {'is' if selection.left_out == 1 else 'are'} left out{_plain(share)}."


def _candidate_row(candidate: Candidate, *, is_culprit: bool, brought_culprit: bool) -> tuple[str, ...]:
    commit = candidate.commit
    probability = "" if candidate.probability is None else format_probability(candidate.probability)
    return (
        "►" if is_culprit else "",
        short(commit),
        clip(commit.subject, _SUBJECT),
        clip(commit.author),
        "" if commit.time is None else format_time(commit.time),
        "no" if candidate.builds is False else "",
        "the merge that brought ►" if brought_culprit and not is_culprit else probability,
    )


def _culprits(report: AlarmReport) -> Iterator[str]:
    culprits = report.alarm.culprits
    if culprits:
        yield "## What the search found"
        headings = ("commit", "changed it by", "95 % interval", "probability", "evidence", "proven")
        rows = [_culprit_row(culprit, report) for culprit in culprits]
        yield _table(headings, rows, (False, *[True] * 4, False))


def _culprit_row(culprit: Culprit, report: AlarmReport) -> tuple[str, ...]:
    """Return a row; the size of the only culprit is that of the headline, and is not repeated."""
    commits, effect = commits_of(culprit, report), culprit.effect
    is_only = len(report.alarm.culprits) == 1
    return (
        short(commits[0]) if len(commits) == 1 else f"one of {len(commits)}: {describe_range(commits)}",
        "" if is_only else format_change(effect.relative_change),
        "" if is_only else format_interval(effect.low_relative_change, effect.high_relative_change),
        format_probability(culprit.probability),
        format_evidence(culprit.evidence),
        "yes" if culprit.confirmed else "no",
    )


def _verification(report: AlarmReport) -> Iterator[str]:
    yield "## Why it is believed"
    alarm, kind = report.alarm, report.alarm.change.kind
    article = "an" if kind is ChangeKind.IMPROVEMENT else "a"
    lines = [describe_size(report), f"the series shows {article} {kind.value} after commit {short(report.before)}"]
    verification = alarm.verification
    if verification is not None:
        cost = f"{_pairs(verification.pairs)}, {format_quantity(verification.seconds, 's')} of device time"
        lines.append(f"measured again: {verification.verdict.value} ({cost})")
    if alarm.search is not None and alarm.search.pairs:
        lines.append(f"searched: {_pairs(alarm.search.pairs)}")
    yield "\n".join(f"- {_plain(line)}" for line in lines)


def _pairs(count: int) -> str:
    return f"{count:,} pair{'' if count == 1 else 's'}"


def _operators(report: AlarmReport) -> Iterator[str]:
    verification = report.alarm.verification
    if verification is None or not verification.operators:
        return
    operators = sorted(verification.operators, key=lambda operator: -abs(operator.contribution or 0.0))
    yield "## Operators that changed"
    headings = ("operator", "difference", "95 % interval", "contribution")
    yield _table(headings, [_operator_row(operator) for operator in operators[:_OPERATORS]], (False, True, True, True))
    if len(operators) > _OPERATORS:
        yield f"{len(operators) - _OPERATORS} with smaller contributions are left out."


def _operator_row(operator: ChangedOperator) -> tuple[str, ...]:
    added, effect = operator.contribution, operator.effect
    if effect is not None:
        return (
            clip(operator.name),
            format_change(effect.relative_change),
            format_interval(effect.low_relative_change, effect.high_relative_change),
            format_change(added),
        )
    return (
        clip(operator.name),
        "only in one build" if added is None else "new" if added >= 0 else "gone",
        "",
        format_change(added),
    )


def _command(report: AlarmReport) -> Iterator[str]:
    if report.command:
        yield "## To measure it again"
        yield _plain(f"It compares {describe_remeasurement(report)}.")
        yield fence(typed(report.command), "sh")
    if report.closing_command:
        yield "## To close it"
        if report.event is not AlarmEvent.RECOVERED:
            yield "It is closed by itself when a commit that says that it repairs the culprit brings the level back."
        yield fence(typed(f"{report.closing_command} {REASON}"), "sh")


def typed(command: str) -> str:
    """Return a command as it is typed: unlike `make_printable` this keeps spaces, as an argument may hold several."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in command)


def _links(report: AlarmReport) -> Iterator[str]:
    """Yield links that work from another machine: pages of the repository, and results beside this page."""
    size = report.alarm.size
    lines = []
    if report.group and report.group != report.alarm.identity:
        page = f"../{encode_segment(report.group)}/{GROUP_PAGE}"
        lines.append(f"[everything that this change moved](<{quote(page, safe=_OF_PATHS)}>)")
    elif report.group:
        lines.append(f"[everything that this change moved]({GROUP_PAGE})")
    if is_web_address(report.diff_url):
        lines.append(f"[difference](<{_address(report.diff_url)}>) of the two commits")
    for name, commit in (("before", size.before), ("after", size.after)):
        if url := commit_url(report.repository, commit):
            lines.append(f"build {name}: commit [{_plain(clip(short_id(commit)))}](<{_address(url)}>)")
    lines += [
        f"result of the verification, with recipe, compiler and flags of both builds: {_link(place)}"
        for place in report.results
    ]
    if lines:
        yield "## Links"
        yield "\n".join(f"- {line}" for line in lines)


def _other_sizes(report: AlarmReport) -> Iterator[str]:
    sizes = list(other_sizes(report))
    if sizes:
        yield "## Other measurements of this change"
        rows = [(name, commits, format_effect(effect)) for name, commits, effect in sizes]
        yield _table(("measurement", "of what", "difference"), rows, (False, False, True))


def _about(report: AlarmReport) -> Iterator[str]:
    """Yield what is looked up, not read."""
    change, discovery = report.alarm.change, report.discovery
    finder = f"harness {clip(discovery.harness)} on {clip(discovery.host)}"
    lines = [
        _plain(f"found {format_time(discovery.time)} UTC by {finder}"),
        _plain(f"device {clip(report.device_name)} ({clip(change.device)})"),
        f"alarm {_plain(change.identity)}; the same for programs: [alarm.json](alarm.json)",
    ]
    yield "---"
    yield "\n".join(f"- {line}" for line in lines)
    evident = " Evidence of 100 refutes “no change” at 1 %." if report.alarm.culprits else ""
    yield f"Intervals hold at 95 % however often one looks; that of the series only if the change is there.{evident}"


def _link(place: str) -> str:
    """Return a link to an address or to a folder of results; a folder that only this machine has is no link."""
    if is_web_address(place):
        return f"[{_plain(place)}](<{_address(place)}>)"
    if is_absolute(place):
        return _plain(place)
    return f"[{_plain(place)}](<{TO_RESULTS}{quote(place, safe=_OF_PATHS, errors='replace')}>)"


def _address(url: str) -> str:
    """Return a URL that ends nowhere before its end in Markdown."""
    return quote(url, safe=_OF_URLS, errors="replace")


def format_time(seconds: float) -> str:
    """Format a time in UTC; `no date` beyond the calendar."""
    try:
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds):%Y-%m-%d %H:%M}"
    except OverflowError:
        return "no date"


class CandidateSelection(Struct, frozen=True):
    """The candidates that a page shows.

    Attributes:
        shown: Oldest first.
        left_out: How many more there are.
        probability: Probability that those hold together; None where no search was made.
    """

    shown: tuple[Candidate, ...]
    left_out: int
    probability: float | None


def select_candidates(report: AlarmReport) -> CandidateSelection:
    """Select the likeliest after a search, before it the first and the last; both ends of each culprit always."""
    candidates = report.alarm.candidates
    is_searched = any(candidate.probability is not None for candidate in candidates)
    ends = {commit for culprit in report.alarm.culprits for commit in (culprit.commits[0], culprit.commits[-1])}
    selected = _likeliest(candidates) if is_searched else _outermost(candidates)
    selected |= {number for number, candidate in enumerate(candidates) if candidate.commit.id in ends}
    left_out = [candidate.probability or 0.0 for number, candidate in enumerate(candidates) if number not in selected]
    return CandidateSelection(
        shown=tuple(candidates[number] for number in sorted(selected)),
        left_out=len(left_out),
        probability=min(1.0, sum(left_out)) if is_searched else None,
    )


def _likeliest(candidates: Sequence[Candidate]) -> set[int]:
    """Return the fewest candidates that hold most of the probability of all."""
    ranked = sorted(range(len(candidates)), key=lambda number: -(candidates[number].probability or 0.0))
    enough = _LIKELY * sum(candidate.probability or 0.0 for candidate in candidates)
    selected: set[int] = set()
    total = 0.0
    for number in ranked[:_CANDIDATES]:
        if total >= enough:
            break
        selected.add(number)
        total += candidates[number].probability or 0.0
    return selected


def _outermost(candidates: Sequence[Candidate]) -> set[int]:
    if len(candidates) <= _CANDIDATES:
        return set(range(len(candidates)))
    half = _CANDIDATES // 2
    return {*range(half), *range(len(candidates) - half, len(candidates))}
