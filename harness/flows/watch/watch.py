"""The continuous mode: `harness.watch` decides what is next; here that is done, with builds, devices and statistics."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from harness.config.settings import Settings
from harness.core.commit import BranchingSource, Source
from harness.core.errors import ExitCode, UsageError, gravest
from harness.core.protocols import Display, Platform
from harness.flows.compare.batch import builds_ahead
from harness.flows.compare.commits import CommitComparer
from harness.flows.compare.requests import CompareRequest
from harness.flows.compare.sides import Programs
from harness.flows.measure.workload import Workload, load_benchmarks, load_workload
from harness.flows.watch.alarm_reports import AlarmReports
from harness.flows.watch.detection import judge
from harness.flows.watch.work import Doing
from harness.watch.backlog import Choice
from harness.watch.branch_poller import Branch
from harness.watch.controls import Controls
from harness.watch.loop import Orders, Tally
from harness.watch.loop import watch as keep_watching
from harness.watch.notify.channels import Courier
from harness.watch.notify.command_channel import command_courier
from harness.watch.notify.webhook_channel import hook_courier
from harness.watch.stop_file import Switch
from harness.watch.store.records import Alarm, Progress
from harness.watch.store.state import open_state
from harness.watch.work import Stopped, Work


@dataclass(frozen=True, slots=True)
class Watching:
    """How a person wants a repository to be watched.

    Attributes:
        interval_s: How often new commits are looked for; None looks once and ends when everything is done.
        step: Each so many-th commit is measured.
        merges: Whether merge commits are measured.
        state: The file of what is remembered.
        commit_file: FAI-PEP's file with the last commit.
        status_file: FAI-PEP's switch: 0 in it stops the watcher.
        on_alarm: A command to run for each alarm.
        hook: A URL to post each alarm to.
        platforms: Kinds of devices; none means that of the settings.
        begin: Name of the commit after which the first start begins.
        alarms: Whether changes are looked for.
    """

    interval_s: float | None = None
    step: int = 1
    merges: bool = True
    state: Path = Path("watch.db")
    commit_file: Path | None = None
    status_file: Path | None = None
    on_alarm: str | None = None
    hook: str | None = None
    platforms: tuple[str, ...] = ()
    begin: str | None = None
    alarms: bool = True


def watch(request: CompareRequest, settings: Settings, watching: Watching, display: Display) -> ExitCode:
    """Watch until a person stops it, or until everything is done.

    Args:
        request: Where commits come from, and how to decide; its control is the pinned one.
        settings: What to measure, where and how.
        watching: How to watch.
        display: Shown what happens.

    Raises:
        UsageError: It is not said what to watch, a flag means nothing here, or a comparison can never work.
        EnvironmentProblem: State or status file cannot be used.
    """
    _refuse(request, settings, watching)
    switch = Switch(watching.status_file)

    def go_on() -> None:
        if switch.off():
            raise Stopped(f"{watching.status_file} says 0: stopped after the launch that was running")

    # one line for each comparison tells enough; tables are for those who ask for one
    settings = replace(settings, screen_reporter=False)
    platforms = watching.platforms or (settings.platform,)
    comparers = [
        CommitComparer(workload, request, replace(settings, platform=name), display, go_on)
        for name, workload in _load_workloads(settings, platforms)
    ]
    source = comparers[0].source
    pinned = source.resolve(request.control) if isinstance(request.control, str) else None
    orders = Orders(
        branch=Branch(
            source,
            _tips(request, source),
            _choice(watching),
            _begin(request, watching),
            main=request.branch is None,
        ),
        controls=Controls(source, pinned),
        interval_s=watching.interval_s,
        switch=switch,
        commit_file=watching.commit_file,
    )
    couriers = _couriers(watching)
    with open_state(watching.state) as state, ThreadPoolExecutor(1, "build-ahead") as ahead:
        reports = AlarmReports(state, source, request, settings)
        may_build = may_build_ahead(settings, [comparer.workload.platform for comparer in comparers])
        doing = Doing(comparers, source, state, ahead if may_build else None, display)
        work = Work(doing.compare, judge, doing.confirm, doing.search) if watching.alarms else Work(doing.compare)
        tally = keep_watching(orders, work, state, couriers=[reports, *couriers], say=display.say)
        return _code(
            tally, worse=any(_is_worse(state.alarms.find(alarm)) for alarm in tally.alarms), failed=doing.failed
        )


def may_build_ahead(settings: Settings, platforms: Sequence[Platform]) -> bool:
    """Return whether a build disturbs none of the platforms."""
    return all(builds_ahead(settings, platform) for platform in platforms)


def _load_workloads(settings: Settings, platforms: Sequence[str]) -> Iterator[tuple[str, Workload]]:
    """Load the specifications once for all platforms."""
    benchmarks = load_benchmarks(settings)
    for name in platforms:
        yield name, load_workload(replace(settings, platform=name), benchmarks)


def _refuse(request: CompareRequest, settings: Settings, watching: Watching) -> None:
    """Refuse what means nothing to a watcher: a flag is never accepted and then ignored."""
    if isinstance(request.control, Programs) or isinstance(request.treatment, Programs) or request.self_check:
        raise UsageError("a watcher compares commits, and no ready programs", hint="`harness compare` does that")
    if settings.dry_run:
        raise UsageError("what a watcher will do depends on commits to come", hint="`harness run --dry_run` has a plan")
    if request.treatment is not None and watching.begin is not None:
        raise UsageError("--since and --commit both say where to begin", hint="leave one of them out")


def _begin(request: CompareRequest, watching: Watching) -> str | None:
    """The commit after which the first start begins; FAI-PEP says it with `--commit`."""
    return request.treatment if isinstance(request.treatment, str) else watching.begin


def _tips(request: CompareRequest, source: Source) -> tuple[str, ...]:
    """Names of the newest commit. Where no branch is named, the main one comes before them, if the source has one."""
    if request.branch is None or not isinstance(source, BranchingSource):
        return (source.newest,)
    return tuple(source.tips(request.branch))


def _choice(watching: Watching) -> Choice:
    return Choice(watching.step, None if watching.merges else lambda commit: commit.merge)


def _couriers(watching: Watching) -> list[Courier]:
    couriers: list[Courier] = []
    if watching.on_alarm is not None:
        couriers.append(command_courier(watching.on_alarm, watching.state.parent / "alarms"))
    if watching.hook is not None:
        couriers.append(hook_courier(watching.hook, os.environ))
    return couriers


def _is_worse(alarm: Alarm | None) -> bool:
    return alarm is not None and alarm.sign.is_worse


def _code(tally: Tally, *, worse: bool, failed: bool) -> ExitCode:
    """What ended watching amounts to."""
    codes = [ExitCode.OK]
    if worse:
        codes.append(ExitCode.REGRESSION)
    if tally.unreachable or tally.troubled:
        codes.append(ExitCode.ENVIRONMENT)
    if failed or tally.commits[Progress.FAILED] or tally.commits[Progress.BUILD_FAILED]:
        codes.append(ExitCode.BENCHMARK_FAILED)
    return gravest(codes)
