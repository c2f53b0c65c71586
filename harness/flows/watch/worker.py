"""Worker of the continuous mode: compares commits, verifies changes and searches their culprits (`WatchTasks`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor

from pydantic import ValidationError

from harness.analysis.bisect.search import Search
from harness.analysis.trend.points import series_point
from harness.core.alarm import Alarm, ChangedOperator, Verification
from harness.core.commit import Commit, DescribingSource, Source
from harness.core.comparison import Comparison, tail_figure
from harness.core.culprit import Candidate, SearchResult
from harness.core.device_doubt import last_good_checks
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem, HarnessError
from harness.core.protocols import Display
from harness.core.result import Outcome, Result
from harness.core.series import SeriesPoint
from harness.core.verdict import Verdict
from harness.flows.bisect.merges import MergeSearch
from harness.flows.bisect.search import figures_of_pairs, quartile_log_ratios, run_search, tail_effect
from harness.flows.compare.commits import CommitComparer, ControlFailed
from harness.flows.measure.workload import BenchmarkSelection
from harness.flows.watch.searches import (
    SavedSearches,
    begin_search,
    candidates_of,
    only_culprit,
    with_brought_commits,
)
from harness.watch.store.commits import CommitStatus
from harness.watch.store.state import State
from harness.watch.tasks import CommitOutcome

_BUDGET_FACTOR = 3
"""A verification has this many times the budget of a comparison: it is measured once, and read by people."""
_SECOND_BUDGET_FACTOR = 6
"""The same of a second verification, where the first was undecided."""
_SECOND_ALPHA = 0.5
"""Its share of `--alpha`: both together confirm a change that is none with at most 1.5 times that probability."""


class WatchWorker:
    """Does what the loop of the continuous mode asks for.

    Args:
        comparers: One for each platform.
        source: Source of the commits.
        state: State of the watcher.
        ahead: Builds the next commit meanwhile; None where that would disturb.
        display: Shows what happens.
    """

    def __init__(
        self,
        comparers: Sequence[CommitComparer],
        source: Source,
        state: State,
        ahead: Executor | None,
        display: Display,
    ) -> None:
        self._comparers = comparers
        self._source = source
        self._state = state
        self._ahead = ahead
        self._display = display
        self.has_failures = False
        """Whether a benchmark failed that was to be compared."""

    def compare(self, control: Commit, treatment: Commit) -> CommitOutcome:
        """Compare every benchmark on every device (`harness.watch.tasks.Compare`)."""
        self._build_ahead(treatment)
        self._display.say(f"{treatment.short} {treatment.subject}")
        results: list[Result] = []
        errors: list[BuildFailed | BenchmarkFailed] = []
        for comparer in self._comparers:
            try:
                results.extend(comparer.compare(control, treatment, resume=True))
            except ControlFailed as error:
                return CommitOutcome(status=CommitStatus.FAILED, reason=error.message, control_failed=True)
            except (BuildFailed, BenchmarkFailed) as error:
                errors.append(error)  # the results of other platforms are valid all the same
        return self._outcome(results, errors, tuple(self._points(results, control, treatment)))

    def _points(self, results: Sequence[Result], control: Commit, treatment: Commit) -> Iterator[SeriesPoint]:
        order = self._state.commits.get(treatment.id).position
        watched = self._state.commits.find(control.id)
        control_order = watched.position if watched is not None else None
        for result in results:
            point = series_point(result, treatment.id, order, control=control.id, control_order=control_order)
            if point is not None:
                yield point

    def _outcome(
        self,
        results: Sequence[Result],
        errors: Sequence[BuildFailed | BenchmarkFailed],
        points: tuple[SeriesPoint, ...],
    ) -> CommitOutcome:
        """Summarise the results, and the errors of platforms on which there was no comparison."""
        if errors and not points:
            raise errors[0]
        failed = [result for result in results if _has_failed(result)]
        if failed and not points and not errors and all(map(_is_control_unmeasured, failed)):
            reason = (failed[0].reason or "").removeprefix("the control cannot be measured: ")
            return CommitOutcome(status=CommitStatus.FAILED, reason=reason, control_unmeasured=True)
        self.has_failures = self.has_failures or bool(failed or errors)
        if not points:
            reason = (failed or results)[0].reason or "nothing was measured"
            return CommitOutcome(status=CommitStatus.FAILED, reason=reason)
        reasons = [error.message for error in errors]
        if failed:
            reasons.append(f"{len(failed)} of {len(results)} benchmarks failed: {failed[0].reason}")
        return CommitOutcome(points=points, reason="; ".join(reasons))

    def verify(self, alarm: Alarm) -> Verification:
        """Compare the builds around a change (`harness.watch.tasks.Verify`)."""
        change = alarm.change
        before, after = self._source.resolve(change.last_without), self._source.resolve(change.first_with)
        comparer = self._comparer(change.device)
        is_first = alarm.verification is None
        (result, *_) = comparer.compare(
            before,
            after,
            run_type="verify",
            selection=_selection_of(alarm),
            max_pairs=(_BUDGET_FACTOR if is_first else _SECOND_BUDGET_FACTOR) * comparer.parameters.max_pairs,
            alpha=comparer.parameters.alpha if is_first else _SECOND_ALPHA * comparer.parameters.alpha,
        )
        if result.comparison is None or _has_failed(result):
            raise BenchmarkFailed(f"it could not be measured again: {result.reason or 'it gave no pair'}")
        expected = Verdict.REGRESSION if change.is_worse else Verdict.IMPROVEMENT
        return verification_of(result, result.comparison, expected, change.figure)

    def find_culprits(
        self, alarm: Alarm, progress: str | None, save: Callable[[str], None]
    ) -> tuple[SearchResult, tuple[Candidate, ...]]:
        """Bisect the range of a change; with a single commit in it, verification has already identified the culprit."""
        change = alarm.change
        before, after = self._source.resolve(change.last_without), self._source.resolve(change.first_with)
        commits = (before, *self._source.between(before, after))
        saved = self._read_searches(progress)

        def search_range(line: Sequence[Commit], pairs: int = 0) -> tuple[Search, SearchResult]:
            ids = tuple(commit.id for commit in line)
            return run_search(
                saved.of_line(ids) or begin_search(alarm, ids),
                line,
                _selection_of(alarm),
                self._comparer(change.device),
                progress=self._display,
                save=lambda current: save(saved.keep(current)),
                earlier_pairs=pairs,  # shown only: each line has a budget of its own
            )

        if len(commits) == 2 and alarm.verification is not None:
            result = only_culprit(alarm.verification, *commits)
            candidates: tuple[Candidate, ...] = (Candidate(commit=after, builds=True, probability=1.0),)
        else:
            ended, result = search_range(commits)
            candidates = candidates_of(ended, commits)
        merges = MergeSearch(self._source, search_range, say=self._display.say)
        result = merges.run(result, commits)
        return result, with_brought_commits(candidates, merges.lines)

    def _read_searches(self, progress: str | None) -> SavedSearches:
        """Return the searches for the culprit of an alarm as they were saved."""
        try:
            return SavedSearches.read(progress)
        except ValidationError:
            self._display.say("the search was saved by another version of the harness: it begins anew")
            return SavedSearches()

    def _comparer(self, device: str) -> CommitComparer:
        """Return the comparer that reaches a device."""
        if len(self._comparers) == 1:
            return self._comparers[0]
        for comparer in self._comparers:
            if any(device in reachable.names for reachable in comparer.workload.platform.devices()):
                return comparer
        raise EnvironmentProblem(f"the device {device} cannot be reached", hint="`harness devices` lists what can")

    def _build_ahead(self, present: Commit) -> None:
        waiting = [entry.commit for entry in self._state.commits.with_status(CommitStatus.WAITING, 2)]
        coming = next((commit for commit in waiting if commit.id != present.id), None)
        if self._ahead is not None and coming is not None:
            self._ahead.submit(_build, self._comparers[-1], coming)


def read_message(source: Source, commit: Commit) -> str:
    """Return the whole message of a commit; its subject where the source knows no more, or cannot be read."""
    if not isinstance(source, DescribingSource):
        return commit.subject
    try:
        return source.message(commit)
    except HarnessError:
        return commit.subject


def _build(comparer: CommitComparer, commit: Commit) -> None:
    try:
        comparer.build(commit)
    except HarnessError:
        return  # it is reported when the commit is compared


def _has_failed(result: Result) -> bool:
    """Return whether the result should have numbers and has none."""
    return not result.ok and not result.outcome.is_skipped


def _is_control_unmeasured(result: Result) -> bool:
    """Return whether a comparison ended without a pair because the control could not be launched, which comes first."""
    comparison, launches = result.comparison, result.control_launches
    if comparison is None or comparison.pairs or result.launches:
        return False
    return bool(launches) and all(launch.outcome is not Outcome.OK for launch in launches)


def _shows(comparison: Comparison, expected: Verdict) -> bool:
    """Return whether the difference that a comparison states goes the way of a verdict, with its whole interval."""
    upwards = (expected is Verdict.REGRESSION) != comparison.higher_is_better
    end = comparison.low if upwards else comparison.high
    return end is not None and (end > 0 if upwards else end < 0)


def _selection_of(alarm: Alarm) -> BenchmarkSelection:
    return BenchmarkSelection(alarm.change.title, alarm.change.device)


def verification_of(result: Result, comparison: Comparison, expected: Verdict, figure: str) -> Verification:
    """Make a verification of the comparison of the builds around a change.

    Args:
        result: Result of the later build.
        comparison: Its comparison with the earlier.
        expected: Verdict that confirms the change.
        figure: The figure of a launch that showed the change.
    """
    shown = tail_figure(figure) if not _shows(comparison, expected) else ""
    tail = tail_effect(comparison, shown) if shown else None
    verdict = Verdict.UNDECIDED if comparison.is_undiscovered else comparison.verdict  # of the speed, not of outputs
    evidence = comparison.evidence
    return Verification(
        confirmed=verdict is expected,
        verdict=verdict,
        reason=comparison.reason,
        effect=tail or comparison.effect,
        figure=shown if tail is not None else "",
        evidence=max(evidence.regression, evidence.improvement),
        pairs=len(comparison.pairs),
        seconds=comparison.seconds,
        log_ratios=quartile_log_ratios(comparison),
        figures=figures_of_pairs(comparison),
        operators=tuple(
            ChangedOperator(name=operator.name, effect=operator.effect, contribution=contribution)
            for operator, contribution in comparison.contributions()
        ),
        device_name=result.device.name if result.device else "",
        platform=result.device.platform if result.device else "",
        result=result.uid,
        last_good_checks=last_good_checks(result),
    )
