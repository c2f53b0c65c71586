"""Work queues of several devices, some of which are lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.benchmark import Benchmark, Model, SpecificationPlace
from harness.core.build import Build
from harness.core.measurement import Job
from harness.flows.measure.queues import DedicatedQueue, SharedQueue, WorkQueue


def job(name: str) -> Job:
    benchmark = Benchmark(
        id=0,
        model=Model(name="model", format="none"),
        identifier=name,
        metric="delay",
        framework="generic",
        origin=SpecificationPlace(file=Path("spec.json")),
        digest=name,
    )
    return Job(benchmark, Build(source="none", commit="none"))


def names(jobs: object) -> list[str]:
    assert isinstance(jobs, list)
    return [named.benchmark.identifier for named in jobs]


def work(
    queue: WorkQueue, lost_after: int | None = None, together: Callable[[], object] = lambda: None
) -> tuple[list[str], list[str]]:
    """Return the jobs that a device measured and those that it reported as lost.

    At its first job it waits for the other devices.
    """
    measured: list[str] = []
    while (next_job := queue.get()) is not None:
        if len(measured) == lost_after:
            return measured, names(list(queue.drain()))
        if not measured:
            together()
        time.sleep(0.001)
        measured.append(next_job.benchmark.identifier)
        queue.acknowledge()
    return measured, []


def test_a_dedicated_queue_drains_its_current_job_first() -> None:
    queue = DedicatedQueue([job("a"), job("b"), job("c")])
    queue.get()
    queue.acknowledge()
    queue.get()
    assert names(list(queue.drain())) == ["b", "c"]
    assert (queue.has_work, queue.get()) == (False, None)


def test_a_shared_queue_hands_out_each_job_once() -> None:
    queue = SharedQueue({device: {number: job(str(number)) for number in range(40)} for device in "ABC"})
    all_devices = threading.Barrier(3, timeout=60)
    with ThreadPoolExecutor(3) as threads:
        running = [threads.submit(work, queue.for_device(device), together=all_devices.wait) for device in "ABC"]
        results = [device.result() for device in running]
    done = [name for measured, _ in results for name in measured]
    assert sorted(done, key=int) == [str(number) for number in range(40)]
    assert all(measured for measured, _ in results)


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=5), st.integers(1, 12))
def test_no_job_is_lost_or_done_twice_whichever_devices_are_lost(losses: list[int | None], count: int) -> None:
    devices = [str(number) for number in range(len(losses))]
    queue = SharedQueue({device: {number: job(str(number)) for number in range(count)} for device in devices})
    with ThreadPoolExecutor(len(devices)) as threads:
        running = [
            threads.submit(work, queue.for_device(device), loss) for device, loss in zip(devices, losses, strict=True)
        ]
        results = [device.result() for device in running]
    reported = Counter(name for measured, lost in results for name in (*measured, *lost))
    assert reported == Counter(str(number) for number in range(count))


def test_a_job_that_lost_two_devices_is_not_tried_on_a_third() -> None:
    queue = SharedQueue({device: {0: job("killer")} for device in "ABC"})
    for device in "AB":
        assert queue.get(device) is not None
        lost = names(list(queue.drain(device)))
        assert lost == ([] if device == "A" else ["killer"])
    assert queue.get("C") is None


def test_a_device_gets_only_jobs_that_it_supports() -> None:
    queue = SharedQueue({"A": {0: job("small")}, "B": {0: job("small"), 1: job("large")}})
    assert work(queue.for_device("A"))[0] == ["small"]
    assert work(queue.for_device("B"))[0] == ["large"]


def test_an_idle_device_waits_for_jobs_that_may_be_returned() -> None:
    queue = SharedQueue({device: {0: job("one")} for device in "AB"})
    assert queue.get("A") is not None
    received: list[Job | None] = []
    waiting = threading.Thread(target=lambda: received.append(queue.get("B")))
    waiting.start()
    queue.drain("A")
    waiting.join(60)
    assert received[0] is not None


def test_a_drained_queue_is_empty() -> None:
    queue = SharedQueue({device: {0: job("one")} for device in "AB"})
    device = queue.for_device("A")
    assert device.get() is not None
    assert list(device.drain()) == list(device.drain()) == []
    assert not device.has_work
    assert names(list(queue.drain("B"))) == ["one"]
