"""`harness lab dispatch`: runs that persons ask for at a server of results, measured in a lab.

The specifications are those of the command line that started it: what arrives from the server are names, which are
looked up among them.
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

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import EnvironmentProblem, ExitCode, HarnessError, ReporterFailed
from harness.core.outcome import Outcome
from harness.core.protocols import Display
from harness.core.result import Report
from harness.flows.measure.reporting import Reporting
from harness.lab.allow_list import AllowList
from harness.lab.configuration import load_security
from harness.lab.engine import Engine, connect
from harness.lab.jobs import result_uid
from harness.lab.measuring import measure
from harness.lab.request_queue import QueueSilent, RequestLost, RequestQueue, StoredOutcome
from harness.shell import Interrupted, check_stopping, pause
from harness.store.run_requests import LabOffer, RequestState, RunRequest
from reporters.remote import RemoteReporter
from reporters.remote import create as create_remote_reporter

LEASE_S: Final = 60.0
CATEGORY: Final = "on demand"
"""Category of the results."""
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
                self._announce(classes)
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

    def _announce(self, classes: Mapping[str, int]) -> None:
        """Announce the specifications, and the classes of devices that are there.

        Raises:
            EnvironmentProblem: The server refuses.
        """
        offered = tuple(each.offered for each in self._allowed.specifications.values())
        try:
            self._queue.announce(LabOffer(specifications=offered, device_classes=tuple(sorted(classes))))
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
        title = request.benchmark or request.specification
        self._display.say(f"{request.person} asks for {title} on {request.device_class}")
        try:
            with lease.keep():
                self._measure(lease)
        except RequestLost as problem:
            self._display.warn(f"! {title} of {request.person}: {problem.message}")
        except HarnessError as problem:
            self._give_back(lease, "the lab was stopped" if isinstance(problem, Interrupted) else problem.message)
        except Exception as problem:  # noqa: BLE001 - isolation of one request: others go on
            self._give_back(lease, f"{type(problem).__name__}: {problem}")

    def _give_back(self, lease: _Lease, reason: str) -> None:
        """Put a request back into the queue, which fails it where that happens often."""
        title = lease.request.benchmark or lease.request.specification
        self._display.warn(f"! {title} of {lease.request.person} goes back into the queue: {reason}")
        with contextlib.suppress(HarnessError):  # else its lease ends
            self._queue.release(lease.request.id, lease.claim, reason)

    def _measure(self, lease: _Lease) -> None:
        """Measure what the server does not have yet, and finish the request.

        Raises:
            RequestLost: It is no longer this lab's.
            HarnessError: It cannot be measured now.
        """
        request = lease.request
        settings, benchmarks = self._allowed.look_up(request)
        settings = replace(
            settings,
            lab=self._settings.lab,
            lab_certificates=self._settings.lab_certificates,
            device_class=(request.device_class,),
            devices=(),
            user=request.person,
        )
        uids = {result_uid(_job_id(request, benchmark)): benchmark for benchmark in benchmarks}
        outcomes = _Outcomes()
        for uid in uids:
            stored = self._ask(lease, uid)
            if stored is not None:
                outcomes.all[uid] = stored
        left = [benchmark for uid, benchmark in uids.items() if uid not in outcomes.all]
        if left:
            reporting = Reporting([self._open_reporter()], self._display, [outcomes], lambda _: None)
            try:
                measure(
                    left,
                    settings,
                    self._display,
                    reporting,
                    make_id=lambda benchmark, _: _job_id(request, benchmark),
                    check=lease.check,
                    find_durations=self._queue.find_durations,
                )
            finally:
                reporting.close()
        self._finish(lease, tuple(uids), outcomes.all)

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
