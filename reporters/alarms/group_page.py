"""The page of all alarms with one cause as HTML: one table, then each benchmark with its picture.

It is complete in itself: no script, and no address but those of the links. Links to results and to the pages of single
alarms are relative, so that they work wherever the folder of results is served or copied.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.core.commit import Commit
from harness.presentation.alarm_headlines import (
    clip,
    describe_change,
    describe_origin,
    describe_series,
    describe_size,
    format_effect,
    other_sizes,
    short,
)
from harness.presentation.alarm_messages import describe_state, is_worse, message_text, order_reports
from harness.presentation.numbers import format_change, format_interval
from harness.presentation.repository_links import commit_url, is_absolute, is_web_address
from harness.store.tree import encode_segment
from reporters.alarms.page import REASON, TO_RESULTS, format_time, typed
from reporters.alarms.plot import caption, picture
from reporters.html_document import escape, html_document

_PICTURES: Final = 40
"""Most pictures of a page; the others are on the pages of their alarms."""
_OF_PATHS: Final = "/+=,@~"
_OF_URLS: Final = "/+=,@~:%?&#.()!;*'$"

_ENDS: Final = {
    AlarmEvent.CLOSED: "Closed",
    AlarmEvent.RECOVERED: "Not over",
    AlarmEvent.REOPENED: "Open again",
}

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2126; --soft: #5d6772; --line: #dde2e7; --paper: #fff; --card: #f7f9fa;
  --worse: #c22f22; --better: #1f7f45; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --soft: #98a3ae; --line: #333b43; --paper: #14181c;
  --card: #1b2126; --worse: #ff7b6e; --better: #5fcf8b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; line-height: 1.3; margin: 0 0 .75rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .4rem 0; }
a { color: inherit; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .75rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: baseline; }
th, td { border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; font-size: .85rem; }
.wide td { overflow-wrap: normal; } td.name { min-width: 10rem; }
.right { text-align: right; white-space: nowrap; }
.worse { color: var(--worse); } .better { color: var(--better); } .over { color: var(--soft); }
td.right.worse, td.right.better { font-weight: 600; }
article { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .9rem 1rem;
  margin: 1rem 0; break-inside: avoid; }
img { display: block; width: 100%; height: auto; margin: .6rem 0; border-radius: 6px; }
pre { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; background: var(--paper); padding: .5rem .75rem;
  border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
.soft, summary { color: var(--soft); font-size: .9rem; }
@media (max-width: 36rem) { .origin { display: none; } th, td { padding-right: .5rem; font-size: .85rem; }
  td.name { min-width: 7rem; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
"""


_INTERVALS: Final = "Intervals hold at 95 % however often one looks; those of series only if the change is there."


def render_group(message: AlarmMessage) -> str:
    """Render the page. Whatever texts the alarms contain, the page shows them as they are."""
    text = message_text(message.model_copy(update={"is_update": False}))
    largest = order_reports(message)
    title = f"{text.mark} {text.title}"
    parts = (
        f"<h1>{escape(title)}</h1>",
        *_facts(largest[0]),
        *(_table(largest) if len(largest) > 1 else ()),
        *(f'<p class="soft">{escape(sentence)}</p>' for sentence in text.summary if len(largest) > 1),
        *(part for number, report in enumerate(largest) for part in _article(report, draws=number < _PICTURES)),
        f'<p class="soft">{escape(text.footer.partition("; page:")[0])}. {_INTERVALS}</p>',
    )
    return html_document(title, _STYLE, parts, images="data:")


def _facts(report: AlarmReport) -> Iterator[str]:
    """Yield what is the same for all benchmarks: the commits, and the difference between them."""
    size = report.alarm.size
    known = {candidate.commit.id: candidate.commit for candidate in report.alarm.candidates}
    after = known.get(size.after) or Commit(source="", id=size.after)
    rows = [
        ("commit", f"{_commit(after, report)} {escape(after.subject)}"),
        ("author", escape(after.author)),
        ("time", "" if after.time is None else f"{format_time(after.time)} UTC"),
        ("before it", _commit(known.get(size.before) or Commit(source="", id=size.before), report)),
        ("difference", _link(report.diff_url, "of the two commits") if is_web_address(report.diff_url) else ""),
        ("search", escape(report.alarm.search.reason) if report.alarm.search is not None else ""),
    ]
    yield "<dl>"
    yield from (f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows if value.strip())
    yield "</dl>"


def _commit(commit: Commit, report: AlarmReport) -> str:
    url = commit_url(report.repository, commit.id)
    return _link(url, short(commit)) if url else f"<code>{escape(short(commit))}</code>"


def _table(reports: Sequence[AlarmReport]) -> Iterator[str]:
    headings = ("benchmark", "change", "95 % interval", "measured by", "")
    yield '<div class="wide"><table><thead><tr>'
    kinds = ("", "right", "right", "origin", "")
    yield "".join(f'<th class="{kind}">{heading}</th>' for kind, heading in zip(kinds, headings, strict=True))
    yield "</tr></thead><tbody>"
    for report in reports:
        size = report.alarm.size
        effect = size.effect
        interval = format_interval(effect.low_relative_change, effect.high_relative_change)
        yield (
            f'<tr><td class="name"><a href="#{_anchor(report)}">{escape(describe_series(report))}</a></td>'
            f'<td class="right {_tone(report)}">{escape(format_change(effect.relative_change))}</td>'
            f'<td class="right">{escape(interval)}</td><td class="origin">{describe_origin(size)}</td>'
            f"<td>{describe_state(report)}</td></tr>"
        )
    yield "</tbody></table></div>"


def _article(report: AlarmReport, *, draws: bool) -> Iterator[str]:
    """Yield one benchmark: its size with where that is from, its picture, and links."""
    yield f'<article id="{_anchor(report)}"><h3>{escape(describe_series(report))} '
    yield f'<span class="{_tone(report)}">{escape(describe_change(report))}</span></h3>'
    if report.event in _ENDS:
        reason = report.alarm.reason or next(iter(report.alarm.reopened[-1:]), "")
        yield f"<p>{_ENDS[report.event]}: {escape(reason)}</p>"
    yield f"<p>{escape(describe_size(report))}</p>"
    if report.series and draws:
        data = base64.b64encode(picture(report).encode()).decode()
        yield f'<img alt="{escape(clip(report.alarm.change.metric.name))} of each commit" '
        yield f'src="data:image/svg+xml;base64,{data}"><p class="soft">{escape(caption(report))}</p>'
    others = [
        f"<li>{escape(name)}: {escape(format_effect(effect))} ({escape(commits)})</li>"
        for name, commits, effect in other_sizes(report)
    ]
    if others:
        yield f"<details><summary>other measurements of this change</summary><ul>{''.join(others)}</ul></details>"
    links = [
        _link(
            f"../{quote(encode_segment(report.alarm.identity), safe=_OF_PATHS)}/alarm.md", "all details of the alarm"
        ),
        *(_result(place) for place in report.results),
    ]
    yield f"<p>{' · '.join(links)}</p>"
    closing = f"{report.closing_command} {REASON}" if report.closing_command else ""
    for purpose, command in (("measure it again", report.command), ("close it", closing)):
        if command:
            yield f"<details><summary>to {purpose}</summary><pre>{html.escape(typed(command))}</pre></details>"
    yield "</article>"


def _result(place: str) -> str:
    """Return a link to a result, which describes both builds; a path of this machine alone is no link."""
    label = "result of the verification, with recipe, compiler and flags of both builds"
    if is_web_address(place):
        return _link(place, clip(place))
    if is_absolute(place):
        return escape(place)
    return _link(f"{TO_RESULTS}{_path(place)}", label)


def _path(place: str) -> str:
    return quote(place, safe=_OF_PATHS, errors="replace")


def _link(url: str, label: str) -> str:
    return f'<a href="{html.escape(quote(url, safe=_OF_URLS, errors="replace"))}">{escape(label)}</a>'


def _anchor(report: AlarmReport) -> str:
    return f"alarm-{sha256(report.alarm.identity.encode(errors='replace')).hexdigest()[:16]}"


def _tone(report: AlarmReport) -> str:
    if report.event is AlarmEvent.CLOSED:
        return "over"
    return "worse" if is_worse(report) else "better"
