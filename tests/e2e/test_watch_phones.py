"""A watcher of commits on phones, one of which goes away in the middle."""

from __future__ import annotations

import signal

import pytest

from harness.watch.store.commits import CommitStatus
from tests.e2e.desk import Desk, identity
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need
from tests.e2e.watched import Watch, watch_of

pytestmark = [pytest.mark.slow, MEASURING]

FEW = ("--pairs", "6")


@pytest.fixture
def watch(desk: Desk) -> Watch:
    need("git", "g++")
    watch = watch_of(desk.project)
    for number in range(1, 4):
        watch.work.commit(f"Change {number}")
    return watch


def on(desk: Desk, *select_commits: int) -> tuple[str, ...]:
    return (
        "-p",
        "android",
        "-d",
        ",".join(desk.phones[number].serial for number in select_commits),
        "--return_timeout",
        "1",
    )


def test_every_phone_has_a_series(watch: Watch, desk: Desk) -> None:
    arguments = ("--since", watch.work.commits[0], *on(desk, 0, 1), *FEW)
    done = watch.harness(*arguments, HARNESS_ADB_SERVER=desk.lab.server)
    assert done.code == 0, done.stderr
    series = watch.series()
    assert {entry.key.device for entry in series} == {identity(phone) for phone in desk.phones[:2]}
    for entry in series:
        measured = dict.fromkeys(placed.commit for placed in entry.points)  # one in doubt is measured again
        assert list(measured) == watch.work.commits[1:]


@pytest.mark.exhaustive
def test_a_commit_waits_for_its_lost_phone_to_return(watch: Watch, desk: Desk) -> None:
    phone = desk.phones[0]
    arguments = ("--since", watch.work.commits[0], *on(desk, 0), "--pairs", "40", "--precision", "0.00001")
    with watch.running(*arguments, **desk.lab.environment) as process:
        watch.wait_until(lambda: watch.stderr.count("comparing on") == 2, process)
        phone.unplug()
        assert process.wait(120) == 3
    assert "did not come back within 1 s" in watch.stderr
    lost = watch.counts()
    assert lost[CommitStatus.WAITING] >= 1
    assert CommitStatus.FAILED not in lost
    assert "did not come back" in watch.status()["last_error"]["error"]

    phone.plug()
    phone.wait_until_ready()
    done = watch.harness("--since", watch.work.commits[0], *on(desk, 0), *FEW, HARNESS_ADB_SERVER=desk.lab.server)
    assert done.code == 0, done.stderr
    assert watch.counts() == {CommitStatus.DONE: 3}
    (series,) = watch.series()
    assert list(dict.fromkeys(placed.commit for placed in series.points)) == watch.work.commits[1:]
    assert watch.status()["last_error"] is None


@pytest.mark.exhaustive
def test_two_platforms_are_measured_by_one_watcher(watch: Watch, desk: Desk) -> None:
    phone = desk.phones[0]
    arguments = ("--since", watch.work.commits[1], "--platforms", "host", "android", "--interval", "3600", *FEW)
    with watch.running(*arguments, **desk.lab.environment) as process:
        watch.wait_for(watch.work.commits[3], process)
        process.send_signal(signal.SIGTERM)
        process.wait(120)
    devices = {entry.key.device for entry in watch.series()}
    assert len(devices) == 2
    assert identity(phone) in devices
