"""Jobs of a command whose lab goes away, with a client of its own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.device_doubt import DeviceDoubt
from harness.flows.measure.plan import Failure
from harness.lab import joining, submitting
from harness.lab.client import AnswerLost, LabLost, LabTask
from harness.lab.jobs import ChosenSettings, JobReport, LabFile, LabJob, Place, own_versions
from harness.lab.scheduler import last_change
from harness.lab.submitting import JobFiles, Submission, Submitter
from harness.lab.targets import LabEmpty, Target
from harness.testing.frameworks.case import benchmark_of
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result, report_of

PLACE = Place(
    device=Device(platform="android", identity="one", name="one"),
    device_class="pixel",
    host="h",
    versions=own_versions(),
)


def job(number: int) -> LabJob:
    chosen = ChosenSettings(
        run_type="benchmark",
        user=None,
        user_identifier=None,
        meta={},
        regressed_types=(),
        verbose=False,
        debug=False,
    )
    return LabJob(id=str(number), benchmark=benchmark_of("generic"), settings=chosen, versions=own_versions())


@dataclass
class _Future:
    is_done: bool = False

    def done(self) -> bool:
        return self.is_done


def _end(tasks: Sequence[LabTask]) -> Sequence[LabTask]:
    for task in tasks:
        task.future.is_done = True
    return tasks


@dataclass
class FakeClient:
    """Client that is lost after so many calls of one kind."""

    lost_in: str = ""
    after: int = 0
    submitted: list[str] = field(default_factory=list)

    def places(self) -> Sequence[Place]:
        self._count("places")
        return [PLACE]

    def count_devices(self) -> Mapping[str, int]:
        self._count("count_devices")
        return {"class-pixel": 2}

    def send_files(self, files: Mapping[Path, LabFile], places: Collection[Place]) -> Sequence[str]:
        self._count("send_files")
        return []

    def submit(self, job: LabJob, resource: str, *, attempts: int = 1) -> LabTask:
        self._count("submit")
        self.submitted.append(job.id)
        return LabTask(job, resource, cast("Any", _Future()), attempts)

    def finished(self, pending: Collection[LabTask], timeout_s: float) -> Sequence[LabTask]:
        return _end(list(pending))

    def result(self, task: LabTask) -> JobReport:
        self._count("result")
        return JobReport(report=report_of(ok_result(uid=task.job.id)))

    @contextlib.contextmanager
    def progress(self, jobs: Collection[str], show: Callable[[str, str, str], None]) -> Iterator[None]:
        yield

    def _count(self, call: str) -> None:
        if call == self.lost_in:
            self.after -= 1
            if self.after < 0:
                raise LabLost("the connection to the lab was lost")


class Jobs:
    """Three jobs, and a fourth when the first is done."""

    def __init__(self) -> None:
        self.begun = 0
        self.accepted: list[str] = []

    def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
        self.begun += 1
        self.target = targets[0]
        return [Submission(job(number), self.target) for number in range(3)]

    def accept(self, submission: Submission, answer: JobReport) -> Sequence[Submission]:
        self.accepted.append(submission.job.id)
        return [Submission(job(3), self.target)] if submission.job.id == "0" else []

    def fail(self, submission: Submission, failure: Failure) -> Sequence[Submission]:
        raise AssertionError(failure.reason)


class Failing(Jobs):
    """Jobs that may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def fail(self, submission: Submission, failure: Failure) -> Sequence[Submission]:
        self.reasons.append(failure.reason)
        return []


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("places", 0),
        ("send_files", 0),
        ("count_devices", 0),
        ("submit", 0),
        ("submit", 2),
        ("submit", 3),
        ("result", 0),
        ("result", 3),
    ],
)
def test_no_job_is_lost_or_done_twice_wherever_a_lab_goes_away(
    call: str, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = [FakeClient(call, after), FakeClient()]
    progress, jobs = RecordedProgress(), Jobs()

    @contextlib.contextmanager
    def connect(*_: object) -> Iterator[FakeClient]:
        yield clients.pop(0)

    monkeypatch.setattr(submitting, "connect", connect)
    monkeypatch.setattr(submitting, "pause", lambda _: None)
    Submitter(Settings(), progress, jobs, JobFiles()).run()
    assert sorted(jobs.accepted) == ["0", "1", "2", "3"]
    assert jobs.begun == 1
    assert clients == []


class Slow(FakeClient):
    """Client of which one job ends at a time. It knows how many jobs had not ended each time."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[int] = []

    def finished(self, pending: Collection[LabTask], timeout_s: float) -> Sequence[LabTask]:
        self.waiting.append(len(pending))
        return _end(list(pending)[:1])


def submit_to(client: FakeClient, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def connect(*_: object) -> Iterator[FakeClient]:
        yield client

    monkeypatch.setattr(submitting, "connect", connect)
    Submitter(Settings(), RecordedProgress(), jobs, JobFiles()).run()


def test_no_more_jobs_are_submitted_than_there_are_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the scheduler, which moves no job, cannot let one wait while a device is idle."""
    client, jobs = Slow(), Jobs()
    submit_to(client, jobs, monkeypatch)
    assert sorted(jobs.accepted) == ["0", "1", "2", "3"]
    assert max(client.waiting) == 2
    assert client.submitted == ["0", "1", "2", "3"]


def test_short_jobs_wait_at_their_devices_until_few_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long one waits for the device that is idle first, and so do the last ones."""

    class Timed(Jobs):
        def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
            timed = [job(number).model_copy(update={"expected_s": float(12 - number)}) for number in range(10)]
            return [Submission(each, targets[0]) for each in timed]

        def accept(self, submission: Submission, answer: JobReport) -> Sequence[Submission]:
            self.accepted.append(submission.job.id)
            return []

    client, jobs = Slow(), Timed()
    submit_to(client, jobs, monkeypatch)
    assert len(jobs.accepted) == 10
    assert client.waiting == [2, 2, 4, 4, 4, 3, 2, 2, 2, 1], "the first two take 12 and 11 s, the third takes 10"


def test_classes_get_their_jobs_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no class begins late, and no job waits while a device of another class is idle."""

    class TwoClasses(Slow):
        def count_devices(self) -> Mapping[str, int]:
            return {"class-pixel": 2, "class-iphone": 1}

    class Mixed(Jobs):
        def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
            short = [job(number).model_copy(update={"expected_s": 1.0}) for number in range(10)]
            other = replace(targets[0], label="iphone", resource="class-iphone")
            return [Submission(each, targets[0] if int(each.id) < 6 else other) for each in short]

        def accept(self, submission: Submission, answer: JobReport) -> Sequence[Submission]:
            self.accepted.append(submission.job.id)
            return []

    client, jobs = TwoClasses(), Mixed()
    submit_to(client, jobs, monkeypatch)
    assert len(jobs.accepted) == 10
    assert client.submitted[:6] == ["0", "6", "1", "2", "7", "3"], "one at each of three devices, then one behind it"


class Young(FakeClient):
    """Client of a lab that began a while ago, and whose hosts join after so many looks."""

    def __init__(self, age_s: float, looks: int) -> None:
        super().__init__()
        self.began_s, self.looks = age_s, looks

    def last_change(self) -> tuple[str, float]:
        return "the lab began", self.began_s

    def places(self) -> Sequence[Place]:
        self.looks -= 1
        return [] if self.looks >= 0 else [PLACE]


def test_a_lab_that_has_just_begun_gets_time_for_its_hosts_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "pause", lambda _: None)
    jobs = Jobs()
    submit_to(Young(4.0, looks=2), jobs, monkeypatch)
    assert sorted(jobs.accepted) == ["0", "1", "2", "3"]
    with pytest.raises(LabEmpty):
        submit_to(Young(31.0, looks=2), Jobs(), monkeypatch)


def test_a_process_that_ended_a_moment_ago_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_000.0)
    old = SimpleNamespace(time_started=100.0, get_events=lambda _: ((200.0, {"action": "add-worker"}),))
    assert last_change(cast("Any", old)) == ("the lab began", 900.0)
    left = ((990.0, {"action": "remove-worker"}), (995.0, {"action": "add-client"}))
    assert last_change(cast("Any", SimpleNamespace(time_started=100.0, get_events=lambda _: left))) == (
        "one of its processes ended",
        10.0,
    )


def test_a_lab_whose_clock_was_set_back_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "pause", lambda _: None)
    monkeypatch.setattr(joining, "_JOINING_S", 0.05)
    with pytest.raises(LabEmpty):
        submit_to(Young(-10_800.0, looks=10**9), Jobs(), monkeypatch)


def test_jobs_of_a_class_that_is_out_of_the_pool_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its devices are in the lab, and get no jobs: after a while they count as away."""

    class Sick(FakeClient):
        def count_devices(self) -> Mapping[str, int]:
            return {}

        def finished(self, pending: Collection[LabTask], timeout_s: float) -> Sequence[LabTask]:
            return []

        def cancel(self, pending: Collection[LabTask]) -> None:
            pass

    @contextlib.contextmanager
    def connect(*_: object) -> Iterator[FakeClient]:
        yield Sick()

    monkeypatch.setattr(submitting, "connect", connect)
    jobs = Failing()
    Submitter(Settings(return_timeout=0.0), RecordedProgress(), jobs, JobFiles()).run()
    assert len(jobs.reasons) == 3
    assert "out of its pool" in jobs.reasons[0]


@pytest.mark.parametrize(("lost", "again", "failed"), [(1, 4, 0), (4, 16, 0), (100, 12, 3)])
def test_jobs_whose_answer_is_lost_are_done_again_five_times_at_most(
    lost: int, again: int, failed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forgetful(FakeClient):
        def result(self, task: LabTask) -> JobReport:
            if task.attempts <= lost:
                raise AnswerLost("the answer of m/a did not come")
            return super().result(task)

    @contextlib.contextmanager
    def connect(*_: object) -> Iterator[FakeClient]:
        yield Forgetful()

    monkeypatch.setattr(submitting, "connect", connect)
    jobs, progress = Failing(), RecordedProgress()
    Submitter(Settings(), progress, jobs, JobFiles()).run()
    assert len(jobs.reasons) == failed
    assert len([line for line in progress.warnings if "it is done again" in line]) == again


def test_doubts_about_devices_are_kept_before_and_after_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    doubt = DeviceDoubt(identity="one", name="one", device_class="pixel", since=1.0, until=2.0, reason="drift")

    class Checked(FakeClient):
        doubts: tuple[DeviceDoubt, ...] = ()

        def places(self) -> Sequence[Place]:
            return [PLACE.model_copy(update={"doubts": self.doubts})]

        def result(self, task: LabTask) -> JobReport:
            self.doubts = (doubt,)
            return super().result(task)

    @contextlib.contextmanager
    def connect(*_: object) -> Iterator[FakeClient]:
        yield Checked()

    monkeypatch.setattr(submitting, "connect", connect)
    kept: list[Sequence[DeviceDoubt]] = []
    progress = RecordedProgress()
    Submitter(Settings(), progress, Jobs(), JobFiles(), keep_doubts=kept.append).run()
    assert kept == [(), (doubt,)]
    assert [line for line in progress.warnings if "its results since then are in doubt" in line]


def test_jobs_wait_for_the_end_of_quiet_hours_however_long_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Quiet(FakeClient):
        looks = 0

        def places(self) -> Sequence[Place]:
            return [PLACE.model_copy(update={"health": "quiet hours until 07:00", "returns_at": 1.0})]

        def count_devices(self) -> Mapping[str, int]:
            self.looks += 1
            return {} if self.looks < 5 else {"class-pixel": 1}

        def finished(self, pending: Collection[LabTask], timeout_s: float) -> Sequence[LabTask]:
            return [] if self.looks < 5 else list(pending)

    @contextlib.contextmanager
    def connect(*_: object) -> Iterator[FakeClient]:
        yield Quiet()

    monkeypatch.setattr(submitting, "connect", connect)
    monkeypatch.setattr(submitting, "_POLL_S", 0.0)
    progress, jobs = RecordedProgress(), Jobs()
    Submitter(Settings(return_timeout=0.0), progress, jobs, JobFiles()).run()
    assert sorted(jobs.accepted) == ["0", "1", "2", "3"]
    told = "! the lab has no device of pixel now (quiet hours until 07:00): its jobs wait"
    assert progress.warnings == [told]
