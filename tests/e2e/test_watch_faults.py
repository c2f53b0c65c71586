"""What goes wrong around a watcher: kills, networks, disks, a rival. Nothing is lost, and nothing is told twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.alarm import AlarmStage
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import DeliveryStatus
from tests.cli.project import Project, command
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need
from tests.e2e.watched import Watch, culprits, documents, watch_of
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, MEASURING]

FEW = ("--pairs", "8")
HOUR = ("--interval", "3600")


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    need("git", "g++")
    return watch_of(Project(tmp_path, tmp_path / "cache"))


@pytest.mark.exhaustive
def test_a_watcher_killed_at_random_counts_each_commit_once_and_notifies_once(watch: Watch) -> None:
    chance = random.Random(5)
    for number in range(1, 15):
        watch.work.commit(f"Change {number}", slower=0.04 if number == 6 else 0.0)
    arguments = ("--since", watch.work.commits[0], *watch.diary, *FEW)
    kills = 0
    for _ in range(6):
        done = watch.counts().get(CommitStatus.DONE, 0)
        with watch.running(*arguments) as process:
            wait_until(advanced(watch, done, process), 180)
            with_luck = chance.uniform(0.0, 1.2)
            try:
                process.wait(with_luck)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
    assert kills >= 5

    last = watch.harness(*arguments)

    assert last.code in {0, 1}, last.stderr
    assert watch.counts() == {CommitStatus.DONE: 14}
    (series,) = watch.series()
    points = [placed.commit for placed in series.points]
    assert list(dict.fromkeys(points)) == watch.work.commits[1:]
    with watch.open_state() as state:
        rounds = {entry.commit.id: entry.rounds for entry in state.commits.with_status(CommitStatus.DONE)}
        assert len(state.points.every_series()) == 1
        assert any("killed while it measured" in happening.text for happening in state.log.latest(100))
    assert {commit: points.count(commit) for commit in rounds} == rounds, "what was measured again has a point a round"
    (alarm,) = watch.alarms()
    assert alarm.stage is AlarmStage.REPORTED
    assert culprits(watch.report(alarm)) == [watch.work.commits[6]]
    assert [document["event"] for _, document in documents(watch)] == ["confirmed", "bisected"]
    assert set(watch.deliveries()) == {DeliveryStatus.DELIVERED}
    assert len(watch.notified_keys()) <= 3, (
        "a kill between delivering and noting it delivers once more, under the same key"
    )


def advanced(watch: Watch, done: int, process: subprocess.Popen[str]) -> Callable[[], bool]:
    return lambda: watch.counts().get(CommitStatus.DONE, 0) > done or process.poll() is not None


def test_an_unreachable_remote_is_reported_and_polled_again(watch: Watch) -> None:
    remote, away = watch.project.folder / "remote.git", watch.project.folder / "away.git"
    watch.work.git("clone", "--quiet", "--bare", str(watch.work.folder), str(remote))
    watch.work.git("remote", "add", "origin", str(remote))
    watch.work.git("fetch", "--quiet", "origin")
    arguments = ("--since", watch.work.commits[0], "--branch", "main", *FEW)
    watch.work.commit("Change 1", same=True)
    watch.work.git("push", "--quiet", "origin", "main")
    with watch.running(*arguments, "--interval", "1") as process:
        watch.wait_for(watch.work.commits[1], process)
        remote.rename(away)
        watch.wait_until(lambda: watch.status()["poll"]["failures"] >= 1, process)
        status = watch.project.harness("status")
        assert "it has failed" in status.stdout
        assert str(remote) in status.stdout
        away.rename(remote)
        watch.work.commit("Change 2", same=True)
        watch.work.git("push", "--quiet", "origin", "main")
        watch.wait_for(watch.work.commits[2], process)
    assert "no new commits can be found" in watch.stderr
    assert "the repository answers again" in watch.stderr
    assert watch.status()["poll"]["failures"] == 0


def test_a_single_poll_of_an_unreachable_remote_is_an_error(watch: Watch) -> None:
    watch.work.git("remote", "add", "origin", str(watch.project.folder / "nowhere.git"))
    watch.work.commit("Change 1", same=True)
    done = watch.harness("--since", watch.work.commits[0], *FEW)
    assert done.code == 3
    assert "no new commits can be found" in done.stderr


def test_commits_wait_for_disk_space_to_store_results(watch: Watch) -> None:
    small = watch.project.folder / "small"
    small.mkdir()
    if not mounts(small):
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse("no user namespaces here: a small disk cannot be made")
    for number in range(1, 4):
        watch.work.commit(f"Change {number}")
    arguments = ("--since", watch.work.commits[0], "--state", watch.state, *FEW)
    script = 'mount -t tmpfs -o size=24k none "$0" && exec "$@"'
    full = command(*watch.arguments(*arguments, "--local_reporter", small))
    done = subprocess.run(
        ("unshare", "-rm", "sh", "-c", script, str(small), *full),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=watch.project.folder,
        env=watch.project.environment,
    )
    assert done.returncode == 3, done.stderr
    assert "No space left" in done.stderr
    waiting = watch.counts()[CommitStatus.WAITING]
    assert waiting >= 1
    assert "stored" in watch.status()["last_error"]["error"]
    counted = sum(len(series.points) for series in watch.series())

    room = watch.harness(*arguments)
    assert room.code == 0, room.stderr
    assert watch.counts() == {CommitStatus.DONE: 3}
    (series,) = watch.series()
    points = [placed.commit for placed in series.points]
    assert list(dict.fromkeys(points)) == watch.work.commits[1:], "one in doubt is measured again"
    assert len(room.read()) == len(points) - counted, "what was counted has its result; what was not is measured now"


def mounts(folder: Path) -> bool:
    """Whether a file system can be mounted in a namespace of our own."""
    if shutil.which("unshare") is None:
        return False
    tried = ("unshare", "-rm", "mount", "-t", "tmpfs", "none", str(folder))
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def test_a_second_watcher_of_the_same_state_is_rejected_and_names_the_first(watch: Watch) -> None:
    watch.work.commit("Change 1", same=True)
    arguments = ("--since", watch.work.commits[0], *HOUR)
    with watch.running(*arguments) as first:
        watch.wait_for(watch.work.commits[1], first)
        second = watch.harness(*arguments)
        assert second.code == 3
        assert f"another watcher has the state {watch.state}: process {first.pid} on {os.uname().nodename}" in (
            second.stderr
        )
        first.send_signal(signal.SIGINT)
        assert first.wait(120) == 130
    assert watch.harness("--since", watch.work.commits[0]).code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_watcher_resumes_the_commit(watch: Watch, number: signal.Signals) -> None:
    watch.work.commit("Change 1")
    arguments = ("--since", watch.work.commits[0], "--pairs", "60", "--precision", "0.00001")
    with watch.running(*arguments) as process:
        watch.wait_until(lambda: "comparing on" in watch.stderr, process)
        process.send_signal(number)
        assert process.wait(120) == 130
    assert watch.counts() == {CommitStatus.WAITING: 1}
    with watch.open_state() as state:
        (entry,) = state.commits.with_status(CommitStatus.WAITING)
        assert entry.attempts == 0, "a person's wish is no failure"
    assert watch.harness("--since", watch.work.commits[0], *FEW).code == 0
    assert watch.counts() == {CommitStatus.DONE: 1}
