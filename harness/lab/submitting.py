"""Jobs of one command in a lab, from their submission to their answers, whatever goes away meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import DeviceLost, EnvironmentProblem, UsageError
from harness.core.protocols import Display
from harness.core.result import Outcome, Result
from harness.flows.measure.plan import Failure
from harness.lab.client import AnswerLost, LabClient, LabLost, LabTask, connect
from harness.lab.configuration import load_security
from harness.lab.jobs import JobReport, LabFile, LabJob, Place, describe_file
from harness.lab.joining import find_targets
from harness.lab.targets import Target, reject_other_versions
from harness.shell import pause

_POLL_S: Final = 5.0
_AGAIN_S: Final = 2.0
"""Between attempts to reach a lab that went away."""
_MOST_SENT: Final = 5
"""How often one job is submitted: again where a host that joined since lacks its files, or a device went away. And how
often a lab may go away with nothing done in between."""
_SHORT_S: Final = 10.0
"""Jobs that are expected to take no longer are short: what passes between one and the next is a noticeable part."""


class Submission(NamedTuple):
    """Job, and the devices that may do it."""

    job: LabJob
    target: Target


class _Held(NamedTuple):
    """Job that is still to be submitted, for which time."""

    submission: Submission
    attempts: int = 1


class JobFiles:
    """Files of this machine that jobs need, by content. Each is read once."""

    def __init__(self) -> None:
        self._files: dict[Path, LabFile] = {}

    @property
    def all(self) -> Mapping[Path, LabFile]:
        """The files so far."""
        return self._files

    def add(self, path: Path, name: str) -> LabFile:
        """Add a file, and return what it is called in a lab.

        Raises:
            EnvironmentProblem: It cannot be read.
        """
        if path not in self._files:
            self._files[path] = describe_file(path, name)
        return self._files[path]

    def add_of(self, benchmark: Benchmark) -> dict[str, LabFile]:
        """Add the files of a benchmark that are on this machine, and return them by their locations."""
        return dict(self._of(benchmark))

    def _of(self, benchmark: Benchmark) -> Iterator[tuple[str, LabFile]]:
        for file in itertools.chain(benchmark.files, benchmark.input_files):
            path = Path(file.location) if file.location and "://" not in file.location else None
            if path is not None and path.is_file():  # else a host fetches or exports it, or says what is missing
                yield str(file.location), self.add(path, file.filename)


class Jobs(Protocol):
    """What a command wants to be done, and what it does with the answers."""

    def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
        """Return the first jobs. Called once."""

    def accept(self, submission: Submission, answer: JobReport) -> Sequence[Submission]:
        """Take the answer to a job, which has a report, and return further jobs."""

    def fail(self, submission: Submission, failure: Failure) -> Sequence[Submission]:
        """Take notice that a job is not done, and return further jobs."""


class Submitter:
    """Submits the jobs of one command. Ctrl-C cancels them.

    Args:
        settings: Which lab, which of its devices, and how long to wait for what went away.
        display: Shows what happens.
        jobs: The jobs.
        files: The files that they need.
        check: Called every few seconds; what it raises cancels the jobs.
        keep_doubts: Called with the devices whose results are in doubt, before the jobs and after them.
    """

    _client: LabClient

    def __init__(
        self,
        settings: Settings,
        display: Display,
        jobs: Jobs,
        files: JobFiles,
        check: Callable[[], None] = lambda: None,
        *,
        keep_doubts: Callable[[Sequence[DeviceDoubt]], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._display = display
        self._jobs = jobs
        self._files = files
        self._check = check
        self._keep_doubts = keep_doubts
        self._doubts: frozenset[DeviceDoubt] | None = None
        """Those that were known when the jobs began."""
        self._held: dict[str, deque[_Held]] = {}
        """Jobs that are still to be submitted, by what their devices have."""
        self._pending: dict[LabTask, Target] = {}
        self._ended: frozenset[LabTask] = frozenset()
        """Those of them that are done, and whose answers are still to be taken."""
        self._devices: Mapping[str, int] = {}
        """How many devices have what a job needs, as of the last look."""
        self._looked = -math.inf
        self._ids: set[str] = set()
        self._targets: Mapping[str, Target] = {}
        self._alone_since: dict[str, float] = {}
        self._quiet: dict[str, str] = {}
        """Until when jobs wait, in words, by what their devices have."""

    def run(self) -> None:
        """Submit jobs until all have an answer; those that a lab forgot, because it started again, once more.

        Raises:
            UsageError: There is no such class or device.
            EnvironmentProblem: The lab does not answer.
        """
        lost: LabLost | None = None
        lost_at, losses, left = 0.0, 0, 0
        while True:
            try:
                with connect(self._settings.lab or "", load_security(self._settings.lab_certificates)) as client:
                    self._client = client
                    if self._targets:
                        self._go_on()
                    else:
                        self._begin()
                    lost = None
                    self._wait_for_all()
                    with contextlib.suppress(LabLost, OSError):  # the next command hears of them
                        self._look_for_doubts(client.places())
            except LabLost as error:
                losses = losses + 1 if self._unanswered == left else 1
                if losses > _MOST_SENT:
                    raise
                left = self._unanswered
                self._hold_pending()
                lost, lost_at, self._alone_since = error, time.monotonic(), {}
                self._display.warn(f"! {error.message}: waiting for it{f' with {left} jobs' if left else ''}")
            except (EnvironmentProblem, UsageError):  # hosts may not have joined again
                if lost is None:
                    raise
                if time.monotonic() - lost_at > self._settings.return_timeout:
                    raise lost from None
            else:
                return
            self._check()
            pause(_AGAIN_S)

    @property
    def _unanswered(self) -> int:
        """Number of jobs without an answer, whether they are submitted or not."""
        return len(self._pending) + sum(map(len, self._held.values()))

    def _begin(self) -> None:
        places, targets = find_targets(self._client, self._settings, self._display, self._check)
        self._look_for_doubts(places)
        reject_other_versions(targets)
        submissions = self._jobs.begin(targets)
        self._targets = {target.resource: target for target in targets}
        self._hold(submissions)
        for target in targets:
            self._send_files(target.places)
        self._look()
        self._display.say(f"{len(submissions)} jobs for {', '.join(target.label for target in targets)}")

    def _go_on(self) -> None:
        """Submit the jobs that have no answer. Hosts that join later ask for files that they lack."""
        self._look()
        self._display.say(f"the lab is back: {self._unanswered} jobs were submitted again")

    def _look_for_doubts(self, places: Sequence[Place]) -> None:
        """Keep which devices are in doubt, and tell of those that are since the jobs began."""
        doubts = tuple(doubt for place in places for doubt in place.doubts)
        self._keep_doubts(doubts)
        for doubt in doubts if self._doubts is not None else ():
            if not doubt.resolved and doubt not in (self._doubts or ()):
                self._display.warn(f"! {doubt.note.message}: its results since then are in doubt")
        self._doubts = frozenset(doubts)

    def _hold(self, submissions: Sequence[Submission]) -> None:
        for submission in submissions:
            self._held.setdefault(submission.target.resource, deque()).append(_Held(submission))

    def _hold_pending(self) -> None:
        """Hold the jobs that a lab forgot, before all others."""
        for task, target in reversed(self._pending.items()):
            held = self._held.setdefault(task.resource, deque())
            held.appendleft(_Held(Submission(task.job, target), task.attempts))
        self._pending, self._ended = {}, frozenset()

    def _fill(self) -> None:
        """Submit as many jobs as there are devices for them; one where there is none.

        The scheduler gives each job to a device at once, and moves none: what is submitted before its device is there
        would all wait for the first that comes, and what two commands submit at once would wait for each other. Only
        short jobs wait at their devices, while there are more than one for each: the last ones wait here, so that they
        go to the devices that are idle first.
        """
        jobs = [task for task in self._pending if task not in self._ended]
        busy = Counter(task.resource for task in jobs)
        long = {task.resource for task in jobs if not _is_short(task.job)}
        for depth in (1, 2):  # no job waits while a device of another class is idle
            resources = list(self._held)
            while resources:  # in turn, so that all classes begin at the same time
                resources = [name for name in resources if self._submit_next(name, depth, busy, long)]

    def _submit_next(self, resource: str, depth: int, busy: Counter[str], long: set[str]) -> bool:
        """Submit the next job for a resource, unless each of its devices has so many; return whether it was."""
        held, devices = self._held[resource], max(self._devices.get(resource, 0), 1)
        if not held or busy[resource] >= depth * devices:
            return False
        (job, target), attempts = held[0]
        if busy[resource] >= devices and (resource in long or not _is_short(job) or len(held) <= devices):
            return False
        busy[resource] += 1
        if not _is_short(job):
            long.add(resource)
        self._ids.add(job.id)
        self._pending[self._client.submit(job, resource, attempts=attempts)] = target
        held.popleft()
        return True

    def _look(self) -> None:
        """Look which devices are in the lab, give up jobs that none may do, and use those that have joined."""
        self._devices, self._looked = self._client.count_devices(), time.monotonic()
        self._give_up_without_devices()
        self._fill()

    def _wait_for_all(self) -> None:
        with self._client.progress(self._ids, self._show):
            try:
                while self._unanswered:
                    self._ended = frozenset(self._client.finished(self._pending, _POLL_S))
                    self._fill()  # a device need not wait until the answer of another one is reported
                    for task in self._ended:
                        self._receive(task)
                        self._ended = frozenset(task for task in self._pending if task.is_done)
                        self._fill()
                    self._check()
                    if time.monotonic() - self._looked >= _POLL_S:
                        self._look()
                    self._fill()
            except (LabLost, OSError):
                raise  # there is nobody to cancel them
            except BaseException:
                self._client.cancel(self._pending)
                raise

    def _receive(self, task: LabTask) -> None:
        try:
            answer = self._client.result(task)
        except LabLost:
            raise
        except EnvironmentProblem as error:
            if isinstance(error, AnswerLost) and task.attempts < _MOST_SENT:  # measured or not: a result counts once
                self._display.warn(f"! {error.message}: it is done again")
                self._submit_again(task)
                return
            outcome = Outcome.DEVICE_LOST if isinstance(error, DeviceLost) else Outcome.FAILED
            self._fail(task, Failure(outcome, error.message, error.hint, is_environment_problem=True))
            return
        target = self._pending[task]
        report = answer.report
        if report is not None and not self._is_for_another(report.result, task):
            del self._pending[task]  # before anything else can be lost with the lab
            self._hold(self._jobs.accept(Submission(task.job, target), answer))
            return
        if report is not None or answer.absent:
            reason = answer.absent if report is None else report.result.reason
            self._display.warn(f"! {reason}: its jobs wait for another device of {target.label}")
            self._client.retire(answer.address)
        if task.attempts >= _MOST_SENT:
            self._fail(task, _explain_no_begin(answer, target))
            return
        if answer.missing:
            self._send_files([place for place in self._client.places() if target.accepts(place)])
        self._submit_again(task)

    def _submit_again(self, task: LabTask) -> None:
        target = self._pending[task]
        self._pending[self._client.submit(task.job, task.resource, attempts=task.attempts + 1)] = target
        del self._pending[task]

    def _is_for_another(self, result: Result, task: LabTask) -> bool:
        """Return whether a job whose device was lost is done again: by another one of its class."""
        is_last = task.attempts >= _MOST_SENT or self._pending[task].is_single
        return result.outcome is Outcome.DEVICE_LOST and not is_last

    def _send_files(self, places: Sequence[Place]) -> None:
        for problem in self._client.send_files(self._files.all, places):
            self._display.warn(f"! {problem}")

    def _fail(self, task: LabTask, failure: Failure) -> None:
        self._hold(self._jobs.fail(Submission(task.job, self._pending.pop(task)), failure))

    def _give_up_without_devices(self) -> None:
        """Fail the jobs whose devices have all been away for a while, and that none will do by itself later."""
        present = {resource for resource, count in self._devices.items() if count}
        wanted = {task.resource for task in self._pending} | {name for name, held in self._held.items() if held}
        now, absent = time.monotonic(), wanted - present
        quiet = self._find_quiet(absent) if absent else {}
        self._quiet = {resource: words for resource, words in self._quiet.items() if resource in quiet}
        for resource, words in quiet.items():
            if self._quiet.get(resource) != words:
                self._quiet[resource] = words
                label = self._targets[resource].label
                self._display.warn(f"! the lab has no device of {label} now ({words}): its jobs wait")
        absent -= quiet.keys()
        self._alone_since = {resource: since for resource, since in self._alone_since.items() if resource in absent}
        for resource in sorted(absent):
            if resource not in self._alone_since:
                self._alone_since[resource] = now
                self._display.warn(f"! the lab has no device of {self._targets[resource].label} now: waiting for one")
            elif now - self._alone_since[resource] >= self._settings.return_timeout:
                self._give_up(resource)

    def _find_quiet(self, resources: Collection[str]) -> Mapping[str, str]:
        """Return until when the first device that has a resource is quiet, in words; nothing for one without such."""
        resting = [place for place in self._client.places() if place.returns_at is not None]
        found: dict[str, str] = {}
        for resource in resources:
            own = [place for place in resting if self._targets[resource].accepts(place)]
            if own:
                found[resource] = min(own, key=lambda place: place.returns_at or 0.0).health
        return found

    def _give_up(self, resource: str) -> None:
        """Fail the jobs that need a resource."""
        reason = "all devices that could measure it left the lab, or are out of its pool"
        lost = Failure(Outcome.DEVICE_LOST, reason, is_environment_problem=True)
        given_up = [task for task in self._pending if task.resource == resource]
        self._client.cancel(given_up)
        for task in given_up:
            self._fail(task, lost)
        for (job, target), _ in self._held.pop(resource, ()):
            self._hold(self._jobs.fail(Submission(job, target), lost))

    def _show(self, device: str, kind: str, text: str) -> None:
        if kind == "warn":
            self._display.warn(f"{device}: {text}")
        elif self._settings.verbose or self._settings.debug or text.startswith("measuring"):
            self._display.say(f"{device}: {text}")


def _is_short(job: LabJob) -> bool:
    return job.expected_s is not None and job.expected_s <= _SHORT_S


def _explain_no_begin(answer: JobReport, target: Target) -> Failure:
    """Return why a job was not begun, however often it was submitted."""
    if answer.absent:
        return Failure(Outcome.DEVICE_LOST, answer.absent, "look at its cable", is_environment_problem=True)
    reason = f"hosts of {target.label} do not keep the files that they get"
    return Failure(Outcome.FAILED, reason, "look at the disks of hosts", is_environment_problem=True)
