"""What the loop of `harness.watch` asks for: commits compared, suspicions verified, culprits searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from pydantic import JsonValue

from harness.analysis.bisect.search import Search
from harness.core.commit import Commit, Source
from harness.core.comparison import Comparison, Verdict
from harness.core.culprit import Culprit, SearchEnding, SearchResult
from harness.core.effect import effect_of, log_ratio_of
from harness.core.errors import BenchmarkFailed, BuildFailed, EnvironmentProblem, HarnessError
from harness.core.protocols import Display
from harness.core.result import Result
from harness.core.trend import ChangeKind
from harness.flows.bisect.search import ratios_of, search
from harness.flows.compare.commits import CommitComparer, ControlFailed
from harness.flows.measure.workload import Selection
from harness.flows.watch.detection import point_of_result
from harness.presentation.operators import find_changed_operators
from harness.watch.store.records import Alarm, Compared, Document, Progress
from harness.watch.store.state import State
from harness.watch.work import Confirmation

_VERIFYING = 3
"""A suspicion is verified with so many times the budget of a comparison: it is measured once, and read by people."""


class Doing:
    """What the loop asks for (`harness.watch.work`).

    Args:
        comparers: One for each platform.
        source: Where commits come from.
        state: What is remembered.
        ahead: Builds the next commit meanwhile; None where that would disturb.
        display: Shown what happens.
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
        self.failed = False
        """Whether a benchmark failed that was to be compared."""

    def compare(self, control: Commit, treatment: Commit) -> Compared:
        """Every benchmark on every device."""
        self._build_ahead(treatment)
        self._display.say(f"{treatment.short} {treatment.subject}")
        results: list[Result] = []
        given_up: list[BuildFailed | BenchmarkFailed] = []
        for comparer in self._comparers:
            try:
                results.extend(comparer.compare(control, treatment, resume=True))
            except ControlFailed as error:
                return Compared(progress=Progress.FAILED, why=error.message, control_failed=True)
            except (BuildFailed, BenchmarkFailed) as error:
                given_up.append(error)  # what another platform has measured is no worse for it
        return self._compared(results, given_up, control)

    def _compared(
        self, results: Sequence[Result], given_up: Sequence[BuildFailed | BenchmarkFailed], control: Commit
    ) -> Compared:
        """What became of a commit whose results are all there, with the platforms on which there was no comparison."""
        points = tuple(point for result in results if (point := point_of_result(result, control.id)) is not None)
        if given_up and not points:
            raise given_up[0]
        failed = [result for result in results if _has_failed(result)]
        self.failed = self.failed or bool(failed or given_up)
        if not points:
            return Compared(progress=Progress.FAILED, why=(failed or results)[0].reason or "nothing was measured")
        said = [error.message for error in given_up]
        if failed:
            said.append(f"{len(failed)} of {len(results)} benchmarks failed: {failed[0].reason}")
        return Compared(points=points, why="; ".join(said))

    def confirm(self, alarm: Alarm) -> Confirmation:
        """The builds around a change, held against one another."""
        before, after = self._source.resolve(alarm.sign.first), self._source.resolve(alarm.sign.last)
        selection = _selection_of(alarm)
        comparer = self._comparer(alarm.sign.device)
        budget = _VERIFYING * comparer.most_pairs
        (result, *_) = comparer.compare(before, after, run_type="verify", selection=selection, most_pairs=budget)
        comparison = result.comparison
        if comparison is None or _has_failed(result):
            raise BenchmarkFailed(f"it could not be measured again: {result.reason or 'it gave no pair'}")
        wanted = Verdict.IMPROVEMENT if alarm.sign.kind == ChangeKind.IMPROVEMENT else Verdict.REGRESSION
        return Confirmation(
            confirmed=comparison.effective_verdict is wanted,
            why=f"{comparison.effective_verdict.value}: {comparison.reason}",
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
        ended, finding = search(begun, commits, _selection_of(alarm), comparer, progress=self._display, save=save)
        return searched(finding, commits, ended)

    def _comparer(self, device: str) -> CommitComparer:
        """The one that reaches a device."""
        if len(self._comparers) == 1:
            return self._comparers[0]
        for comparer in self._comparers:
            if any(reachable.identity == device for reachable in comparer.workload.platform.devices()):
                return comparer
        raise EnvironmentProblem(f"the device {device} is not to be reached", hint="`harness devices` lists what is")

    def _build_ahead(self, present: Commit) -> None:
        waiting = [entry.commit for entry in self._state.commits.those(Progress.WAITING, 2)]
        coming = next((commit for commit in waiting if commit.id != present.id), None)
        if self._ahead is not None and coming is not None:
            self._ahead.submit(_built, self._comparers[-1], coming)


def _built(comparer: CommitComparer, commit: Commit) -> None:
    try:
        comparer.bring(commit)
    except HarnessError:
        return  # told when its turn comes


def _has_failed(result: Result) -> bool:
    """Whether it should have numbers and has none."""
    return not result.ok and not result.outcome.is_skipped


def _selection_of(alarm: Alarm) -> Selection:
    return Selection(str(alarm.sign.document["title"]), alarm.sign.device)


def _verified(result: Result, comparison: Comparison) -> Document:
    """What verifying said, for people and for the search."""
    operators = {one.name: one for one in comparison.operators}
    changed = [(operators[row.name], row.contribution) for row in find_changed_operators(comparison)]
    return {
        "device": result.device.name if result.device else "",
        "platform": result.device.platform if result.device else "",
        "unit": comparison.unit,
        "comparison": comparison.model_dump(mode="json", exclude={"pairs", "operators"}),
        "operators": [
            {"name": one.name, "difference": one.difference, "low": one.low, "high": one.high, "contribution": share}
            for one, share in changed
        ],
        "pairs": len(comparison.pairs),
        "log_ratios": list(ratios_of(comparison)),
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


def _verified_alone(alarm: Alarm, commit: Commit) -> SearchResult:
    """The only commit in question, proven by the pairs that verified the alarm."""
    stored = _verification(alarm).get("comparison")
    comparison = Comparison.model_validate({**(stored if isinstance(stored, dict) else {}), "pairs": ()})
    evidence = comparison.evidence
    culprit = Culprit(
        commits=(commit.id,),
        before=alarm.sign.first,
        probability=1.0,
        effect=effect_of(comparison.difference or 0.0, comparison.low, comparison.high),
        evidence=max(evidence.regression, evidence.improvement),
        confirmed=True,
    )
    return SearchResult(
        ending=SearchEnding.FOUND,
        culprits=(culprit,),
        total_log_ratio=log_ratio_of(comparison.difference or 0.0),
        unexplained_log_ratio=0.0,
        smallest_log_ratio=0.0,
        reason=f"{commit.short} is the only commit in question",
    )


def searched(finding: SearchResult, commits: Sequence[Commit], ended: Search | None = None) -> Document:
    """What a search found, with the commits that it was about."""
    believed = {} if ended is None else {one.commit: one.probability for one in ended.suspects()}
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
