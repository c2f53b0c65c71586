"""A message about alarms as data: title, what the sizes are of, a row for each benchmark, and links. Forms draw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.presentation.alarm_headlines import (
    clip,
    describe_cause,
    describe_change,
    describe_origin,
    describe_series,
    describe_size,
    headline,
)
from harness.presentation.numbers import format_change, format_interval
from harness.presentation.repository_links import commit_url, is_absolute, is_web_address

MOST_ROWS: Final = 20
"""Most benchmarks of a message; the page has all."""
_TITLE: Final = 250
_OF_PATHS: Final = "/+=,@~"
_OF_URLS: Final = "/+=,@~:%?&#"


class MessageRow(Struct, frozen=True):
    """A benchmark in a message.

    Attributes:
        series: Benchmark, device, and the metric unless it is the latency.
        change: `+3.10 %`.
        interval: `+2.60 … +3.60 %`, or empty.
        state: `new`, `over`, `level is back`, or empty.
        is_worse: Whether it changed for the worse.
    """

    series: str
    change: str
    interval: str
    state: str
    is_worse: bool


class MessageLink(Struct, frozen=True):
    """A link of a message, to an address that others can open."""

    label: str
    url: str


class MessageText(Struct, frozen=True):
    """A message as data. All of its texts are plain, and may contain any printable character.

    Attributes:
        title: One line.
        summary: Sentences about all rows.
        rows: Benchmarks, the largest changes first.
        left_out: How many more there are.
        links: Where to read on.
        footer: Who sends it, and where to look when no link leads there.
        is_worse: Whether there is a change for the worse that is not over.
        is_over: Whether all changes are over.
        is_update: Whether an earlier message was about some of them.
    """

    title: str
    summary: tuple[str, ...]
    rows: tuple[MessageRow, ...]
    left_out: int
    links: tuple[MessageLink, ...]
    footer: str
    is_worse: bool
    is_over: bool
    is_update: bool = False

    @property
    def announcement(self) -> str:
        """Return the title of a message that stays beside earlier ones; where it replaces them, `title` is enough."""
        return f"{self.mark} {'Update: ' if self.is_update else ''}{self.title}"

    @property
    def mark(self) -> str:
        """Return a sign for the beginning of a title."""
        return "✓" if self.is_over else "▼" if self.is_worse else "▲"


def message_text(message: AlarmMessage) -> MessageText:
    """Return a message as data."""
    largest = order_reports(message)
    if message.event is AlarmEvent.TEST:
        return _test_text(message)
    shown = largest[:MOST_ROWS]
    is_over = all(report.event is AlarmEvent.CLOSED for report in message.reports)
    return MessageText(
        title=clip(_title(largest), _TITLE),
        summary=(_describe_sizes(message.reports),),
        rows=tuple(_row(report, message) for report in shown),
        left_out=len(largest) - len(shown),
        links=tuple(_links(message, largest[0])),
        footer=_footer(message),
        is_worse=any(is_worse(report) for report in message.reports if report.event is not AlarmEvent.CLOSED),
        is_over=is_over,
        is_update=message.is_update and not is_over,
    )


def order_reports(message: AlarmMessage) -> Sequence[AlarmReport]:
    """Return the alarms of a message: those for the worse first, and of each kind the largest first."""
    return sorted(message.reports, key=lambda report: (not is_worse(report), -abs(report.alarm.size.effect.log_ratio)))


def is_worse(report: AlarmReport) -> bool:
    """Return whether an alarm is about a change for the worse."""
    return report.alarm.change.is_worse


def _test_text(message: AlarmMessage) -> MessageText:
    host = clip(message.reports[0].discovery.host)
    return MessageText(
        title=f"TEST: notifications of harness watch on {host} arrive here",
        summary=("This is a test and no alarm: nothing was measured, and nothing has to be done.",),
        rows=(),
        left_out=0,
        links=(MessageLink("results", message.page),) if message.page else (),
        footer=_footer(message),
        is_worse=False,
        is_over=True,
    )


def _title(largest: Sequence[AlarmReport]) -> str:
    present = [report for report in largest if report.event is not AlarmEvent.CLOSED]
    if len(largest) == 1:
        return headline(largest[0])
    if not present:
        return f"{len(largest)} benchmarks changed {describe_cause(largest[0])}: {largest[0].alarm.reason}"
    first, worse = present[0], sum(map(is_worse, present))
    counts = [
        f"{count} {'benchmark' if count == 1 else 'benchmarks'} became {word}"
        for count, word in ((worse, "worse"), (len(present) - worse, "better"))
        if count
    ]
    over = f", {len(largest) - len(present)} are over" if len(present) < len(largest) else ""
    most = f"{describe_series(first)} {describe_change(first)}"
    return f"{' and '.join(counts)}{over} {describe_cause(first)}; the largest: {most}"


def _describe_sizes(reports: Sequence[AlarmReport]) -> str:
    if len(reports) == 1:
        return f"{describe_size(reports[0])}."
    origins = list(dict.fromkeys(describe_origin(report.alarm.size) for report in reports))
    return f"Each size is of the changed commit against the one before it, from {' or '.join(origins)}."


def _row(report: AlarmReport, message: AlarmMessage) -> MessageRow:
    effect = report.alarm.size.effect
    is_new = message.is_update and report.alarm.identity in message.new
    return MessageRow(
        series=describe_series(report),
        change=format_change(effect.relative_change),
        interval=format_interval(effect.low_relative_change, effect.high_relative_change),
        state=describe_state(report) or ("new" if is_new else ""),
        is_worse=is_worse(report),
    )


def describe_state(report: AlarmReport) -> str:
    """Say in a word or two whether an alarm is over; empty where it is not."""
    states = {
        AlarmEvent.CLOSED: "over",
        AlarmEvent.RECOVERED: "level is back",
        AlarmEvent.REOPENED: "open again",
    }
    return states.get(report.event, "")


def _links(message: AlarmMessage, largest: AlarmReport) -> Iterator[MessageLink]:
    size = largest.alarm.size
    if message.page:
        yield MessageLink("page", message.page)
    if is_web_address(largest.diff_url):
        yield MessageLink("difference", quote(largest.diff_url, safe=_OF_URLS, errors="replace"))
    for label, commit in (("build before", size.before), ("build after", size.after)):
        if url := commit_url(largest.repository, commit):
            yield MessageLink(label, url)
    for place in largest.results[:1]:
        if url := result_url(largest.results_url, place):
            yield MessageLink("result", url)


def result_url(base: str, place: str) -> str:
    """Return the address of a file or folder of the results under which others see it; empty where there is none."""
    if is_web_address(place):
        return quote(place, safe=_OF_URLS, errors="replace")
    if not is_web_address(base) or is_absolute(place):
        return ""
    address = quote(base.rstrip("/"), safe=_OF_URLS, errors="replace")
    return f"{address}/{quote(place, safe=_OF_PATHS, errors='replace')}"


def _footer(message: AlarmMessage) -> str:
    origin = message.reports[0].discovery
    place = "" if message.page or not message.place else f"; page: {clip(message.place, 200)} in the folder of results"
    return f"harness {clip(origin.harness)} on {clip(origin.host)}{place}"
