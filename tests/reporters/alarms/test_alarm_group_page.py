"""The page of all alarms with one cause, read back as HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.core.alarm import AlarmEvent, AlarmReport
from harness.core.alarm_message import AlarmMessage
from harness.core.errors import ReporterFailed
from harness.core.values import replace_surrogates
from harness.presentation.alarm_messages import message_text
from harness.store.tree import encode_segment
from reporters.alarms.folder import AlarmFolder
from reporters.alarms.group_page import render_group
from reporters.channels import mattermost, slack, teams
from tests.reporters.alarms.alarm_samples import bisected_step, changed, closed
from tests.reporters.alarms.any_alarm import reports
from tests.reporters.channels import schemas
from tests.reporters.channels.messages import ALL, BETTER, MANY, NASTY, ONE, message, step

VOID = {"meta"}


class Page(HTMLParser):
    """Tags, links and texts of a page; every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        assert not [name for name in values if name.startswith("on")]
        self.tags.append(tag)
        self.links += [values["href"] or ""] if "href" in values else []
        self.sources += [values["src"] or ""] if "src" in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.mark.parametrize("name", ALL)
def test_a_page_is_complete_in_itself(name: str) -> None:
    page = Page(render_group(ALL[name]))
    assert not {"img", "iframe", "link", "form", "object"} & set(page.tags)
    assert page.tags.count("script") == 1, "that which sorts tables"
    assert page.sources == []
    for link in page.links:
        assert link.startswith(("https://", "http://", "#", "../")), link


def test_one_commit_is_one_page_with_a_table_and_a_size_for_each_benchmark() -> None:
    page = Page(render_group(MANY))
    assert page.tags.count("table") == 1
    assert page.tags.count("tr") == 51
    assert page.tags.count("article") == 50
    assert page.text.index("model49/xnnpack_q8") < page.text.index("model0/xnnpack_q8")
    assert page.text.count("736ae249736a “Use a slower loop”") == 2, "in title and heading, not for each benchmark"


def test_other_measurements_are_labelled_detail() -> None:
    """They stand behind the size, in an element that is closed at first."""
    text = render_group(ONE)
    assert text.count("+3.12 %") == 1
    begin, end = text.index("<details><summary>other measurements"), text.index("</details>")
    assert begin < text.index("+3.12 %") < end
    assert "+3.10 %" not in text[begin:end]


def test_changes_for_the_worse_come_first() -> None:
    page = Page(render_group(message(*BETTER.reports, step(1, 0.01))))
    assert page.text.index("model1") < page.text.index("tokens_per_second")


def test_links_to_pages_and_results_are_relative_to_the_folder_of_results(tmp_path: Path) -> None:
    reporter = AlarmFolder(tmp_path / "alarms")
    result = tmp_path / "Pixel 8/executorch/mv2/0"
    result.mkdir(parents=True)
    reports = [changed(bisected_step(), identity=identity) for identity in ("a/b", "c")]
    for report in reports:
        reporter.report(report)
    file = Path(reporter.report_group(message(*reports, group="a/b")))
    assert file == tmp_path / reporter.group_place("a/b")
    links = [link for link in Page(file.read_text(encoding="utf-8")).links if link.startswith("../")]
    targets = {(file.parent / unquote(link)).resolve() for link in links}
    assert targets == {result, *(tmp_path / "alarms" / encode_segment(name) / "alarm.md" for name in ("a/b", "c"))}
    assert all(target.exists() for target in targets)


def test_a_path_of_this_machine_is_no_link() -> None:
    page = Page(render_group(NASTY))
    assert "/srv/a) b>c" in page.text
    assert not [link for link in page.links if "/srv" in link or link.startswith(("file:", "javascript:"))]


def test_an_alarm_that_is_over_says_why() -> None:
    over = message(closed(), step(1, 0.02), event=AlarmEvent.BISECTED)
    page = Page(render_group(over))
    assert "Closed: taken back by" in page.text


def test_texts_are_shown_and_are_no_markup() -> None:
    text = render_group(NASTY)
    assert text.count("<script") == 1, "that which sorts tables"
    assert "<img src=x>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "alarms").write_text("", encoding="utf-8")
    with pytest.raises(ReporterFailed, match="cannot write the page of alarms"):
        AlarmFolder(tmp_path / "alarms").report_group(ONE)


def test_a_message_is_read_back_as_it_was_written() -> None:
    assert AlarmMessage.model_validate_json(NASTY.model_dump_json()) == NASTY


@pytest.mark.slow
@given(st.lists(reports, min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=25)
def test_any_alarms_make_a_page_and_messages(alarms: list[AlarmReport]) -> None:
    text = replace_surrogates(message(*alarms))
    page = Page(render_group(text))
    assert all(link.startswith(("https://", "http://", "#", "../")) for link in page.links)
    assert page.tags.count("article") == len(alarms)
    shown = message_text(text)
    jsonschema.validate(slack.document(shown), schemas.SLACK)
    jsonschema.validate(teams.document(shown), schemas.TEAMS)
    jsonschema.validate(mattermost.document(shown), schemas.MATTERMOST)
    assert "\n" not in shown.title
