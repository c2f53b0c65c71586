"""One commit that moves many benchmarks is one piece of news: the loop, the outbox and a chat service together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.alarm import Alarm, AlarmStage, Closing, Verification
from harness.core.change import Trend
from harness.core.culprit import Candidate, SearchResult
from harness.core.errors import DeviceLost
from harness.core.series import Series
from harness.flows.compare.requests import CompareRequest
from harness.flows.watch.alarm_channels import open_channels
from harness.flows.watch.alarm_reports import AlarmReports, page_channels
from harness.plugins import alarm_reporters
from harness.watch.closings import close_alarms
from harness.watch.loop import watch
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import State, open_state
from harness.watch.tasks import CommitOutcome, WatchTasks
from tests.reporters.channels.receiver import Receiver, Reply, receive
from tests.watch.watching import Clock, Laboratory, Line, change, confirmed, found, orders, point, whole_series

BENCHMARKS = ("mv2", "mv3", "resnet18", "mlp", "add")


@whole_series
def step(series: Series) -> Trend:
    """Find a step in any value above 4 %."""
    slow = [at for at in series.points if at.effect is not None and at.effect.log_ratio > 0.04]
    if not slow:
        return Trend()
    name = series.key.benchmark
    return Trend(changes=(change(f"step of {name}", benchmark=name, first=slow[0].control, last=slow[0].commit),))


def search(alarm: Alarm, progress: object, save: object) -> tuple[SearchResult, tuple[Candidate, ...]]:
    return found(alarm.change.first_with)


def slow_down(laboratory: Laboratory, commit: str, *benchmarks: str) -> None:
    points = [point("c0", 0.05 if name in benchmarks else 0.0, name, commit=commit) for name in BENCHMARKS]
    laboratory.answers[commit] = CommitOutcome(points=tuple(points))


@dataclass
class Watching:
    """A watcher with a page for each alarm and a hook of Slack.

    Attributes:
        state: Its state.
        line: The commits.
        folder: Folder of the results.
        laboratory: Compares them.
        clock: Its clock.
    """

    state: State
    line: Line
    folder: Path
    laboratory: Laboratory = field(default_factory=Laboratory)
    clock: Clock = field(default_factory=Clock)


def run(watching: Watching, receiver: Receiver, **tasks: object) -> None:
    state, line, folder = watching.state, watching.line, watching.folder
    pages = alarm_reporters(Settings(local_reporter=folder))
    settings, request = Settings(local_reporter=folder), CompareRequest(source="git:/src")
    reports = AlarmReports(state, line, request, settings, pages=pages)
    hooks = open_channels(None, [f"slack:{receiver.url}/services/x"], {}, folder, reports)
    channels = [*page_channels(reports), *hooks]
    given = {"verify": confirmed, "find_culprits": search, **tasks}
    every = WatchTasks(watching.laboratory.compare, step, **given)  # type: ignore[arg-type]
    watch(orders(line, since="c0"), every, state, channels=channels, timing=watching.clock.timing)


def titles(receiver: Receiver) -> list[str]:
    return [str(request.document["text"]) for request in receiver.requests]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody stands between a test and its own server."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with open_state(tmp_path / "state" / "watch.db") as opened:
        opened._database.rows("PRAGMA synchronous = OFF")
        yield opened


def test_many_benchmarks_of_one_commit_are_one_message_and_one_page(state: State, tmp_path: Path) -> None:
    watching = Watching(state, Line(["c0", "c1"]), tmp_path)
    slow_down(watching.laboratory, "c1", *BENCHMARKS)
    with receive(lambda _: Reply()) as receiver:
        run(watching, receiver)
        (title,) = titles(receiver)
    assert "5 benchmarks became worse with commit c1" in title
    assert len(list((tmp_path / "alarms").glob("*/alarm.md"))) == 5
    (page,) = (tmp_path / "alarms").glob("*/index.html")
    assert page.read_text(encoding="utf-8").count("<article") == 5
    assert state.deliveries.counts() == {DeliveryStatus.DELIVERED: 30}
    assert len(state.alarms.in_stages(AlarmStage.REPORTED)) == 5


def test_a_benchmark_that_is_verified_later_updates_the_news(state: State, tmp_path: Path) -> None:
    """Its device is away at first, and nobody waits for that."""
    watching = Watching(state, Line(["c0", "c1"]), tmp_path)
    slow_down(watching.laboratory, "c1", "mv2", "mv3")

    def verify(alarm: Alarm) -> Verification:
        if alarm.change.benchmark == "mv3":
            raise DeviceLost("unplugged")
        return confirmed(alarm)

    with receive(lambda _: Reply()) as receiver:
        run(watching, receiver, verify=verify)
        run(watching, receiver)
        first, second = titles(receiver)
    assert "mv2/xnnpack on board became 5.1 % slower" in first
    assert "Update: 2 benchmarks became worse with commit c1" in second
    (page,) = (tmp_path / "alarms").glob("*/index.html")
    assert page.read_text(encoding="utf-8").count("<article") == 2


def test_the_message_is_sent_before_a_search_among_several_commits(state: State, tmp_path: Path) -> None:
    watching = Watching(state, Line(["c0", "c1", "c2"]), tmp_path)
    slow_down(watching.laboratory, "c1")
    slow_down(watching.laboratory, "c2", "mv2")
    seen: list[int] = []

    with receive(lambda _: Reply()) as receiver:

        def long_search(alarm: Alarm, progress: object, save: object) -> tuple[SearchResult, tuple[Candidate, ...]]:
            seen.append(len(receiver.requests))
            return found("c1")

        run(watching, receiver, find_culprits=long_search)
        first, second = titles(receiver)
    assert seen == [1]
    assert "with one of 2 commits, c1 to c2" in first
    assert "Update: mv2/xnnpack on board" in second
    assert "with commit c1" in second


def test_a_person_who_closes_the_alarms_of_a_commit_makes_one_message_and_is_named_on_the_pages(
    state: State, tmp_path: Path
) -> None:
    watching = Watching(state, Line(["c0", "commit1"]), tmp_path)
    slow_down(watching.laboratory, "commit1", *BENCHMARKS)
    with receive(lambda _: Reply()) as receiver:
        run(watching, receiver)
        (page,) = (tmp_path / "alarms").glob("*/index.html")
        assert "harness alarms close" in page.read_text(encoding="utf-8")
        closing = Closing(person="ada", time=2.0, reason="the price of <b>safety</b>")
        assert len(close_alarms(state.path, "commit1", closing).alarms) == 5
        run(watching, receiver)
        opened, over = titles(receiver)
    assert opened.startswith("▼ 5 benchmarks became worse")
    assert over.startswith("✓ 5 benchmarks changed")
    assert "closed by ada" in over
    text = page.read_text(encoding="utf-8")
    assert "Closed: closed by ada: the price of &lt;b&gt;safety&lt;/b&gt;" in text
    assert "harness alarms close" not in text
    for alarm in (tmp_path / "alarms").glob("*/alarm.md"):
        assert "**Closed**: closed by ada: the price of" in alarm.read_text(encoding="utf-8")


def test_an_alarm_whose_commits_are_gone_from_the_source_is_told_to_be_closed(state: State, tmp_path: Path) -> None:
    watching = Watching(state, Line(["c0", "c1", "c2"]), tmp_path)
    slow_down(watching.laboratory, "c2", *BENCHMARKS[:1])
    with receive(lambda _: Reply()) as receiver:
        run(watching, receiver)
        watching.line.ids = ["c0", "c1", "n2"]
        run(watching, receiver)
        *_, over = titles(receiver)
    assert "history was rewritten: c2 is no longer in it" in over
    assert state.deliveries.counts() == {DeliveryStatus.DELIVERED: 9}
