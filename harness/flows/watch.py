"""The continuous mode: `harness.watch` decides what is next; here that is done, with builds, devices and statistics."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue

from harness import plugins
from harness.analysis.bisect.answers import Culprit, Ending, Finding
from harness.analysis.bisect.search import Search
from harness.analysis.trend.points import point_of
from harness.core.commit import Commit, Source
from harness.core.comparison import Comparison, Verdict
from harness.core.errors import BenchmarkFailed, EnvironmentProblem, ExitCode, HarnessError, UsageError, gravest
from harness.core.protocols import Display
from harness.core.result import Outcome, Result
from harness.core.trend import ChangeKind
from harness.flows.alarm_reports import AlarmReports
from harness.flows.commits import Comparer, ControlFailed, Narrowed
from harness.flows.requests import Programs, Wish
from harness.flows.search import ratios_of, search
from harness.flows.series import builds_ahead
from harness.flows.signs import judge
from harness.settings import Settings
from harness.watch.backlog import Choice
from harness.watch.command_courier import command_courier
from harness.watch.controls import Controls
from harness.watch.couriers import Courier
from harness.watch.following import Branch
from harness.watch.hook_courier import hook_courier
from harness.watch.loop import Orders, Tally
from harness.watch.loop import watch as keep_watching
from harness.watch.records import Alarm, Compared, Document, Point, Progress
from harness.watch.state import State, open_state
from harness.watch.switch import Switch
from harness.watch.work import Confirmation, Stopped, Work
from reporters.comparisons.operators import changed_operators

_VERIFYING = 3
"""A suspicion is verified with so many times the budget of a comparison: it is measured once, and read by people."""


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


def watch(wish: Wish, settings: Settings, watching: Watching, display: Display) -> ExitCode:
    """Watch until a person stops it, or until everything is done.

    Args:
        wish: Where commits come from, and how to decide; its control is the pinned one.
        settings: What to measure, where and how.
        watching: How to watch.
        display: Shown what happens.

    Raises:
        UsageError: It is not said what to watch, a flag means nothing here, or a comparison can never work.
        EnvironmentProblem: State or status file cannot be used.
    """
    _refuse(wish, settings, watching)
    switch = Switch(watching.status_file)

    def go_on() -> None:
        if switch.off():
            raise Stopped(f"{watching.status_file} says 0: stopped after the launch that was running")

    # one line for each comparison tells enough; tables are for those who ask for one
    settings = replace(settings, screen_reporter=False)
    platforms = watching.platforms or (settings.platform,)
    comparers = [Comparer(wish, replace(settings, platform=name), display, go_on) for name in platforms]
    source = comparers[0].source
    pinned = source.resolve(wish.control) if isinstance(wish.control, str) else None
    orders = Orders(
        branch=Branch(source, _tips(wish, comparers[0].kind), _choice(watching), _begin(wish, watching)),
        controls=Controls(source, pinned),
        interval_s=watching.interval_s,
        switch=switch,
        commit_file=watching.commit_file,
    )
    couriers = _couriers(watching)
    with open_state(watching.state) as state, ThreadPoolExecutor(1, "build-ahead") as ahead:
        reports = AlarmReports(state, source, wish, settings)
        doing = _Doing(comparers, source, state, ahead if builds_ahead(comparers[-1].settings) else None, display)
        work = Work(doing.compare, judge, doing.confirm, doing.search) if watching.alarms else Work(doing.compare)
        tally = keep_watching(orders, work, state, couriers=[reports, *couriers], say=display.say)
        return _code(
            tally, worse=any(_is_worse(state.alarms.find(alarm)) for alarm in tally.alarms), failed=doing.failed
        )


def _refuse(wish: Wish, settings: Settings, watching: Watching) -> None:
    """Refuse what means nothing to a watcher: a flag is never accepted and then ignored."""
    if isinstance(wish.control, Programs) or isinstance(wish.treatment, Programs) or wish.self_check:
        raise UsageError("a watcher compares commits, and no ready programs", hint="`harness compare` does that")
    if settings.dry_run:
        raise UsageError("what a watcher will do depends on commits to come", hint="`harness run --dry_run` has a plan")
    if wish.treatment is not None and watching.begin is not None:
        raise UsageError("--since and --commit both say where to begin", hint="leave one of them out")


def _begin(wish: Wish, watching: Watching) -> str | None:
    """The commit after which the first start begins; FAI-PEP says it with `--commit`."""
    return wish.treatment if isinstance(wish.treatment, str) else watching.begin


def _tips(wish: Wish, kind: str) -> tuple[str, ...]:
    """Names of the newest commit. A remote's branch comes first: a local one is as old as the last pull."""
    if kind == "releases":
        return ("latest",)
    branch = wish.branch
    if branch is None:
        return ("origin/HEAD", "HEAD") if kind == "git" else ("default", ".")
    return (f"{wish.remote or 'origin'}/{branch}", branch) if kind == "git" else (branch,)


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
    return alarm is not None and alarm.sign.kind != ChangeKind.IMPROVEMENT


def _code(tally: Tally, *, worse: bool, failed: bool) -> ExitCode:
    """What ended watching amounts to."""
    codes = [ExitCode.OK]
    if worse:
        codes.append(ExitCode.REGRESSION)
    if tally.unreachable or tally.troubled:
        codes.append(ExitCode.ENVIRONMENT)
    if failed or tally.commits[Progress.FAILED]:
        codes.append(ExitCode.BENCHMARK_FAILED)
    return gravest(codes)


class _Doing:
    """What the loop asks for (`harness.watch.work`).

    Args:
        comparers: One for each platform.
        source: Where commits come from.
        state: What is remembered.
        ahead: Builds the next commit meanwhile; None where that would disturb.
        display: Shown what happens.
    """

    def __init__(
        self, comparers: Sequence[Comparer], source: Source, state: State, ahead: Executor | None, display: Display
    ) -> None:
        self._comparers = comparers
        self._source = source
        self._state = state
        self._ahead = ahead
        self._display = display
        self.failed = False
        """Whether a benchmark failed that was to be compared."""

    def compare(self, control: Commit, treatment: Commit) -> Compared:
        """Every benchmark on every device."""
        self._build_ahead(treatment)
        self._display.say(f"{treatment.short} {treatment.subject}")
        results: list[Result] = []
        for comparer in self._comparers:
            try:
                results.extend(comparer.compare(control, treatment, resume=True))
            except ControlFailed as error:
                return Compared(progress=Progress.FAILED, why=error.message, control_failed=True)
        points = tuple(point for result in results if (point := _point(result, control.id)) is not None)
        failed = [result for result in results if _has_failed(result)]
        self.failed = self.failed or bool(failed)
        if not points:
            return Compared(progress=Progress.FAILED, why=(failed or results)[0].reason or "nothing was measured")
        why = f"{len(failed)} of {len(results)} benchmarks failed: {failed[0].reason}" if failed else ""
        return Compared(points=points, why=why)

    def confirm(self, alarm: Alarm) -> Confirmation:
        """The builds around a change, held against one another."""
        before, after = self._source.resolve(alarm.sign.first), self._source.resolve(alarm.sign.last)
        narrowed = _narrowed(alarm)
        comparer = self._comparer(alarm.sign.device)
        budget = _VERIFYING * comparer.most_pairs
        (result, *_) = comparer.compare(before, after, run_type="verify", narrowed=narrowed, most_pairs=budget)
        comparison = result.comparison
        if comparison is None or _has_failed(result):
            raise BenchmarkFailed(f"it could not be measured again: {result.reason or 'it gave no pair'}")
        wanted = Verdict.IMPROVEMENT if alarm.sign.kind == ChangeKind.IMPROVEMENT else Verdict.REGRESSION
        return Confirmation(
            confirmed=comparison.told is wanted,
            why=f"{comparison.told.value}: {comparison.reason}",
            document=_verified(result, comparison),
        )

    def search(self, alarm: Alarm, progress: JsonValue, save: Callable[[JsonValue], None]) -> Document:
        """The commit that did it. One that has no neighbours in question was found by verifying."""
        before, after = self._source.resolve(alarm.sign.first), self._source.resolve(alarm.sign.last)
        commits = (before, *self._source.between(before, after))
        if len(commits) == 2:
            return searched(_verified_alone(alarm, after), commits)
        begun = (
            Search.begin([one.id for one in commits], _verified_ratios(alarm))
            if progress is None
            else Search.model_validate(progress)
        )
        comparer = self._comparer(alarm.sign.device)
        ended, finding = search(begun, commits, _narrowed(alarm), comparer, progress=self._display, save=save)
        return searched(finding, commits, ended)

    def _comparer(self, device: str) -> Comparer:
        """The one that reaches a device."""
        if len(self._comparers) == 1:
            return self._comparers[0]
        for comparer in self._comparers:
            found = plugins.platform(comparer.settings.platform, comparer.settings).devices()
            if any(one.identity == device for one in found):
                return comparer
        raise EnvironmentProblem(f"the device {device} is not to be reached", hint="`harness devices` lists what is")

    def _build_ahead(self, present: Commit) -> None:
        waiting = [entry.commit for entry in self._state.commits.those(Progress.WAITING, 2)]
        coming = next((commit for commit in waiting if commit.id != present.id), None)
        if self._ahead is not None and coming is not None:
            self._ahead.submit(_built, self._comparers[-1], coming)


def _built(comparer: Comparer, commit: Commit) -> None:
    try:
        comparer.bring(commit)
    except HarnessError:
        return  # told when its turn comes


def _has_failed(result: Result) -> bool:
    """Whether it should have numbers and has none."""
    return not result.ok and result.outcome not in {Outcome.SKIPPED, Outcome.UNSUPPORTED}


def _point(result: Result, control: str) -> Point | None:
    """The point of a series that a result is; None where nothing was compared."""
    comparison, device = result.comparison, result.device
    if comparison is None or device is None or not (result.ok or comparison.identical):
        return None
    measured = point_of(comparison, "", 1, 0)
    return Point(
        benchmark=result.benchmark.digest,
        title=f"{result.benchmark.model}/{result.benchmark.identifier}",
        device=device.identity,
        control=control,
        metric=comparison.metric,
        higher_is_better=comparison.higher_is_better,
        verdict=comparison.told,
        log_ratio=None if measured is None else measured.difference,
        low=_log(comparison.low),
        high=_log(comparison.high),
        error=None if measured is None else measured.error,
        pairs=len(comparison.pairs),
        result=result.uid,
    )


def _log(relative: float | None) -> float | None:
    return None if relative is None or relative <= -1 else math.log1p(relative)


def _narrowed(alarm: Alarm) -> Narrowed:
    return Narrowed(str(alarm.sign.document["title"]), alarm.sign.device)


def _verified(result: Result, comparison: Comparison) -> Document:
    """What verifying said, for people and for the search."""
    operators = {one.name: one for one in comparison.operators}
    changed = [(operators[row.name], row.contribution) for row in changed_operators(comparison)]
    return {
        "device": result.device.name if result.device else "",
        "unit": comparison.unit,
        "comparison": comparison.model_dump(mode="json", exclude={"pairs", "operators"}),
        "operators": [
            {"name": one.name, "difference": one.difference, "low": one.low, "high": one.high, "contribution": share}
            for one, share in changed
        ],
        "pairs": len(comparison.pairs),
        "log_ratios": list(ratios_of(comparison, 1)),
        "result": result.uid,
    }


def _verification(alarm: Alarm) -> Document:
    """What verifying an alarm said."""
    said = alarm.document.get("confirmation")
    document = said.get("document") if isinstance(said, dict) else None
    return document if isinstance(document, dict) else {}


def _verified_ratios(alarm: Alarm) -> tuple[float, ...]:
    """The pairs that verified it: a search between the same two commits need not measure them again."""
    ratios = _verification(alarm).get("log_ratios")
    return tuple(float(one) for one in ratios if isinstance(one, int | float)) if isinstance(ratios, list) else ()


def _verified_alone(alarm: Alarm, commit: Commit) -> Finding:
    """The only commit in question, proven by the pairs that verified the alarm."""
    stored = _verification(alarm).get("comparison")
    comparison = Comparison.model_validate({**(stored if isinstance(stored, dict) else {}), "pairs": ()})
    evidence = comparison.evidence
    culprit = Culprit(
        commits=(commit.id,),
        before=alarm.sign.first,
        probability=1.0,
        step=comparison.difference or 0.0,
        low=comparison.low,
        high=comparison.high,
        evidence=max(evidence.regression, evidence.improvement),
        confirmed=True,
    )
    return Finding(
        ending=Ending.FOUND,
        culprits=(culprit,),
        whole=comparison.difference,
        rest=0.0,
        smallest=0.0,
        reason=f"{commit.short} is the only commit in question",
    )


def searched(finding: Finding, commits: Sequence[Commit], ended: Search | None = None) -> Document:
    """What a search found, with the commits that it was about."""
    believed = {} if ended is None else {one.commit: one.probability for one in ended.posterior().suspects}
    skipped = set() if ended is None else set(ended.skipped)
    found = {commit for culprit in finding.culprits for commit in culprit.commits}
    return {
        "finding": finding.model_dump(mode="json"),
        "commits": [
            {
                **commit.model_dump(mode="json"),
                "probability": 1.0 if commit.id in found and not believed else believed.get(commit.id, 0.0),
                "builds": commit.id not in skipped,
                "culprit": commit.id in found,
            }
            for commit in commits[1:]
        ],
    }
