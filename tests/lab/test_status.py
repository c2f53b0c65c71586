"""State of a lab from what its devices and its scheduler say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.core.device import Device
from harness.lab.clocks import explain_wrong_clocks
from harness.lab.jobs import Place, RunningJob, own_versions, tell_hosts_apart
from harness.lab.status import read_status

ID = "00000000-0000-0000-0000-000000000000"


def place(name: str, job: RunningJob | None = None) -> Place:
    device = Device(platform="android", identity=name, name=name)
    return Place(device=device, device_class="pixel", host="h", address=name, versions=own_versions(), job=job)


def task(title: str, state: str = "processing", address: str = "one") -> tuple[str, str, str]:
    return f"{title} {ID}", state, address if state == "processing" else ""


RUNNING = RunningJob(title="b", measuring_s=2.0, expected_s=5.0)


@pytest.mark.parametrize(
    ("job", "tasks", "doing", "waiting"),
    [
        (None, [], "", {}),
        (None, [task("a", "no-worker"), task("a", "queued")], "", {"a": 2}),
        (None, [task("a"), task("b")], "a", {"b": 1}),
        (RUNNING, [task("b"), task("a"), task("b"), task("a", "no-worker")], "b", {"a": 2, "b": 1}),
        (RUNNING, [], "b", {}),
    ],
)
def test_a_device_does_one_job_and_the_others_that_it_was_given_wait(
    job: RunningJob | None, tasks: Sequence[tuple[str, str, str]], doing: str, waiting: dict[str, int]
) -> None:
    status = read_status([place("one", job), place("two")], tasks)
    assert [device.doing for device in status.devices] == [doing, ""]
    assert status.waiting == waiting


def test_jobs_of_a_process_that_does_not_answer_are_no_less_there() -> None:
    status = read_status([place("two")], [task("a"), task("b")])
    assert status.waiting == {"b": 1}


@pytest.mark.parametrize(
    ("ahead_s", "words"), [(10800.4, "3 h ahead"), (-90.0, "2 min behind"), (59.0, ""), (-59.0, "")]
)
def test_wrong_clocks_of_hosts_are_told(ahead_s: float, words: str) -> None:
    status = read_status([place("one").model_copy(update={"clock_ahead_s": ahead_s}), place("two")], [])
    lines = explain_wrong_clocks(status.clocks)
    assert len(lines) == bool(words)
    assert all(f"the clock of h is {words}, " in line for line in lines)


@pytest.mark.parametrize(("clock", "ahead_s"), [(99.0, -1.0), (100.0, 0.0), (130.0, 0.0), (133.0, 3.0), (None, 0.0)])
def test_a_clock_is_right_if_it_is_between_question_and_answer(clock: float | None, ahead_s: float) -> None:
    asked = place("one").model_copy(update={"clock": clock})
    assert asked.compare_clock(100.0, 130.0).clock_ahead_s == ahead_s


def test_hosts_of_one_name_are_told_apart_by_their_addresses() -> None:
    phones = [
        ("tls://10.0.0.1:1", "pi"),
        ("tls://10.0.0.1:2", "pi"),
        ("tls://10.0.0.2:1", "pi"),
        ("tls://10.0.0.3:1", "mac"),
    ]
    places = [place("one").model_copy(update={"address": address, "host": host}) for address, host in phones]
    hosts = [each.host for each in tell_hosts_apart(places)]
    assert hosts == ["pi (10.0.0.1)", "pi (10.0.0.1)", "pi (10.0.0.2)", "mac"]


def test_devices_of_one_host_need_no_address() -> None:
    places = [place("one").model_copy(update={"address": f"tcp://[::1]:{port}"}) for port in (1, 2)]
    assert [each.host for each in tell_hosts_apart(places)] == ["h", "h"]
