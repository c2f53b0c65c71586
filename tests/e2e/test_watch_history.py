"""A watcher of a real repository of a real runner: what is said of which commit, and of which nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from harness.core.alarm import AlarmStage
from harness.core.change import ChangeKind
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import DeliveryStatus
from tests.cli.project import Outcome, Project
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need
from tests.e2e.watched import WORK, Watch, culprits, documents, watch_of

pytestmark = [pytest.mark.slow, MEASURING]

FEW = ("--pairs", "10")


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    need("git", "g++")
    return watch_of(Project(tmp_path, tmp_path / "cache"), every_s=4 * 3600)


def watch_commits(
    watch: Watch, count: int, places: tuple[int, int, int], chance: random.Random, gain: float
) -> Outcome:
    """Watch a history with a slower commit, one that does not build, and one that is faster or takes the first back."""
    for number in range(1, count + 1):
        slower = {places[0]: 0.06, places[2]: -gain}.get(number, 0.0)
        same = number not in {*places, places[1] + 1} and chance.random() < 0.3
        takes_back = number == places[2] and gain == 0.06
        subject = f'Revert "Change {places[0]}"' if takes_back else f"Change {number}"
        watch.work.commit(subject, slower=slower, breaks=number == places[1], same=same)
    return watch.harness("--since", watch.work.commits[0], *watch.diary, *FEW)


@pytest.mark.parametrize(
    ("count", "gain"),
    [pytest.param(48, 0.03, marks=pytest.mark.exhaustive), (40, 0.06)],  # the latter takes the culprit back
)
def test_exactly_the_culprits_among_many_commits_are_reported(tmp_path: Path, count: int, gain: float) -> None:
    need("git", "g++")
    chance = random.Random(count)
    parts = ((0.19, 0.37), (0.44, 0.59), (0.69, 0.84))
    first, second, third = (chance.randrange(int(begin * count), int(end * count)) for begin, end in parts)
    places = first, second, third
    for attempt in range(3):  # on a crowded machine the watcher may say that it cannot decide: then it says no more
        folder = tmp_path / str(attempt)
        folder.mkdir()
        watch = watch_of(Project(folder, folder / "cache"), every_s=256 * 3600 // count)
        done = watch_commits(watch, count, places, chance, gain)
        if "not confirmed: undecided" not in done.stderr:
            break
    culprit, broken, better = (watch.work.commits[place] for place in places)

    assert done.code == 1, done.stderr
    assert watch.counts() == {CommitStatus.DONE: count - 1, CommitStatus.BUILD_FAILED: 1}
    with watch.open_state() as state:
        entry = state.commits.find(broken)
        controls = {placed.control for series in state.points.every_series() for placed in series.points}
    assert entry is not None
    assert "no_such_header_anywhere.h" in entry.reason
    assert len(controls) == 2, "each week has its control"

    assert len(watch.alarms()) == 2, done.stderr
    slow, fast = watch.alarms()
    assert slow.change.kind == ChangeKind.STEP
    report = watch.report(slow)
    assert culprits(report) == [culprit]
    # Not its interval: one of 95 % may miss, and what preempts a busy machine is not in proportion to the work.
    assert report["alarm"]["search"]["culprits"][0]["effect"]["log_ratio"] == pytest.approx(0.06, abs=0.03), done.stderr
    keys_by_event = {
        event: [key for key, document in documents(watch) if document["event"] == event] for event in EVENTS
    }
    assert fast.stage is AlarmStage.REPORTED
    assert culprits(watch.report(fast)) == [better]
    if gain < 0.06:
        assert fast.change.kind is ChangeKind.IMPROVEMENT
        assert slow.stage is AlarmStage.REPORTED
        assert {event: len(keys) for event, keys in keys_by_event.items()} == {
            "confirmed": 2,
            "bisected": 2,
            "closed": 0,
        }
    else:
        assert fast.change.kind is ChangeKind.RECOVERY
        assert slow.stage is AlarmStage.CLOSED
        assert report["alarm"]["reason"] == f"taken back by {better[:12]}"
        assert {event: len(keys) for event, keys in keys_by_event.items()} == {
            "confirmed": 2,
            "bisected": 2,
            "closed": 1,
        }
    assert len(watch.notified_keys()) == len(set(watch.notified_keys())) == sum(map(len, keys_by_event.values()))
    assert set(watch.deliveries()) == {DeliveryStatus.DELIVERED}

    again = watch.harness("--since", watch.work.commits[0], *watch.diary, *FEW)
    assert again.code == 0, again.stderr
    assert len(watch.notified_keys()) == sum(map(len, keys_by_event.values())), "nothing is told twice"
    assert watch.counts() == {CommitStatus.DONE: count - 1, CommitStatus.BUILD_FAILED: 1}


EVENTS = ("confirmed", "bisected", "closed")


def test_a_commit_with_identical_bytes_does_not_hide_the_next_culprit(watch: Watch) -> None:
    watch.work.commit("Refactor", same=True)
    culprit = watch.work.commit("Do more", slower=0.15)
    for number in range(1, 5):
        watch.work.commit(f"Change {number}")
    done = watch.harness("--since", watch.work.commits[0], *watch.diary, *FEW)
    assert done.code == 1, done.stderr
    (series,) = watch.series()
    assert {placed.commit for placed in series.points} == set(watch.work.commits[1:])
    assert [placed.commit for placed in series.points if placed.metric is None] == [watch.work.commits[1]]
    (alarm,) = watch.alarms()
    assert culprits(watch.report(alarm)) == [culprit]
    assert [document["event"] for _, document in documents(watch)] == ["confirmed", "bisected"]


def test_in_a_history_with_merges_commits_of_branches_are_named_and_nothing_is_over(watch: Watch) -> None:
    """A branch that began before a regression and is merged after it neither ends nor causes it.

    The changes are large: it is about where commits are, and on a busy machine 6 % may seem to be at a later commit.
    """
    work = watch.work
    for number in range(1, 5):
        work.commit(f"Change {number}")
    before = work.commits[-1]
    slow = work.commit("Do more", slower=0.15)
    for number in range(5, 9):
        work.commit(f"Change {number}")
    work.merge("Merge documentation", {"MANUAL": "1"}, {"MANUAL": "2"}, {"MANUAL": "3"}, base=before)
    work.commit("Change 9")
    work.merge("Merge a feature", {"SIDE": "1"}, {"extra.h": f"#define EXTRA {int(0.15 * WORK)}\n"}, {"SIDE": "2"})
    feature = work.commits[-3]
    for number in range(10, 14):
        work.commit(f"Change {number}")

    done = watch.harness("--since", work.commits[0], *watch.diary, *FEW)

    assert done.code == 1, done.stderr
    line = work.git("log", "--first-parent", "--format=%H").splitlines()[::-1]
    (series,) = watch.series()
    assert list(dict.fromkeys(placed.commit for placed in series.points if placed.commit in line[1:])) == line[1:]
    assert {placed.commit for placed in series.points} <= set(line)
    reports = [watch.report(alarm) for alarm in watch.alarms() if alarm.stage is not AlarmStage.CLOSED]
    assert [culprits(report) for report in reports] == [[slow], [feature]], done.stderr
    assert [culprit["merges"] for culprit in reports[1]["alarm"]["search"]["culprits"]] == [[work.commits[-5]]]
    assert "closed" not in {document["event"] for _, document in documents(watch)}


@pytest.mark.exhaustive
def test_a_repository_may_grow_while_it_is_watched(watch: Watch) -> None:
    chance, switch = random.Random(3), watch.project.folder / "switch"
    first = watch.work.commits[0]
    slower, broken = 9, 13
    arguments = ("--since", first, "--interval", "1", "--status_file", switch, *watch.diary, *FEW)
    with watch.running(*arguments) as process:
        number = 0
        for size in (3, 5, 4, 8, 4):
            for _ in range(size):
                number += 1
                watch.work.commit(f"Change {number}", slower=0.06 if number == slower else 0.0, breaks=number == broken)
            watch.wait_until(lambda: any(watch.counts().values()), process)
            if chance.random() < 0.5:  # sometimes it catches up, sometimes it is overtaken
                watch.wait_for(watch.work.commits[-1], process)
        watch.wait_for(watch.work.commits[-1], process)
        assert watch.status()["is_alive"] is True
        switch.write_text("0\n")
        code = process.wait(120)
    assert code == 1
    assert f"{switch} contains 0" in watch.stderr
    assert watch.counts() == {CommitStatus.DONE: number - 1, CommitStatus.BUILD_FAILED: 1}
    (alarm,) = watch.alarms()
    assert culprits(watch.report(alarm)) == [watch.work.commits[slower]]
    assert [document["event"] for _, document in documents(watch)] == ["confirmed", "bisected"]
    assert len(watch.notified_keys()) == 2
    status = watch.status()
    assert (status["owner"], status["activity"]["what"]) == (None, "stopped")


@pytest.mark.parametrize("same", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_commits_that_change_nothing_raise_no_alarm(watch: Watch, same: bool) -> None:
    for number in range(1, 31):
        watch.work.commit(f"Change {number}", same=same)
    done = watch.harness("--since", watch.work.commits[0], "--pairs", "6", *watch.diary)
    assert done.code == 0, done.stderr
    assert watch.counts() == {CommitStatus.DONE: 30}
    assert watch.alarms() == []
    assert watch.notified_keys() == []
    (series,) = watch.series()
    assert {placed.commit for placed in series.points} == set(watch.work.commits[1:])
    assert all((placed.standard_error is None) is same for placed in series.points), "equal bytes are not measured"
