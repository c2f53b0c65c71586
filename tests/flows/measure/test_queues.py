"""Who measures what, when several devices share the work and some of them are lost."""

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

from harness.core.benchmark import Benchmark, Model, Origin
from harness.core.build import Build
from harness.core.measurement import Job
from harness.flows.measure.queues import Own, Pool, Share


def job(name: str) -> Job:
    benchmark = Benchmark(
        id=0,
        model=Model(name="model", format="none"),
        identifier=name,
        metric="delay",
        framework="generic",
        origin=Origin(file=Path("spec.json")),
        digest=name,
    )
    return Job(benchmark, Build(source="none", commit="none"))


def names(jobs: object) -> list[str]:
    assert isinstance(jobs, list)
    return [one.benchmark.identifier for one in jobs]


def work(
    share: Share, lost_after: int | None = None, together: Callable[[], object] = lambda: None
) -> tuple[list[str], list[str]]:
    """What a device measured, and what it told as lost. With its first job it waits for the others."""
    done: list[str] = []
    while (one := share.take()) is not None:
        if len(done) == lost_after:
            return done, names(list(share.abandon()))
        if not done:
            together()
        time.sleep(0.001)
        done.append(one.benchmark.identifier)
        share.done()
    return done, []


def test_a_device_with_a_share_of_its_own_gives_up_what_it_was_doing_first() -> None:
    own = Own([job("a"), job("b"), job("c")])
    own.take()
    own.done()
    own.take()
    assert names(list(own.abandon())) == ["b", "c"]
    assert (own.left, own.take()) == (False, None)


def test_a_pool_hands_out_each_job_once() -> None:
    pool = Pool({device: {number: job(str(number)) for number in range(40)} for device in "ABC"})
    everybody = threading.Barrier(3, timeout=60)
    with ThreadPoolExecutor(3) as threads:
        running = [threads.submit(work, pool.of(device), together=everybody.wait) for device in "ABC"]
        results = [one.result() for one in running]
    done = [name for measured, _ in results for name in measured]
    assert sorted(done, key=int) == [str(number) for number in range(40)]
    assert all(measured for measured, _ in results)


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=5), st.integers(1, 12))
def test_no_job_is_lost_or_done_twice_whichever_devices_are_lost(fates: list[int | None], count: int) -> None:
    devices = [str(number) for number in range(len(fates))]
    pool = Pool({device: {number: job(str(number)) for number in range(count)} for device in devices})
    with ThreadPoolExecutor(len(devices)) as threads:
        running = [threads.submit(work, pool.of(device), fate) for device, fate in zip(devices, fates, strict=True)]
        results = [one.result() for one in running]
    told = Counter(name for done, lost in results for name in (*done, *lost))
    assert told == Counter(str(number) for number in range(count))


def test_what_two_devices_were_lost_with_is_not_tried_on_a_third() -> None:
    pool = Pool({device: {0: job("killer")} for device in "ABC"})
    for device in "AB":
        assert pool.take(device) is not None
        lost = names(list(pool.abandon(device)))
        assert lost == ([] if device == "A" else ["killer"])
    assert pool.take("C") is None


def test_a_device_does_only_what_it_can() -> None:
    pool = Pool({"A": {0: job("small")}, "B": {0: job("small"), 1: job("large")}})
    assert work(pool.of("A"))[0] == ["small"]
    assert work(pool.of("B"))[0] == ["large"]


def test_an_idle_device_waits_for_what_may_come_back() -> None:
    pool = Pool({device: {0: job("one")} for device in "AB"})
    assert pool.take("A") is not None
    got: list[Job | None] = []
    waiting = threading.Thread(target=lambda: got.append(pool.take("B")))
    waiting.start()
    pool.abandon("A")
    waiting.join(60)
    assert got[0] is not None


def test_who_gave_up_has_nothing_left_to_give_up() -> None:
    pool = Pool({device: {0: job("one")} for device in "AB"})
    share = pool.of("A")
    assert share.take() is not None
    assert list(share.abandon()) == list(share.abandon()) == []
    assert not share.left
    assert names(list(pool.abandon("B"))) == ["one"]
