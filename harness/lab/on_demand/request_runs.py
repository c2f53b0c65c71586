"""A run that a person asked for, from its claim to its end, by the flows of `harness run` and `compare --lab`."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

from harness.builders.cache import BuildCache
from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.commit import Commit, name_of_request
from harness.core.errors import EnvironmentProblem, UsageError
from harness.core.outcome import Outcome
from harness.core.protocols import Display
from harness.flows.compare.commits import SilentDisplay
from harness.flows.compare.reproduction import ComparedSides
from harness.flows.compare.requests import CompareRequest, open_cache
from harness.flows.measure.reporting import Reporting
from harness.flows.measure.runners import CommitRunner
from harness.flows.measure.submodules import selected_submodules
from harness.lab.comparing import LabComparison, choose_parameters, report_comparison
from harness.lab.jobs import result_uid
from harness.lab.measuring import measure
from harness.lab.on_demand.allow_list import AllowList
from harness.lab.on_demand.delivery import POLL_S, OnceReporter, Outcomes, ResultDelivery
from harness.lab.on_demand.leases import Lease
from harness.lab.on_demand.repositories import FoundCommits
from harness.lab.on_demand.request_queue import QueueSilent, StoredOutcome
from harness.lab.sides import ProvideRunner, provide_commits, provide_installed, provide_runner
from harness.lab.submitting import JobFiles
from harness.shell import pause
from harness.store.run_requests import RunRequest

_REPORT_S: Final = 120.0
"""How long a server that answers may leave out results that were sent to it."""
_NAMESPACE: Final = uuid.UUID("a4a3c9a8-0b7b-5c52-8f0e-0e1f6d2f9b13")


class RequestRun:
    """Run of a request.

    Args:
        lease: The request, as long as it is this lab's.
        allowed: What persons may ask for.
        settings: Which lab.
        display: Shows what happens.
        delivery: Sends results.
    """

    def __init__(
        self, lease: Lease, allowed: AllowList, settings: Settings, display: Display, delivery: ResultDelivery
    ) -> None:
        self._lease = lease
        self._allowed = allowed
        self._settings = settings
        self._display = display
        self._delivery = delivery

    def run(self) -> None:
        """Measure what the server does not have yet, and finish the request.

        Raises:
            RequestLost: It is no longer this lab's.
            HarnessError: It cannot be measured now.
        """
        request = self._lease.request
        settings, benchmarks = self._allowed.look_up(request)
        try:
            commits = self._find_commits()
        except UsageError as problem:  # which no attempt can change
            hint = f" ({problem.hint})" if problem.hint else ""
            self._lease.queue.finish(request.id, self._lease.claim, (), f"{problem.message}{hint}", failed=True)
            return
        settings = dataclasses.replace(
            settings,
            lab=self._settings.lab,
            lab_certificates=self._settings.lab_certificates,
            device_class=(request.device_class,),
            devices=(),
            user=request.person,
        )
        uids = {_uid_of(request, benchmark): benchmark for benchmark in benchmarks}
        outcomes = Outcomes()
        for uid in uids:
            stored = self._delivery.wait_for_outcome(self._lease, uid)
            if stored is not None:
                outcomes.all[uid] = stored
        left = [benchmark for uid, benchmark in uids.items() if uid not in outcomes.all]
        if left:
            reporter = OnceReporter(self._delivery.open_reporter(), self._lease.queue)
            reporting = Reporting([reporter], self._display, [outcomes], lambda _: None)
            if commits is None:
                self._measure_once(left, settings, reporting)
            elif commits.control is None:
                self._measure_commit(left, settings, reporting, commits)
            else:
                self._compare(benchmarks, settings, reporting, commits)
        self._finish(tuple(dict.fromkeys((*uids, *outcomes.all))), outcomes.all)

    def _find_commits(self) -> FoundCommits | None:
        """Return what the names of a request mean, which is decided when it is begun first; None without any.

        Raises:
            UsageError: They mean nothing that may be asked for.
            RequestLost: It is no longer this lab's.
            EnvironmentProblem: The repository or the server cannot be reached.
        """
        request = self._lease.request
        wanted = request.wanted
        if not wanted.commit:
            return None
        repository = self._allowed.look_up_repository(wanted)
        found = repository.find_commits(wanted, (request.commit_id, request.control_id), self._display)
        known = self._lease.queue.renew(request.id, self._lease.claim, self._lease.lease_s, found.ids)
        if (known.commit_id, known.control_id) != found.ids:  # told by an attempt whose answer was lost
            return repository.find_commits(wanted, (known.commit_id, known.control_id), self._display)
        return found

    def _measure_once(
        self,
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
                make_id=lambda benchmark, _: _job_id(self._lease.request, benchmark),
                check=self._lease.check,
                find_durations=self._lease.queue.find_durations,
            )
        finally:
            reporting.close()

    def _measure_commit(
        self,
        benchmarks: Sequence[Benchmark],
        settings: Settings,
        reporting: Reporting,
        commits: FoundCommits,
    ) -> None:
        """Build a commit, and measure benchmarks with it."""
        request, files = self._request_of(commits), JobFiles()
        with open_cache(request, settings) as cache:
            runner = self._runner(commits, commits.commit, self._lease.request.commit, cache, settings)
            provide = provide_runner(runner, request, settings, self._display, files, check=self._lease.check)
            self._measure_once(benchmarks, settings, reporting, files=files, provide=provide)

    def _compare(
        self,
        benchmarks: Sequence[Benchmark],
        settings: Settings,
        reporting: Reporting,
        commits: FoundCommits,
    ) -> None:
        """Build two commits, and compare them as `harness compare --lab --resume` does, with pairs of earlier attempts.

        All benchmarks take part, also those whose results the server has: they share the rate of false discoveries.
        """
        asked, files = self._lease.request, JobFiles()
        request, control = self._request_of(commits), commits.control or commits.commit
        parameters = choose_parameters(request, **({"max_pairs": asked.pairs} if asked.pairs else {}))
        with open_cache(request, settings) as cache:
            runners = (
                self._runner(commits, control, asked.control, cache, settings),
                self._runner(commits, commits.commit, asked.commit, cache, settings),
            )
            task = LabComparison(
                benchmarks,
                provide_commits(runners, request, settings, self._display, files, check=self._lease.check),
                ComparedSides(*runners, parameters, recipes=request.recipes),
                resume=True,
                check=self._lease.check,
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

    def _finish(self, uids: Sequence[str], outcomes: Mapping[str, StoredOutcome]) -> None:
        """End a request when the server has its results.

        Raises:
            RequestLost: It is no longer this lab's.
            EnvironmentProblem: The server does not take a result.
        """
        answered_s = 0.0
        while True:
            self._lease.check()
            began = time.monotonic()
            try:
                if all(self._lease.queue.find_outcome(uid) is not None for uid in uids):
                    reason, failed = _summarise([outcomes[uid] for uid in uids])
                    self._lease.queue.finish(self._lease.request.id, self._lease.claim, uids, reason, failed=failed)
                    return
            except QueueSilent as problem:
                self._delivery.warn(problem)
                pause(POLL_S)
                continue
            self._delivery.send_earlier()
            pause(POLL_S)
            answered_s += time.monotonic() - began
            if answered_s > _REPORT_S:
                raise EnvironmentProblem("the server does not take the results", hint="look at its log")


def title_of(request: RunRequest) -> str:
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
