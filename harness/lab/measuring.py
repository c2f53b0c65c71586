"""`harness run --lab`: benchmarks as jobs of a lab, in place of devices of this machine. Reports are the same."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from harness.config.settings import Settings
from harness.core.benchmark import Benchmark
from harness.core.errors import BuildFailed, ExitCode, UsageError, most_severe
from harness.core.protocols import Display, Reporter
from harness.core.reproduction import Reproduction
from harness.core.result import Outcome, RawLog, Report, Result
from harness.flows.compare.requests import CompareRequest, open_cache, resolve_side
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.flows.measure.jobs import report_failure
from harness.flows.measure.plan import Failure
from harness.flows.measure.reporting import Reporting, prepare_reporters
from harness.flows.measure.reproduction import reproduce_run
from harness.flows.measure.runners import Side, installed_runner
from harness.flows.measure.workload import load_benchmarks, select_requested
from harness.lab.durations import FindDurations, expect_durations, longest_first
from harness.lab.jobs import ChosenSettings, JobReport, LabJob, choose_settings, own_versions, result_uid
from harness.lab.platform import LabPlatform, settings_to_repeat
from harness.lab.pooling import device_of
from harness.lab.sides import ProvideRunner, provide_installed, provide_runner
from harness.lab.submitting import JobFiles, Submission, Submitter
from harness.lab.targets import Target

_HEEDED: Final = frozenset(
    {
        *("benchmark_file", "only", "skip", "benchmark_digest", "framework", "string_map", "root_model_dir", "env"),
        *("timeout", "cooldown", "command_args", "precision", "operators", "probe", "return_timeout"),
        *("lab", "device_class", "lab_certificates", "devices", "cache_dir", "quiet"),
        *("local_reporter", "simple_local_reporter", "screen_reporter", "simple_screen_reporter", "remote_reporter"),
        *("database", "reporters"),
        *ChosenSettings.model_fields,
    }
)
"""Options that mean something here: of specifications, of the lab, and of reports. All others are those of the machine
that measures, or of programs that exist on this one."""


def run(
    settings: Settings,
    display: Display,
    requests: Sequence[CompareRequest | None] = (None,),
    *,
    listeners: Sequence[Reporter] = (),
) -> ExitCode:
    """Measure every benchmark once on each class of devices, and report as each is done.

    Args:
        settings: What to measure in which lab, on devices of which classes or names, and which reporters get the
            results. Without any, the lab has to have a single class.
        display: Shows what happens.
        requests: Commits to measure, one after the other; None for the runner that is installed on each host.
        listeners: Receive each result, beside the reporters of the settings.

    Raises:
        UsageError: A flag has no effect in a lab, or there is no such class or device.
        EnvironmentProblem: The lab does not answer.
    """
    refuse_options_of_machines(settings)
    benchmarks = select_requested(load_benchmarks(settings), settings)
    fetcher = SourceFetcher(display)
    return most_severe(
        [_run(benchmarks, request, fetcher, settings, display, listeners=listeners) for request in requests]
    )


def _run(
    benchmarks: Sequence[Benchmark],
    request: CompareRequest | None,
    fetcher: SourceFetcher,
    settings: Settings,
    display: Display,
    *,
    listeners: Sequence[Reporter],
) -> ExitCode:
    files = JobFiles()
    side: Side = installed_runner
    provide: ProvideRunner = provide_installed
    with contextlib.ExitStack() as opened:
        if request is not None:
            cache = opened.enter_context(open_cache(request, settings))
            runner = resolve_side(request, settings, fetcher, display, cache)
            side, provide = runner, provide_runner(runner, request, settings, display, files)
        reproduce = partial(_reproduce, settings=settings, side=side)
        reporting = Reporting(prepare_reporters(settings), display, listeners, reproduce)
        return _measure_all(benchmarks, settings, display, reporting, files=files, provide=provide)


def _measure_all(
    benchmarks: Sequence[Benchmark],
    settings: Settings,
    display: Display,
    reporting: Reporting,
    *,
    files: JobFiles,
    provide: ProvideRunner,
) -> ExitCode:
    try:
        measure(benchmarks, settings, display, reporting, files=files, provide=provide)
    except KeyboardInterrupt as interruption:
        interruption.add_note(reporting.describe_kept())
        raise
    finally:
        reporting.close()
    display.say(reporting.summary(settings.local_reporter))
    return reporting.exit_code()


def measure(
    benchmarks: Sequence[Benchmark],
    settings: Settings,
    display: Display,
    reporting: Reporting,
    *,
    files: JobFiles | None = None,
    provide: ProvideRunner = provide_installed,
    make_id: Callable[[Benchmark, Target], str] = lambda *_: str(uuid.uuid4()),
    check: Callable[[], None] = lambda: None,
    find_durations: FindDurations | None = None,
) -> None:
    """Measure benchmarks once on each class of devices, those first that are expected to take longest.

    Args:
        benchmarks: What to measure.
        settings: In which lab, on devices of which classes or names.
        display: Shows what happens.
        reporting: Is given each result; the caller closes it.
        files: The files that the runner has to send.
        provide: Provides the runner.
        make_id: Returns the id of a job, from which the uid of its result comes.
        check: Called every few seconds; what it raises cancels the jobs.
        find_durations: Asks a store how long they took before; None asks those of this machine.

    Raises:
        UsageError: There is no such class or device.
        EnvironmentProblem: The lab does not answer.
    """
    files = files or JobFiles()
    jobs = MeasuringJobs(
        benchmarks, settings, reporting, files, provide=provide, make_id=make_id, find_durations=find_durations
    )
    Submitter(settings, display, jobs, files, check, keep_doubts=reporting.keep_doubts).run()


def _reproduce(result: Result, settings: Settings, side: Side) -> Reproduction | None:
    platform = LabPlatform(result.device.platform if result.device is not None else settings.platform, ())
    return reproduce_run(result, settings_to_repeat(settings), side, platform)


class MeasuringJobs:
    """Jobs of one command: each benchmark once on each class of devices."""

    def __init__(
        self,
        benchmarks: Sequence[Benchmark],
        settings: Settings,
        reporting: Reporting,
        files: JobFiles,
        *,
        provide: ProvideRunner,
        make_id: Callable[[Benchmark, Target], str],
        find_durations: FindDurations | None,
    ) -> None:
        self._benchmarks = benchmarks
        self._settings = settings
        self._reporting = reporting
        self._files = files
        self._provide = provide
        self._make_id = make_id
        self._find_durations = find_durations

    def begin(self, targets: Sequence[Target]) -> Sequence[Submission]:
        """Return all jobs, the longest first. A benchmark whose runner cannot be built is reported at once."""
        expected = {
            target.resource: expect_durations(
                self._benchmarks, target, self._settings, self._find_durations, pairs=False
            )
            for target in targets
        }
        pairs = [(benchmark, target) for benchmark in self._benchmarks for target in targets]
        jobs = [
            (self._begin(benchmark, target, expected[target.resource].get(benchmark.digest)), target)
            for benchmark, target in pairs
        ]
        submissions = [Submission(job, target) for job, target in jobs if job is not None]
        return sorted(submissions, key=lambda submission: longest_first(submission.job))

    def _begin(self, benchmark: Benchmark, target: Target, expected_s: float | None) -> LabJob | None:
        identity = self._make_id(benchmark, target)
        try:
            runner = self._provide(benchmark.framework, target)
        except BuildFailed as error:
            self._reporting.report(report_no_build(benchmark, target, error, self._settings, result_uid(identity)))
            return None
        return LabJob(
            id=identity,
            benchmark=benchmark,
            files={**self._files.add_of(benchmark), **runner.files},
            runner=runner.side,
            source=runner.source,
            settings=choose_settings(self._settings),
            versions=own_versions(),
            expected_s=expected_s,
        )

    def accept(self, submission: Submission, answer: JobReport) -> Sequence[Submission]:  # noqa: ARG002 - a protocol
        """Report a result."""
        if answer.report is not None:
            self._reporting.report(answer.report)
        return ()

    def fail(self, submission: Submission, failure: Failure) -> Sequence[Submission]:
        """Report a job that no device has done: of a class none is named."""
        job, target = submission
        device = target.places[0].device if target.is_single else None
        self._reporting.report(with_uid(report_failure(job.benchmark, device, failure, self._settings), job.uid))
        return ()


def report_no_build(
    benchmark: Benchmark, target: Target, error: BuildFailed, settings: Settings, uid: str = ""
) -> Report:
    """Return the report of a benchmark whose runner cannot be built, with the log of the build.

    Args:
        benchmark: The benchmark.
        target: The devices.
        error: Why; its first line is the reason.
        settings: How results are reported.
        uid: Uid of the result; empty for a new one.
    """
    reason, _, rest = error.message.partition("\n")
    failure = Failure(Outcome.FAILED, reason, error.hint, is_environment_problem=True)
    report = report_failure(benchmark, device_of(target), failure, settings)
    if rest or error.log is not None:
        report = report.model_copy(update={"logs": (RawLog(name="build.log", text=_read_log(error)),)})
    return with_uid(report, uid) if uid else report


def _read_log(error: BuildFailed) -> str:
    """Return the log of a build, or its last lines where it cannot be read."""
    if error.log is not None:
        with contextlib.suppress(OSError):
            return error.log.read_text(encoding="utf-8", errors="replace")
    return error.message


def with_uid(report: Report, uid: str) -> Report:
    """Return a report whose result has a uid that is the same whenever it is measured again."""
    return report.model_copy(update={"result": report.result.model_copy(update={"uid": uid})})


def refuse_options_of_machines(settings: Settings) -> None:
    """Refuse options that would have no effect: those of the machine that measures.

    Raises:
        UsageError: There is one.
    """
    if refused := sorted(settings.requested - _HEEDED):
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in refused)
        raise UsageError(f"{flags}: hosts of a lab have no such option yet", hint="leave it out, or leave out --lab")
