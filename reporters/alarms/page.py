"""An alarm as Markdown: what changed first, then why that is believed, then how to see it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote

from harness.core.alarm import AlarmEvent, AlarmReport, Candidate, ChangedOperator, Culprit, Effect
from harness.core.trend import ChangeKind
from harness.presentation.markdown import escape, fence, format_table
from harness.presentation.numbers import format_change, format_evidence, format_interval, format_quantity
from harness.presentation.text import make_printable
from harness.presentation.verdicts import VerdictCategory
from reporters.alarms.headline import clipped, headline, short, stretch
from reporters.alarms.plot import caption
from reporters.alarms.suspects import guilty_ids, suspects

PICTURE: Final = "series.svg"
"""Where the page looks for the picture of its series: beside itself."""

_SUBJECT: Final = 72
_OPERATORS: Final = 10
"""Rows that a reader takes in at once."""
_OF_PATHS: Final = "/+=,@~"
_OF_URLS: Final = "/+=,@~:%?&#"
"""What stays as it is in an address; all else is percent-encoded (RFC 3986, section 2)."""
_LINKS: Final = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
"""Where GitHub and others would begin a link in plain text (GitHub Flavored Markdown, section 6.9)."""


def render(report: AlarmReport) -> str:
    """The whole page. Whatever texts the report holds, the page shows them as they are."""
    parts = (
        f"# {_mark(report)} {_plain(headline(report))}",
        *_standing(report),
        *_picture(report),
        *_commits(report),
        *_culprits(report),
        *_verification(report),
        *_operators(report),
        *_again(report),
        *_about(report),
    )
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    """Any text as Markdown that shows just that text, and makes no link of an address in it."""
    return _LINKS.sub(r"\\\g<0>", escape(text))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """The columns that tell something, of texts that make no links."""
    every = range(len(headings))
    telling = [number for number in every if any(row[number] for row in rows)] or list(every)
    shown = [[row[number] for number in telling] for row in rows]
    drawn = format_table([headings[number] for number in telling], shown, [right[number] for number in telling])
    return _LINKS.sub(r"\\\g<0>", drawn)


def _mark(report: AlarmReport) -> str:
    if report.event is AlarmEvent.CLOSED:
        return "✓"
    improved = report.kind is ChangeKind.IMPROVEMENT
    return (VerdictCategory.IMPROVEMENT if improved else VerdictCategory.REGRESSION).mark


def _standing(report: AlarmReport) -> Iterator[str]:
    """How far the alarm is."""
    if report.event is AlarmEvent.CLOSED:
        yield f"**Closed**: {_sentence(report.why or 'nothing is left to do')}"
    elif report.search is not None:
        rest = format_change(report.search.rest)
        left = f" No culprit explains the remaining {rest}." if report.culprits and rest.strip("0. %") else ""
        yield f"**Searched**: {_sentence(report.search.reason)}{left}"
    else:
        how = "by measuring it again" if report.verification is not None else "by the series alone"
        missing = "" if len(report.candidates) == 1 else " The culprit was not searched yet."
        yield f"**Confirmed** {how}.{missing}"


def _sentence(text: str) -> str:
    """With a full stop; it may begin with the name of a commit, and so begins as it does."""
    line = make_printable(text)
    return _plain(f"{line}{'' if line.endswith(('.', '!', '?')) else '.'}")


def _picture(report: AlarmReport) -> Iterator[str]:
    if report.series:
        yield f"![{_plain(clipped(report.metric))} of each commit]({PICTURE})"
        yield _plain(caption(report))


def _commits(report: AlarmReport) -> Iterator[str]:
    found, guilty = suspects(report), guilty_ids(report)
    if len(report.candidates) < 2:
        return
    yield f"## {len(report.candidates)} commits in question"
    rows = [_commit_row(one, guilty=one.commit.id in guilty) for one in found.shown]
    if rows:
        headings = ("", "commit", "subject", "author", "time (UTC)", "builds", "probability")
        yield _table(headings, rows, (False, False, False, False, False, False, True))
    if found.left_out:
        share = "" if found.probability is None else f", together {chance(found.probability)}"
        yield f"{found.left_out} more {'is' if found.left_out == 1 else 'are'} left out{_plain(share)}."


def _commit_row(one: Candidate, *, guilty: bool) -> tuple[str, ...]:
    commit = one.commit
    return (
        "►" if guilty else "",
        short(commit),
        clipped(commit.subject, _SUBJECT),
        clipped(commit.author),
        "" if commit.time is None else moment(commit.time),
        "no" if one.builds is False else "",
        "" if one.probability is None else chance(one.probability),
    )


def _culprits(report: AlarmReport) -> Iterator[str]:
    if report.culprits:
        yield "## What the search found"
        headings = ("commit", "changed it by", "95 % interval", "probability", "evidence", "proven")
        yield _table(headings, [_culprit_row(one) for one in report.culprits], (False, *[True] * 4, False))


def _culprit_row(one: Culprit) -> tuple[str, ...]:
    commits = one.commits
    return (
        short(commits[0]) if len(commits) == 1 else f"one of {len(commits)}: {stretch(commits)}",
        format_change(one.step.difference),
        format_interval(one.step.low, one.step.high),
        chance(one.probability),
        format_evidence(one.evidence),
        "yes" if one.confirmed else "no",
    )


def _verification(report: AlarmReport) -> Iterator[str]:
    yield "## Why it is believed"
    shown = f"the series: {_effect(report.change)} after commit {short(report.before)} (a {report.kind.value})"
    lines = [shown if report.kind is not ChangeKind.IMPROVEMENT else shown.replace("(a ", "(an ")]
    again = report.verification
    if again is not None:
        size = f", {_effect(again.effect)}" if again.effect is not None else ""
        cost = f"{_pairs(again.pairs)}, {format_quantity(again.seconds, 's')} of device time"
        lines.append(f"measured again: {again.verdict.value}{size} ({cost})")
    if report.search is not None and report.search.pairs:
        lines.append(f"searched: {_pairs(report.search.pairs)}")
    yield "\n".join(f"- {_plain(line)}" for line in lines)


def _pairs(count: int) -> str:
    return f"{count:,} pair{'' if count == 1 else 's'}"


def _effect(effect: Effect) -> str:
    ends = format_interval(effect.low, effect.high)
    return f"{format_change(effect.difference)} [{ends}]" if ends else format_change(effect.difference)


def _operators(report: AlarmReport) -> Iterator[str]:
    found = sorted(report.operators, key=lambda one: -abs(one.contribution or 0.0))
    if not found:
        return
    yield "## Operators that changed"
    headings = ("operator", "difference", "95 % interval", "contribution")
    yield _table(headings, [_operator_row(one) for one in found[:_OPERATORS]], (False, True, True, True))
    if len(found) > _OPERATORS:
        yield f"{len(found) - _OPERATORS} with smaller contributions are left out."


def _operator_row(one: ChangedOperator) -> tuple[str, ...]:
    added, effect = one.contribution, one.effect
    if effect is not None:
        return (
            clipped(one.name),
            format_change(effect.difference),
            format_interval(effect.low, effect.high),
            format_change(added),
        )
    return (
        clipped(one.name),
        "only in one build" if added is None else "new" if added >= 0 else "gone",
        "",
        format_change(added),
    )


def _again(report: AlarmReport) -> Iterator[str]:
    if report.command:
        yield "## To measure it again"
        # Unlike `printable` this keeps spaces as they are: an argument may hold several.
        shown = "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in report.command)
        yield fence(shown, "sh")


def _about(report: AlarmReport) -> Iterator[str]:
    """What is looked up, not read."""
    found = report.discovery
    lines = [
        _plain(f"found {moment(found.time)} UTC by harness {clipped(found.harness)} on {clipped(found.host)}"),
        _plain(f"device {clipped(report.device_name)} ({clipped(report.device)})"),
        f"alarm {_plain(report.identity)}; the same for programs: [alarm.json](alarm.json)",
        *(f"results: {_link(place)}" for place in report.results),
    ]
    yield "---"
    yield "\n".join(f"- {line}" for line in lines)
    evident = " Evidence of 100 refutes “no change” at 1 %." if report.culprits else ""
    yield f"Intervals hold at 95 % however often one looks; that of the series only if the change is there.{evident}"


def _link(place: str) -> str:
    """A folder or an address as a link; no other kind of address is left in it."""
    kind, _, rest = place.partition("://")
    web = kind in {"http", "https"}
    end = quote(rest if web else place, safe=_OF_URLS if web else _OF_PATHS, errors="replace")
    return f"[{_plain(place)}](<{f'{kind}://{end}' if web else end}>)"


def chance(probability: float) -> str:
    """A probability in whole percent."""
    if probability < 0.01:
        return "< 1 %"
    return "> 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def moment(seconds: float) -> str:
    """A time in UTC; `no date` beyond their calendar."""
    try:
        return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds):%Y-%m-%d %H:%M}"
    except OverflowError:
        return "no date"
