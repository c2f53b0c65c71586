"""`harness lab dispatch`: runs that persons ask for at a server of results, measured in a lab.

The specifications are those of the command line that started it: what arrives from the server are names, which are
looked up among them. So are repositories; names of commits are looked up in mirrors of these.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.commit import Commit, name_of_request
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem, ExitCode, HarnessError, ReporterFailed, UsageError
from harness.core.outcome import Outcome
from harness.core.protocols import Display
from harness.core.result import Report
from harness.flows.compare.commits import SilentDisplay
from harness.flows.compare.reproduction import ComparedSides
from harness.flows.compare.requests import CompareRequest, open_cache
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.runners import CommitRunner
from harness.flows.measure.submodules import selected_submodules
from harness.lab.allow_list import AllowList
from harness.lab.comparing import LabComparison, choose_parameters, report_comparison
from harness.lab.configuration import load_security
from harness.lab.engine import Engine, LabLost, LabSilent, connect
from harness.lab.jobs import result_uid
from harness.lab.measuring import measure
from harness.lab.repositories import FoundCommits
from harness.lab.request_queue import QueueSilent, RequestLost, RequestQueue, StoredOutcome
from harness.lab.sides import ProvideRunner, provide_commits, provide_installed, provide_runner
from harness.lab.status import LabDevice, read_status
from harness.lab.submitting import JobFiles
from harness.lab.targets import LabEmpty, NoSuchClass
from harness.shell import Interrupted, check_stopping, pause
from harness.store.run_requests import LabOffer, OfferedDevice, RequestState, RunRequest
from reporters.remote import RemoteReporter
from reporters.remote import create as create_remote_reporter

LEASE_S: Final = 60.0
CATEGORY: Final = "on demand"
"""Category of the results."""
_AWAY: Final = (Interrupted, LabEmpty, LabLost, LabSilent, NoSuchClass)
"""Why a request goes back that is not to blame for it."""
_WORDS: Final = 300
"""Characters of what a page shows of a device."""
_OFFER_S: Final = 20.0
"""How often the lab is asked for its devices, and its offer repeated."""
_POLL_S: Final = 3.0
"""How often the server is asked for requests."""
_REPORT_S: Final = 120.0
"""How long a server that answers may leave out results that were sent to it."""
_END_S: Final = 90.0
_NAMESPACE: Final = uuid.UUID("a4a3c9a8-0b7b-5c52-8f0e-0e1f6d2f9b13")


class _Outcomes:
    """Listener that keeps how each result ended."""

    name = "outcomes"

    def __init__(self) -> None:
        self.all: dict[str, StoredOutcome] = {}

    def report(self, report: Report) -> None:
        result = report.result
        self.all[result.uid] = StoredOutcome(uid=result.uid, outcome=result.outcome, reason=result.reason)

    def close(self) -> None:
        pass


class _OnceReporter:
    """Reporter of results that the server does not have: of a comparison that goes on, it has some.

    Args:
        reporter: Reports them.
        queue: Asks the server.
    """

    def __init__(self, reporter: RemoteReporter, queue: RequestQueue) -> None:
        self._reporter = reporter
        self._queue = queue
        self.name = reporter.name

    def report(self, report: Report) -> None:
        """Report a result, unless the server has it."""
        with contextlib.suppress(QueueSilent):
            if self._queue.find_outcome(report.result.uid) is not None:
                return
        self._reporter.report(report)

    def close(self) -> None:
        """Close the reporter."""
        self._reporter.close()


@dataclass(slots=True)
class _Lease:
    """Request that is this lab's as long as it renews the lease, which a thread does."""

    queue: RequestQueue
    request: RunRequest
    claim: str
    lease_s: float
    _ended: threading.Event = field(default_factory=threading.Event)
    _lost: list[RequestLost] = field(default_factory=list)

    @contextlib.contextmanager
    def keep(self) -> Iterator[None]:
        thread = threading.Thread(target=self._renew, name=f"lease of {self.request.id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(_END_S)

    def check(self) -> None:
        """Raise `RequestLost` if it is no longer this lab's, and `Interrupted` if this process is being stopped."""
        check_stopping()
        if self._lost:
            raise self._lost[0]

    def _renew(self) -> None:
        while not self._ended.wait(self.lease_s / 3):
            try:
                self.queue.renew(self.request.id, self.claim, self.lease_s)
            except RequestLost as error:
                self._lost.append(error)
                return
            except HarnessError:
                continue  # it keeps the request, and says so as soon as it answers


class Dispatcher:
    """Takes requests from a server as long as the lab has devices for them, until a signal ends it.

    Each class of devices gets as many requests at once as it has devices.

    Args:
        queue: Queue of the server.
        allowed: What persons may ask for.
        settings: Which lab.
        display: Shows what happens.
        lease_s: How long a request is this process's that does not renew it, in seconds.
    """

    def __init__(
        self,
        queue: RequestQueue,
        allowed: AllowList,
        settings: Settings,
        display: Display,
        lease_s: float = LEASE_S,
    ) -> None:
        self._queue = queue
        self._allowed = allowed
        self._settings = settings
        self._display = display
        self._lease_s = lease_s
        self._threads: dict[threading.Thread, str] = {}
        """Those that measure, with the class of the device."""
        self._claim = str(uuid.uuid4())
        self._problem = ""
        self._doubts: tuple[DeviceDoubt, ...] = ()

    def run(self) -> ExitCode:
        """Take requests until a signal ends it; those that are measured then go back into the queue.

        Raises:
            EnvironmentProblem: The server refuses it.
        """
        self._announce({})
        self._send_earlier()
        names = ", ".join(self._allowed.specifications)
        self._display.say(f"takes requests from {self._queue.address} for {names}")
        try:
            while True:
                try:
                    with connect(self._settings.lab or "", load_security(self._settings.lab_certificates)) as engine:
                        self._serve(engine)
                except EnvironmentProblem as problem:
                    self._warn(problem)
                    with contextlib.suppress(EnvironmentProblem):
                        self._announce({})
                pause(_POLL_S)
        except (KeyboardInterrupt, Interrupted):
            for thread in tuple(self._threads):
                thread.join(_END_S)
        return ExitCode.OK

    def _serve(self, engine: Engine) -> None:
        """Take requests while the lab is there.

        Raises:
            EnvironmentProblem: Lab or server went away.
        """
        looked, classes = 0.0, Counter[str]()
        while True:
            now = time.monotonic()
            if not looked or now - looked >= _OFFER_S:
                places = engine.places()
                looked, classes = now, Counter(place.device_class for place in places if not place.health)
                self._tell_doubts(tuple(doubt for place in places for doubt in place.doubts))
                resting = Counter(place.device_class for place in places if place.returns_at is not None)
                self._announce(classes | resting, read_status(places, engine.list_tasks()).devices)
                self._problem = ""
            self._threads = {thread: name for thread, name in self._threads.items() if thread.is_alive()}
            free = classes - Counter(self._threads.values())
            if not free or not self._take(sorted(free)):
                pause(_POLL_S)

    def _tell_doubts(self, doubts: tuple[DeviceDoubt, ...]) -> None:
        """Let the server know of which devices its results are in doubt, when that changes."""
        if doubts == self._doubts:
            return
        try:
            self._open_reporter().keep_doubts(doubts)
        except ReporterFailed as problem:
            self._warn(problem)
        else:
            self._doubts = doubts

    def _announce(self, classes: Mapping[str, int], devices: Sequence[LabDevice] = ()) -> None:
        """Announce the specifications, and the devices that are there with their classes.

        Raises:
            EnvironmentProblem: The server refuses.
        """
        offer = LabOffer(
            specifications=tuple(each.offered for each in self._allowed.specifications.values()),
            device_classes=tuple(sorted(classes)),
            repositories=tuple(sorted(self._allowed.repositories)),
            devices=tuple(
                OfferedDevice(
                    name=device.name,
                    identity=device.identity,
                    device_class=device.device_class,
                    platform=device.platform,
                    host=device.host,
                    is_available=not device.health,
                    words=device.words[:_WORDS],
                )
                for device in devices
            ),
        )
        try:
            self._queue.announce(offer)
        except QueueSilent as problem:
            self._warn(problem)

    def _take(self, device_classes: Sequence[str]) -> bool:
        """Begin the next request; return whether there was one."""
        try:
            request = self._queue.claim(self._claim, device_classes, self._lease_s)
        except QueueSilent as problem:
            self._warn(problem)
            return False
        if request is None or request.state is not RequestState.RUNNING:
            return False
        lease = _Lease(self._queue, request, self._claim, self._lease_s)
        self._claim = str(uuid.uuid4())
        thread = threading.Thread(target=self._handle, args=(lease,), name=f"request {request.id}")
        self._threads[thread] = request.device_class
        thread.start()
        return True

    def _handle(self, lease: _Lease) -> None:
        """Measure a request, and say what became of it. Whatever goes wrong gives it back."""
        request = lease.request
        title = _title_of(request)
        self._display.say(f"{request.person} asks for {title} on {request.device_class}")
        try:
            with lease.keep():
                self._measure(lease)
        except RequestLost as problem:
            self._display.warn(f"! {title} of {request.person}: {problem.message}")
        except HarnessError as problem:
            reason = "the lab was stopped" if isinstance(problem, Interrupted) else problem.message
            self._give_back(lease, reason, is_counted=not isinstance(problem, _AWAY))
        except Exception as problem:  # noqa: BLE001 - isolation of one request: others go on
            self._give_back(lease, f"{type(problem).__name__}: {problem}")

    def _give_back(self, lease: _Lease, reason: str, *, is_counted: bool = True) -> None:
        """Put a request back into the queue, which fails it where that happens often and is counted."""
        self._display.warn(f"! {_title_of(lease.request)} of {lease.request.person} goes back into the queue: {reason}")
        with contextlib.suppress(HarnessError):  # else its lease ends
            self._queue.release(lease.request.id, lease.claim, reason, is_counted=is_counted)

    def _measure(self, lease: _Lease) -> None:
        """Measure what the server does not have yet, and finish the request.

        Raises:
            RequestLost: It is no longer this lab's.
            HarnessError: It cannot be measured now.
        """
        request = lease.request
        settings, benchmarks = self._allowed.look_up(request)
        try:
            commits = self._find_commits(lease)
        except UsageError as problem:  # which no attempt can change
            hint = f" ({problem.hint})" if problem.hint else ""
            self._queue.finish(request.id, lease.claim, (), f"{problem.message}{hint}", failed=True)
            return
        settings = replace(
            settings,
            lab=self._settings.lab,
            lab_certificates=self._settings.lab_certificates,
            device_class=(request.device_class,),
            devices=(),
            user=request.person,
        )
        uids = {_uid_of(request, benchmark): benchmark for benchmark in benchmarks}
        outcomes = _Outcomes()
        for uid in uids:
            stored = self._ask(lease, uid)
            if stored is not None:
                outcomes.all[uid] = stored
        left = [benchmark for uid, benchmark in uids.items() if uid not in outcomes.all]
        if left:
            reporter = _OnceReporter(self._open_reporter(), self._queue)
            reporting = Reporting([reporter], self._display, [outcomes], lambda _: None)
            if commits is None:
                self._measure_once(lease, left, settings, reporting)
            elif commits.control is None:
                self._measure_commit(lease, left, settings, reporting, commits)
            else:
                self._compare(lease, benchmarks, settings, reporting, commits)
        self._finish(lease, tuple(dict.fromkeys((*uids, *outcomes.all))), outcomes.all)

    def _find_commits(self, lease: _Lease) -> FoundCommits | None:
        """Return what the names of a request mean, which is decided when it is begun first; None without any.

        Raises:
            UsageError: They mean nothing that may be asked for.
            RequestLost: It is no longer this lab's.
            EnvironmentProblem: The repository or the server cannot be reached.
        """
        request = lease.request
        wanted = request.wanted
        if not wanted.commit:
            return None
        repository = self._allowed.look_up_repository(wanted)
        found = repository.find_commits(wanted, (request.commit_id, request.control_id), self._display)
        known = self._queue.renew(request.id, lease.claim, self._lease_s, found.ids)
        if (known.commit_id, known.control_id) != found.ids:  # told by an attempt whose answer was lost
            return repository.find_commits(wanted, (known.commit_id, known.control_id), self._display)
        return found

    def _measure_once(
        self,
        lease: _Lease,
        benchmarks: Sequence[Benchmark],
        settings: Settings,
        reporting: Reporting,
        *,
        files: JobFiles | None = None,
        provide: ProvideRunner = provide_installed,
    ) -> None:
        """Measure benchmarks as `harness run --lab` does."""
        try:
            measure(
                benchmarks,
                settings,
                self._display,
                reporting,
                files=files,
                provide=provide,
                make_id=lambda benchmark, _: _job_id(lease.request, benchmark),
                check=lease.check,
                find_durations=self._queue.find_durations,
            )
        finally:
            reporting.close()

    def _measure_commit(
        self,
        lease: _Lease,
        benchmarks: Sequence[Benchmark],
        settings: Settings,
        reporting: Reporting,
        commits: FoundCommits,
    ) -> None:
        """Build a commit, and measure benchmarks with it."""
        request, files = self._request_of(commits), JobFiles()
        with open_cache(request, settings) as cache:
            runner = self._runner(commits, commits.commit, lease.request.commit, cache, settings)
            provide = provide_runner(runner, request, settings, self._display, files, check=lease.check)
            self._measure_once(lease, benchmarks, settings, reporting, files=files, provide=provide)

    def _compare(
        self,
        lease: _Lease,
        benchmarks: Sequence[Benchmark],
        settings: Settings,
        reporting: Reporting,
        commits: FoundCommits,
    ) -> None:
        """Build two commits, and compare them as `harness compare --lab --resume` does, with pairs of earlier attempts.

        All benchmarks take part, also those whose results the server has: they share the rate of false discoveries.
        """
        asked, files = lease.request, JobFiles()
        request, control = self._request_of(commits), commits.control or commits.commit
        parameters = choose_parameters(request, **({"max_pairs": asked.pairs} if asked.pairs else {}))
        with open_cache(request, settings) as cache:
            runners = (
                self._runner(commits, control, asked.control, cache, settings),
                self._runner(commits, commits.commit, asked.commit, cache, settings),
            )
            task = LabComparison(
                benchmarks,
                provide_commits(runners, request, settings, self._display, files, check=lease.check),
                ComparedSides(*runners, parameters, recipes=request.recipes),
                resume=True,
                check=lease.check,
                key=(asked.id,),
                make_uid=lambda benchmark, metric: _uid_of(asked, benchmark, metric),
            )
            report_comparison(task, files, settings, SilentDisplay(self._display), reporting)

    def _request_of(self, commits: FoundCommits) -> CompareRequest:
        return CompareRequest(source=commits.source.name, recipes=self._allowed.recipes)

    def _runner(
        self, commits: FoundCommits, commit: Commit, name: str, cache: BuildCache, settings: Settings
    ) -> CommitRunner:
        submodules = selected_submodules(settings, commits.source)
        asked = name_of_request(name, commit)
        return CommitRunner(commits.source, commit, cache, self._allowed.recipes, submodules, asked)

    def _ask(self, lease: _Lease, uid: str) -> StoredOutcome | None:
        """Return the outcome of a result as the server has it, as soon as it answers."""
        while True:
            lease.check()
            try:
                return self._queue.find_outcome(uid)
            except QueueSilent as problem:
                self._warn(problem)
            pause(_POLL_S)

    def _finish(self, lease: _Lease, uids: Sequence[str], outcomes: Mapping[str, StoredOutcome]) -> None:
        """End a request when the server has its results.

        Raises:
            RequestLost: It is no longer this lab's.
            EnvironmentProblem: The server does not take a result.
        """
        answered_s = 0.0
        while True:
            lease.check()
            began = time.monotonic()
            try:
                if all(self._queue.find_outcome(uid) is not None for uid in uids):
                    reason, failed = _summarise([outcomes[uid] for uid in uids])
                    self._queue.finish(lease.request.id, lease.claim, uids, reason, failed=failed)
                    return
            except QueueSilent as problem:
                self._warn(problem)
                pause(_POLL_S)
                continue
            self._send_earlier()
            pause(_POLL_S)
            answered_s += time.monotonic() - began
            if answered_s > _REPORT_S:
                raise EnvironmentProblem("the server does not take the results", hint="look at its log")

    def _open_reporter(self) -> RemoteReporter:
        """Return the reporter that posts results to the server, whose spool keeps what it does not take now."""
        target = f"{self._queue.results_address}|{CATEGORY}"
        reporter = create_remote_reporter(replace(self._settings, remote_reporter=target))
        if reporter is None:
            raise EnvironmentProblem(f"results cannot be reported to {target}", hint="look at --requests-from")
        reporter.prepare()
        return reporter

    def _send_earlier(self) -> None:
        """Send results that a process before this one had measured, or that the server could not take."""
        self._open_reporter().flush(self._display)

    def _warn(self, problem: HarnessError) -> None:
        """Show a problem once, however long it lasts."""
        if problem.message != self._problem:
            self._problem = problem.message
            self._display.warn(f"! {problem.message}: waiting for it")


def _title_of(request: RunRequest) -> str:
    """Return what is asked for, for a log."""
    title = request.benchmark or request.specification
    at = f" at {request.commit} of {request.repository}" if request.commit else ""
    return f"{title}{at}{f', compared with {request.control},' if request.control else ''}"


def _uid_of(request: RunRequest, benchmark: Benchmark, metric: str = "") -> str:
    """Return the uid of the result of a benchmark, or of a further metric of it."""
    identity = _job_id(request, benchmark)
    return result_uid(f"{identity} {metric}" if metric else identity)


def _job_id(request: RunRequest, benchmark: Benchmark) -> str:
    """Return the id of the job of a benchmark: the same whichever process measures the request, and how often."""
    return str(uuid.uuid5(_NAMESPACE, f"{request.id}\n{benchmark.title}\n{benchmark.digest}"))


def _summarise(outcomes: Sequence[StoredOutcome]) -> tuple[str, bool]:
    """Return what went wrong, in a sentence, and whether nothing was measured."""
    wrong = [each for each in outcomes if each.outcome is not Outcome.OK]
    if not wrong:
        return "", False
    reason = wrong[0].reason or wrong[0].outcome.words
    return (reason if len(outcomes) == 1 else f"{len(wrong)} of {len(outcomes)}: {reason}"), len(wrong) == len(outcomes)
