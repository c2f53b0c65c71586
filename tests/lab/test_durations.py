"""Jobs that are expected to take longest come first, and those of which nothing is known before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device import Device
from harness.core.durations import DurationQuery
from harness.flows.measure.reporting import Reporting
from harness.lab.durations import expect_durations
from harness.lab.jobs import Place, RunningJob, own_versions
from harness.lab.measuring import MeasuringJobs
from harness.lab.sides import provide_installed
from harness.lab.status import LabDevice
from harness.lab.submitting import JobFiles
from harness.lab.targets import Target
from harness.presentation.numbers import format_duration
from harness.testing.frameworks.case import benchmark_of
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result, report_of
from reporters.local import LocalReporter

PLACE = Place(
    device=Device(platform="android", identity="one", name="one"),
    device_class="pixel",
    host="h",
    versions=own_versions(),
)
TARGET = Target("pixel", "class-pixel", (PLACE,))


def named(name: str) -> Benchmark:
    return benchmark_of("generic").model_copy(update={"identifier": name, "digest": f"digest of {name}"})


def test_the_longest_job_is_submitted_first_and_an_unknown_one_before_it() -> None:
    benchmarks = [named(name) for name in ("short", "new", "long", "newer", "middle")]
    seconds = {"digest of short": 1.0, "digest of long": 9.0, "digest of middle": 4.0}
    asked: list[DurationQuery] = []

    def find(query: DurationQuery) -> dict[str, float]:
        asked.append(query)
        return seconds

    reporting = Reporting((), RecordedProgress())
    jobs = MeasuringJobs(
        benchmarks,
        Settings(),
        reporting,
        JobFiles(),
        provide=provide_installed,
        make_id=lambda each, _: each.identifier,
        find_durations=find,
    )
    submissions = jobs.begin([TARGET])
    assert [submission.job.id for submission in submissions] == ["new", "newer", "long", "middle", "short"]
    assert [submission.job.expected_s for submission in submissions] == [None, None, 9.0, 4.0, 1.0]
    assert [query.devices for query in asked] == [("one",)]


@pytest.mark.parametrize(("pairs", "device"), [(False, "one"), (True, "class:pixel")])
def test_the_tree_of_results_is_asked_for_devices_or_for_their_class(pairs: bool, device: str, tmp_path: Path) -> None:
    asked: list[DurationQuery] = []

    def find(query: DurationQuery) -> dict[str, float]:
        asked.append(query)
        return {}

    expect_durations([named("a")], TARGET, Settings(), find, pairs=pairs)
    assert [query.devices for query in asked] == [(device,)]
    result = ok_result(device=PLACE.device)
    LocalReporter(tmp_path).report(report_of(result))
    info = result.benchmark
    benchmark = named(info.identifier).model_copy(update={"digest": info.digest})
    benchmark = benchmark.model_copy(update={"model": benchmark.model.model_copy(update={"name": info.model})})
    expected = expect_durations([benchmark], TARGET, Settings(local_reporter=tmp_path), pairs=pairs)
    assert expected == ({} if pairs else {info.digest: result.finished - result.started})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (100, "2 min"), (3600, "1 h"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people_who_wait(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("job", "health", "words"),
    [
        (None, "", "idle"),
        (None, "out of the pool: hot", "out of the pool: hot"),
        (RunningJob(title="m/a", measuring_s=12), "", "m/a, for 12 s"),
        (RunningJob(title="m/a", measuring_s=12, expected_s=132), "", "m/a, 2 min left"),
        (RunningJob(title="m/a", measuring_s=12, expected_s=2), "", "m/a, 10 s longer than expected"),
        (RunningJob(title="m/a", measuring_s=12), "checking", "checking; m/a, for 12 s"),
    ],
)
def test_the_status_says_how_long_a_job_takes(job: RunningJob | None, health: str, words: str) -> None:
    device = LabDevice(
        name="one",
        identity="one",
        device_class="pixel",
        platform="android",
        host="h",
        doing=job.title if job is not None else "",
        health=health,
        measuring_s=job.measuring_s if job is not None else None,
        expected_left_s=job.left_s if job is not None else None,
    )
    assert device.words == words
