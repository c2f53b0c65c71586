"""`harness watch`: the continuous mode. `harness.watch` decides what is next; the worker does it."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from harness.analysis.trend.changes import TrendReader
from harness.config.settings import Settings
from harness.core.commit import BranchingSource, Source
from harness.core.errors import ExitCode, UsageError, most_severe
from harness.core.protocols import Display, Platform
from harness.files.http import is_web_url
from harness.flows.compare import commits
from harness.flows.compare.batch import builds_ahead
from harness.flows.compare.commits import OpenComparers
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.reporting import prepare_reporters
from harness.flows.measure.runners import Programs
from harness.flows.watch.alarm_channels import open_channels
from harness.flows.watch.alarm_reports import AlarmReports, LinkSettings, page_channels
from harness.flows.watch.channel_tests import send_tests
from harness.flows.watch.worker import WatchWorker, read_message
from harness.plugins import alarm_reporters
from harness.store.doubts import read_doubts
from harness.watch.branch_poller import Branch
from harness.watch.controls import ControlPolicy
from harness.watch.fai_pep_files import StopFile
from harness.watch.loop import WatchPlan, WatchSummary
from harness.watch.loop import watch as run_loop
from harness.watch.measuring_again import queue_again, resolve_range
from harness.watch.new_commits import CommitSelection
from harness.watch.notify.channels import Channel
from harness.watch.notify.outbox import release_refused
from harness.watch.store.commits import CommitStatus
from harness.watch.store.notifications import DeliveryStatus
from harness.watch.store.state import State, open_state
from harness.watch.tasks import StopRequested, WatchTasks


class WatchRequest(Struct, frozen=True):
    """Request of the command line to a watcher.

    Attributes:
        interval_s: Seconds between two polls; None polls once and ends when everything is done.
        step: Every step-th commit is measured.
        merges: Whether merge commits are measured.
        state: State file.
        commit_file: FAI-PEP's file with the last commit.
        status_file: FAI-PEP's switch: 0 in it stops the watcher.
        on_alarm: Command to run for each notification.
        hooks: Where to send messages, with or without the form.
        results_url: Address under which others see the folder of results; empty where there is none.
        diff_url: Page of the difference between two commits, with `{before}` and `{after}`.
        platforms: Kinds of devices; none means that of the settings.
        since: Name of the commit after which the first start begins.
        again: Commits to measure again: `A..B`, or one commit.
        alarms: Whether changes are detected, verified and searched.
    """

    interval_s: float | None = None
    step: int = 1
    merges: bool = True
    state: Path = Path("watch.db")
    commit_file: Path | None = None
    status_file: Path | None = None
    on_alarm: str | None = None
    hooks: tuple[str, ...] = ()
    results_url: str = ""
    diff_url: str = ""
    platforms: tuple[str, ...] = ()
    since: str | None = None
    again: str | None = None
    alarms: bool = True


def watch(
    request: CompareRequest,
    settings: Settings,
    watching: WatchRequest,
    display: Display,
    open_comparers: OpenComparers = commits.open_comparers,
) -> ExitCode:
    """Watch until a person stops it, or until everything is done.

    Args:
        request: Source of the commits, and how to decide; its control is the pinned one.
        settings: What to measure, where and how.
        watching: How to watch.
        display: Shows what happens.
        open_comparers: Opens what compares two commits.

    Raises:
        UsageError: No source is given, a flag means nothing here, or a comparison can never work.
        EnvironmentProblem: State or status file cannot be used, or results cannot be written.
    """
    _refuse(request, settings, watching)
    stop_file = StopFile(watching.status_file)

    def check_stop_file() -> None:
        if stop_file.is_stop_requested():
            raise StopRequested(f"{watching.status_file} contains 0: stopped after the launch that was running")

    # one line for each comparison is enough; whoever wants tables asks for them
    settings = dataclasses.replace(settings, screen_reporter=False)
    prepare_reporters(settings)  # what fails later is tried again and again
    platforms = watching.platforms or (settings.platform,)
    comparers = open_comparers(request, settings, platforms, display, check=check_stop_file)
    source = comparers[0].source
    pinned = source.resolve(request.control) if isinstance(request.control, str) else None
    plan = WatchPlan(
        branch=Branch(
            source,
            _newest_names(request, source),
            _commit_selection(watching),
            _since(request, watching),
            main=request.branch is None,
        ),
        controls=ControlPolicy(source, pinned),
        interval_s=watching.interval_s,
        stop_file=stop_file,
        commit_file=watching.commit_file,
    )
    channels = _channels(watching)  # mistakes in them are found before anything is opened
    with open_state(watching.state) as state, ThreadPoolExecutor(1, "build-ahead") as ahead:
        pages = alarm_reporters(settings)
        links = LinkSettings(watching.results_url, watching.diff_url)
        reports = AlarmReports(state, source, request, settings, links, pages, watching.platforms)
        channels = [*page_channels(reports), *_channels(watching, reports)]
        may_build = may_build_ahead(settings, [comparer.workload.platform for comparer in comparers])
        if watching.again is not None:
            display.say(queue_again(state, resolve_range(source, watching.again), time.time()))
        worker = WatchWorker(comparers, source, state, ahead if may_build else None, display)
        tasks = WatchTasks(worker.compare, find_doubts=partial(read_doubts, settings.local_reporter))
        if watching.alarms:
            tasks = replace(
                tasks,
                read_trend=TrendReader,
                verify=worker.verify,
                find_culprits=worker.find_culprits,
                read_message=partial(read_message, source),
            )
        summary = run_loop(plan, tasks, state, channels=channels, say=display.warn)  # its lines are results
        is_idle = not summary.commits.total() and state.commits.next() is None  # one that was given up waits again
        if is_idle and not summary.is_unreachable and not stop_file.is_stop_requested():
            begun = "; --since is for the first start with a state" if _since(request, watching) is not None else ""
            display.say(f"no commit was waiting{begun}")
        for line in _describe_alarms(state, summary.alarms, {channel.name for channel in page_channels(reports)}):
            display.warn(line)
        is_worse = any(_is_worse(state, alarm) for alarm in summary.alarms)
        return exit_code_of(summary, is_worse=is_worse, has_failures=worker.has_failures)


def may_build_ahead(settings: Settings, platforms: Sequence[Platform]) -> bool:
    """Return whether a build disturbs none of the platforms."""
    return all(builds_ahead(settings, platform) for platform in platforms)


def _refuse(request: CompareRequest, settings: Settings, watching: WatchRequest) -> None:
    """Refuse flags that mean nothing to a watcher: a flag is never accepted and then ignored."""
    if isinstance(request.control, Programs) or isinstance(request.treatment, Programs) or request.self_check:
        raise UsageError("a watcher compares commits, and no ready programs", hint="`harness compare` does that")
    request.reject_further_metrics("a watcher follows one metric")
    if request.layouts:
        raise UsageError("--layouts: a watcher links each commit once", hint="`harness compare --layouts` does that")
    if settings.dry_run:
        raise UsageError("what a watcher will do depends on commits to come", hint="`harness run --dry-run` has a plan")
    if request.treatment is not None and watching.since is not None:
        raise UsageError("--since and --commit both say where to begin", hint="leave one of them out")
    _check_addresses(watching)


def _check_addresses(watching: WatchRequest) -> None:
    if watching.results_url and not is_web_url(watching.results_url):
        raise UsageError(
            f"--results-url {watching.results_url} is no http(s) URL", hint="for example https://perf/results"
        )
    if watching.diff_url and not is_web_url(watching.diff_url):
        raise UsageError(
            f"--diff-url {watching.diff_url} is no http(s) URL", hint="https://git/diff?from={before}&to={after}"
        )


def _since(request: CompareRequest, watching: WatchRequest) -> str | None:
    """Return the commit after which the first start begins; FAI-PEP's flag for it is `--commit`."""
    return request.treatment if isinstance(request.treatment, str) else watching.since


def _newest_names(request: CompareRequest, source: Source) -> tuple[str, ...]:
    """Return names of the newest commit; where no branch is named, the main one is preferred to them."""
    if request.branch is None or not isinstance(source, BranchingSource):
        return (source.newest,)
    return tuple(source.tips(request.branch))


def _commit_selection(watching: WatchRequest) -> CommitSelection:
    return CommitSelection(watching.step, None if watching.merges else lambda commit: commit.merge)


def _channels(watching: WatchRequest, reports: AlarmReports | None = None) -> Sequence[Channel]:
    return open_channels(watching.on_alarm, watching.hooks, os.environ, watching.state.parent / "alarms", reports)


def send_test_messages(watching: WatchRequest, display: Display) -> ExitCode:
    """Send a test through every channel, and say what became of each.

    What a receiver refused before, and takes now, is sent again: by the watcher that runs, or by the next start.

    Raises:
        UsageError: There is no channel, or one is named wrongly.
    """
    _check_addresses(watching)
    channels = _channels(watching)
    if not channels:
        raise UsageError("--test-hook without --hook and --on-alarm", hint="name what to test")
    sound: list[str] = []
    for number, (place, answer, error) in enumerate(send_tests(channels, time.time(), watching.results_url)):
        display.warn(f"{place}: {'failed' if error is not None else 'sent'}: {answer}")
        if error is None:
            sound.append(channels[number].name)
    for name, count in release_refused(watching.state, sound).items():
        display.say(f"{name}: {count} refused {'notification is' if count == 1 else 'notifications are'} tried again")
    return ExitCode.OK if len(sound) == len(channels) else ExitCode.ENVIRONMENT


def _is_worse(state: State, identity: str) -> bool:
    alarm = state.alarms.find(identity)
    return alarm is not None and alarm.change.is_worse


def _describe_alarms(state: State, alarms: Sequence[str], pages: Collection[str]) -> Iterator[str]:
    """Yield a line for each alarm that was confirmed: what it is called, and where its pages are."""
    for identity in alarms:
        written = [
            delivery.reply
            for delivery in state.deliveries.of_alarm(identity)
            if delivery.channel in pages and delivery.status is DeliveryStatus.DELIVERED
        ]
        yield f"alarm {identity}: {', '.join(dict.fromkeys(written)) or '`harness alarms` lists it'}"


def exit_code_of(summary: WatchSummary, *, is_worse: bool, has_failures: bool) -> ExitCode:
    """Return the exit code of a watcher that ended.

    Args:
        summary: What it did.
        is_worse: Whether a change for the worse was confirmed.
        has_failures: Whether a benchmark failed that was to be compared.
    """
    codes = [ExitCode.OK]
    if is_worse:
        codes.append(ExitCode.REGRESSION)
    if summary.is_unreachable or summary.has_environment_problem:
        codes.append(ExitCode.ENVIRONMENT)
    has_failed_commits = summary.commits[CommitStatus.FAILED] or summary.commits[CommitStatus.BUILD_FAILED]
    if has_failures or has_failed_commits or summary.has_unusable_control:
        codes.append(ExitCode.BENCHMARK_FAILED)
    if summary.undecided:
        codes.append(ExitCode.UNDECIDED)
    return most_severe(codes)
