"""The page of all alarms with one cause as HTML: one table, then each benchmark with its picture.

It is complete in itself: nothing is loaded, and no address is in it but those of the links. Links to results and to the
pages of single alarms are relative, so that they work wherever the folder of results is served or copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.core.commit import Commit
from harness.presentation.alarm_headlines import (
    clip,
    describe_change,
    describe_origin,
    describe_remeasurement,
    describe_series,
    describe_size,
    format_effect,
    other_sizes,
    short,
)
from harness.presentation.alarm_messages import describe_state, is_worse, message_text, order_reports
from harness.presentation.numbers import format_change, format_interval
from harness.presentation.repository_links import commit_url, is_absolute, is_web_address
from harness.presentation.sorting import sort_number
from harness.store.tree import encode_segment
from reporters.alarms.page import REASON, TO_RESULTS, format_time
from reporters.alarms.plot import caption, draw_series
from reporters.document.picture import Picture
from reporters.document.rendering import render_page
from reporters.document.tables import Heading, PageTable, TableCell, TableRow

_PICTURES: Final = 40
"""Most pictures of a page; the others are on the pages of their alarms."""
_OF_PATHS: Final = "/+=,@~"
_OF_URLS: Final = "/+=,@~:%?&#.()!;*'$"

_ENDS: Final = {
    AlarmEvent.CLOSED: "Closed",
    AlarmEvent.RECOVERED: "Not over",
    AlarmEvent.REOPENED: "Open again",
}

_INTERVALS: Final = "Intervals hold at 95 % however often one looks; those of series only if the change is there."


class _Fact(Struct, frozen=True):
    """Line of what is the same for all benchmarks: a link, a code, or words, whichever it has."""

    name: str
    text: str
    href: str = ""
    label: str = ""
    is_code: bool = False


class _Link(Struct, frozen=True):
    text: str
    href: str = ""


class _AlarmArticle(Struct, frozen=True):
    """One benchmark: its size with where that is from, its picture, and links.

    Attributes:
        anchor: Its place on the page.
        kind: Class of the style sheet.
        title: Series.
        change: What changed, in a word and a number.
        end: State, where it is over or open again.
        reason: Why.
        size: Size, and where that is from.
        picture: Series; None where there is none, or where the page has too many.
        caption: What a reader of the picture must know.
        others: Other measurements of the change.
        links: Links to results and to the page of the alarm.
        commands: Commands, each with its purpose.
    """

    anchor: str
    kind: str
    title: str
    change: str
    end: str
    reason: str
    size: str
    picture: Picture | None
    caption: str
    others: Sequence[str]
    links: Sequence[_Link]
    commands: Sequence[tuple[str, str]]


def render_group(message: AlarmMessage) -> str:
    """Render the page. Whatever texts the alarms contain, the page shows them as they are."""
    text = message_text(message.model_copy(update={"is_update": False}))
    largest = order_reports(message)
    title = f"{text.mark} {text.title}"
    has_several = len(largest) > 1
    return render_page(
        "reporters.alarms",
        "group.html",
        title=title,
        facts=list(_facts(largest[0])),
        table=_table(largest) if has_several else None,
        summary=text.summary if has_several else (),
        articles=[_article(report, number) for number, report in enumerate(largest)],
        footer=f"{text.footer.partition('; page:')[0]}. {_INTERVALS}",
    )


def _facts(report: AlarmReport) -> Iterator[_Fact]:
    """Yield what is the same for all benchmarks: the commits, and the difference between them."""
    size = report.alarm.size
    known = {candidate.commit.id: candidate.commit for candidate in report.alarm.candidates}
    after = known.get(size.after) or Commit(source="", id=size.after)
    before = known.get(size.before) or Commit(source="", id=size.before)
    yield _commit("commit", after, report, after.subject)
    if after.author.strip():
        yield _Fact("author", after.author)
    if after.time is not None:
        yield _Fact("time", f"{format_time(after.time)} UTC")
    yield _commit("before it", before, report, "")
    if is_web_address(report.diff_url):
        yield _Fact("difference", "", _quote_url(report.diff_url), "of the two commits")
    if report.alarm.search is not None and report.alarm.search.reason.strip():
        yield _Fact("search", report.alarm.search.reason)


def _commit(name: str, commit: Commit, report: AlarmReport, subject: str) -> _Fact:
    url = commit_url(report.repository, commit.id)
    return _Fact(name, subject, _quote_url(url) if url else "", short(commit), is_code=True)


def _table(reports: Sequence[AlarmReport]) -> PageTable:
    headings = (
        Heading("benchmark"),
        Heading("change", right=True),
        Heading("95 % interval", right=True),
        Heading("measured by"),
        Heading("state"),
    )
    count = len(headings) if any(map(describe_state, reports)) else len(headings) - 1
    rows = [TableRow(_cells(report)[:count], _tone(report)) for report in reports]
    return PageTable("benchmarks", headings[:count], rows)


def _cells(report: AlarmReport) -> Sequence[TableCell]:
    size, effect = report.alarm.size, report.alarm.size.effect
    interval = format_interval(effect.low_relative_change, effect.high_relative_change)
    return (
        TableCell(describe_series(report), is_name=True, href=f"#{_anchor(report)}"),
        TableCell(format_change(effect.relative_change), right=True, kind="value", number=effect.log_ratio),
        TableCell(interval, right=True, number=sort_number(interval)),
        TableCell(describe_origin(size)),
        TableCell(describe_state(report)),
    )


def _article(report: AlarmReport, number: int) -> _AlarmArticle:
    draws = bool(report.series) and number < _PICTURES
    closing = f"{report.closing_command} {REASON}" if report.closing_command else ""
    commands = ((f"measure it again: {describe_remeasurement(report)}", report.command), ("close it", closing))
    page = f"../{quote(encode_segment(report.alarm.identity), safe=_OF_PATHS)}/alarm.md"
    return _AlarmArticle(
        anchor=_anchor(report),
        kind=_tone(report),
        title=describe_series(report),
        change=describe_change(report),
        end=_ENDS.get(report.event, ""),
        reason=report.alarm.reason or next(iter(report.alarm.reopened[-1:]), ""),
        size=describe_size(report),
        picture=draw_series(report, f"series{number}") if draws else None,
        caption=caption(report) if draws else "",
        others=[f"{name}: {format_effect(effect)} ({commits})" for name, commits, effect in other_sizes(report)],
        links=[_Link("all details of the alarm", page), *map(_result, report.results)],
        commands=[(purpose, command) for purpose, command in commands if command],
    )


def _result(place: str) -> _Link:
    """Return a link to a result, which describes both builds; a path of this machine alone is no link."""
    if is_web_address(place):
        return _Link(clip(place), _quote_url(place))
    if is_absolute(place):
        return _Link(place)
    path = quote(place, safe=_OF_PATHS, errors="replace")
    return _Link("result of the verification, with recipe, compiler and flags of both builds", f"{TO_RESULTS}{path}")


def _quote_url(url: str) -> str:
    return quote(url, safe=_OF_URLS, errors="replace")


def _anchor(report: AlarmReport) -> str:
    return f"alarm-{sha256(report.alarm.identity.encode(errors='replace')).hexdigest()[:16]}"


def _tone(report: AlarmReport) -> str:
    if report.event is AlarmEvent.CLOSED:
        return "over"
    return "worse" if is_worse(report) else "better"
