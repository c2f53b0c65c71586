"""One benchmark's comparison while it runs: paired launches, a sequential test, and a journal of the pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from harness.analysis.compare.operators import compare_operators, operator_notes
from harness.analysis.compare.statistics import launch_statistics, statistics_of
from harness.analysis.results import build_info
from harness.core.benchmark import Benchmark
from harness.core.comparison import Comparison, Interleave, OperatorMedians, Pair, Parameters
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.core.evaluation import OutputComparison
from harness.core.measurement import Job, Measurement
from harness.core.note import NO_OPERATORS, Note
from harness.core.result import Outcome
from harness.core.verdict import Verdict
from harness.flows.compare.journal import Header, Journal, JournalContents, LostLaunches
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.compare.outputs import SideLaunchers, compare_sides
from harness.flows.measure.plan import Failure
from harness.running.compared_metric import ComparedMetric
from harness.running.interleaving import INTERLEAVINGS, choose_interleave
from harness.running.launcher import Launcher
from harness.running.measure import outcome_of
from harness.running.pairs import PairedLaunches
from harness.running.passes import note_unused_long_run
from harness.running.probing import note_unused_probes
from harness.shell import Interrupted


class ComparisonSubject(Struct, frozen=True):
    """Two jobs that differ in their build alone.

    Attributes:
        control: The job of the control.
        treatment: The job of the treatment.
        device: The device that both run on.
        metric: The metric to compare; None takes the latency.
        with_outputs: Whether to compare the outputs of both too.
        further: Further metrics to compare by the same launches.
    """

    control: Job
    treatment: Job
    device: Device
    metric: str | None = None
    with_outputs: bool = True
    further: tuple[ComparedMetric, ...] = ()

    @property
    def title(self) -> str:
        """Title of the benchmark."""
        return self.treatment.benchmark.title

    @property
    def key(self) -> str:
        """Key of the coin."""
        asked = (metric.name or "" for metric in self.further if not metric.is_optional)
        metrics = "\n".join((self.metric or "", *asked))
        return f"{self.treatment.benchmark.digest}:{self.device.identity}:{metrics}"

    def choose_interleave(self, asked: Interleave) -> Interleave:
        """Return how the launches of its pairs alternate."""
        return choose_interleave(asked, self.treatment.benchmark, self.device.platform)

    def journal(self, folder: Path, asked: Interleave) -> Journal:
        """Return the journal of its pairs: of equal builds with equal files, interleaved in the same way."""
        interleave = self.choose_interleave(asked)
        files = sorted({(key, file.md5) for job in (self.control, self.treatment) for key, file in job.files.items()})
        subject = f"{self.key}:{interleave}:{files}"
        return Journal(folder, subject, self.control.build, self.treatment.build)


class ComparisonRun:
    """Comparison that goes on pair by pair: it joins launches, test and journal, each of which owns its state.

    Args:
        subject: What to compare.
        parameters: How to decide.
        make_launcher: Makes the launcher of a job with a scratch folder of its own.
        journals: Folder of journals.
        resume: Whether to continue an interrupted comparison.
    """

    def __init__(
        self,
        subject: ComparisonSubject,
        parameters: Parameters,
        *,
        make_launcher: Callable[[Job], Launcher],
        journals: Path,
        resume: bool,
    ) -> None:
        self._subject = subject
        interleave = subject.choose_interleave(parameters.interleave)
        parameters = parameters.model_copy(update={"interleave": interleave})
        self._journal = subject.journal(journals, interleave)
        self._earlier = earlier = self._usable(self._journal.read()) if resume else None
        self._parameters = parameters.model_copy(update={"seed": earlier.header.seed}) if earlier else parameters
        self._control, self._treatment = make_launcher(subject.control), make_launcher(subject.treatment)
        self._launches = PairedLaunches(
            self._control,
            self._treatment,
            seed=self._parameters.seed,
            key=subject.key,
            statistics=launch_statistics,
            interleaving=INTERLEAVINGS[interleave](),
            metric=earlier.header.metric if earlier else subject.metric,
            unit=earlier.header.unit if earlier else "",
            further=_further_of(earlier.header, subject) if earlier else subject.further,
            by_token=earlier.header.by_token if earlier else None,
            first_index=earlier.next_index if earlier else 0,
        )
        self._decisions = self._undecided()
        self._operators: list[OperatorMedians] = []
        self._outputs = earlier.outputs if earlier else None
        self._is_warm = False
        self._failure: Failure | None = None

    @property
    def subject(self) -> ComparisonSubject:
        """The subject of the comparison."""
        return self._subject

    @property
    def title(self) -> str:
        """Title of the benchmark."""
        return self._subject.title

    @property
    def decisions(self) -> Sequence[MetricDecision]:
        """The decisions on its metrics, the one that the benchmark is about first."""
        return self._decisions

    @property
    def failure(self) -> Failure | None:
        """Reason for its end without a verdict; None where there is none."""
        return self._failure

    @property
    def pairs(self) -> int:
        """Number of valid pairs so far, including those of an interrupted comparison."""
        return len(self._decisions[0].pairs)

    @property
    def known_metrics(self) -> frozenset[str]:
        """The metrics whose samples were lost with the launches of an interrupted comparison."""
        if self._earlier is None or not self._earlier.pairs:
            return frozenset()
        return frozenset(decision.metric.name or "" for decision in self._decisions)

    def begin(self) -> None:
        """Take up what an interrupted comparison left, and warm up both sides, unless its pairs suffice."""
        self._record_failure_of(self._begin)
        self._update_lost(self._lost_launches())  # includes what a failed launch cost

    def measure_pair(self) -> None:
        """Measure one more pair. Both sides are warmed up first, where nothing was launched yet."""
        self._record_failure_of(self._measure_pair)

    def end(self) -> None:
        """Run the steps after the last launch; then the comparison can be reported."""
        if self._failure is None and self._is_warm:
            self._record_failure_of(self._launches.end)

    def fail(self, failure: Failure) -> None:
        """Give up because of something that concerns other comparisons too: a lost device."""
        self._failure = failure

    def record_report(self, decision: MetricDecision, place: str, *, ok: bool) -> None:
        """Keep in the journal, until the command ends, that the result of a metric was reported.

        Args:
            decision: The decision on the metric.
            place: Where the result is stored.
            ok: Whether it is no failure.
        """
        if ok:
            self._journal.record_report(place, decision.metric.name or "")
        else:
            self._journal.record_failure()

    def delete_journal(self) -> None:
        """Delete the journal: the command has ended in order, and nothing is left to resume."""
        self._journal.delete()

    def measurements(self) -> tuple[Measurement, Measurement]:
        """Return the measurements of control and treatment."""
        failure = self._failure
        ending = (Outcome.OK, None, None) if failure is None else (failure.outcome, failure.reason, failure.hint)
        return self._control.measurement(*ending), self._treatment.measurement(*ending)

    def comparison(self, decision: MetricDecision) -> Comparison:
        """Return what the pairs of a metric show now; whether a change is a discovery is not known yet."""
        conclusion, metric = decision.conclusion(), decision.metric
        operators = compare_operators(self._operators, self._parameters)
        header = self._header()
        return Comparison(
            control=build_info(self._subject.control.build),
            metric=metric.name or "",
            unit=metric.unit,
            higher_is_better=metric.higher_is_better,
            statistics=statistics_of(higher_is_better=metric.higher_is_better),
            parameters=self._parameters.model_copy(update={"interleave": header.interleave}),
            pairs=tuple(decision.pairs),
            voided=self._launches.discarded + (self._earlier.discarded if self._earlier else 0),
            verdict=Verdict.UNDECIDED if self._failure else conclusion.verdict,
            reason=self._failure.reason if self._failure else conclusion.reason,
            difference=conclusion.difference,
            low=conclusion.low,
            high=conclusion.high,
            figure=conclusion.figure,
            evidence=conclusion.evidence,
            discovered=not conclusion.verdict.is_change,
            seconds=decision.test.seconds,
            operators=operators,
            outputs=self._outputs,
            notes=(
                *header.notes,
                *self._journal.notes,
                *note_unused_probes(self._subject.control.benchmark),
                *note_unused_long_run(self._subject.control.benchmark),
                *self._resumed_note(),
                *operator_notes(
                    self._operators, operators, conclusion.verdict, self._parameters, self._explain_missing_operators()
                ),
                *(() if self._failure else conclusion.notes),
            ),
        )

    def _explain_missing_operators(self) -> Mapping[str, str]:
        """Return what launches of each side said of operators that they could not time."""
        sides = {"control": self._control, "treatment": self._treatment}
        return {
            name: note.message
            for name, side in sides.items()
            for note in side.measurement(Outcome.OK, None, None).notes
            if note.code == NO_OPERATORS
        }

    def _begin(self) -> None:
        if self._earlier is None:
            self._warm_up()
            self._journal.start(self._header())
            self._compare_outputs()
            return
        self._take_up(self._earlier)
        self._update_lost(self._lost_launches())
        if self._earlier.failed or any(decision.test.verdict() is None for decision in self._decisions):
            self._warm_up()  # a failure may be one of the launches and not of the pairs: it has to show again
            self._compare_outputs()

    def _undecided(self) -> tuple[MetricDecision, ...]:
        """Return decisions without pairs on the metrics, as far as they are known."""
        metrics = (self._launches.metric, *self._launches.further)
        return tuple(MetricDecision(metric, self._parameters) for metric in metrics)

    def _warm_up(self) -> None:
        self._launches.begin()
        self._is_warm = True
        if not self.pairs:
            self._choose_metrics()

    def _choose_metrics(self) -> None:
        """Take up what the first launches have shown of the metrics; those that are not reported are not compared."""
        further = {metric.name: metric for metric in self._launches.further}
        main, *others = self._decisions
        main.begin(self._launches.metric)
        self._decisions = (main, *(decision for decision in others if decision.metric.name in further))
        for decision in self._decisions[1:]:
            decision.begin(further[decision.metric.name])

    def _compare_outputs(self) -> None:
        """Compare the outputs of both sides, unless that was done before an interruption."""
        if self._outputs is not None or not self._subject.with_outputs:
            return
        relative = self._parameters.output_tolerance
        if relative is None:
            relative = self._subject.treatment.benchmark.output_tolerance

        def compare(benchmark: Benchmark) -> OutputComparison:
            return compare_sides(SideLaunchers(self._control, self._treatment, benchmark, relative))

        self._outputs = self._launches.run_before_pairs(compare)
        self._journal.record_outputs(self._outputs)

    def _take_up(self, earlier: JournalContents) -> None:
        """Add the stored pairs, as far as the budget goes."""
        for decision, metric in zip(self._decisions, (self._launches.metric, *self._launches.further), strict=True):
            decision.begin(metric)
        for pair in earlier.pairs:
            if self._decisions[0].test.is_budget_spent:
                break
            self._add(pair, earlier.further.get(pair.index, {}))
        added = {pair.index for pair in self._decisions[0].pairs}
        self._operators.extend(medians for medians in earlier.operators if medians.pair in added)
        if (doubt := earlier.lost.doubt) is not None:
            message = f"before an interruption, {doubt}"
            self._treatment.note(Note(code=earlier.lost.code, message=message, trust=False))

    def _measure_pair(self) -> None:
        if not self._is_warm:
            self._warm_up()
        try:
            measured = self._launches.measure_pair()
        finally:  # includes what the launch cost after which it is given up
            lost = self._lost_launches()
            self._update_lost(lost)
        if measured.pair is None:
            self._journal.append_discarded(measured.index, lost)
            return
        self._journal.append_pair(measured.pair, measured.operators, lost, measured.further)
        self._add(measured.pair, measured.further)
        self._operators.extend([measured.operators] if measured.operators is not None else [])

    def _add(self, pair: Pair, further: Mapping[str, Pair]) -> None:
        main, *others = self._decisions
        main.add(pair)
        for decision in others:
            decision.add(further[decision.metric.name or ""])

    def _update_lost(self, lost: LostLaunches) -> None:
        for decision in self._decisions:
            decision.update_lost(lost.seconds, lost.doubt)

    def _lost_launches(self) -> LostLaunches:
        """Return the launches that are part of no pair, including those of an interrupted comparison."""
        earlier = self._earlier.lost if self._earlier is not None else LostLaunches()
        seconds = earlier.seconds + self._launches.overhead_s
        if (doubt := self._launches.doubt) is None:
            return earlier.model_copy(update={"seconds": seconds})
        return LostLaunches(seconds=seconds, doubt=doubt.message, code=doubt.code)

    def _header(self) -> Header:
        """Return what its pairs have in common, as far as is known now."""
        if self._earlier is not None and not self._is_warm:
            return self._earlier.header
        metric, interleaving = self._launches.metric, self._launches.interleaving
        return Header(
            seed=self._parameters.seed,
            metric=metric.name or "",
            unit=metric.unit,
            statistics=statistics_of(higher_is_better=metric.higher_is_better),
            interleave=interleaving.interleave,
            notes=tuple(interleaving.notes),
            further={further.name or "": further.unit for further in self._launches.further},
            by_token=tuple(each.name or "" for each in (metric, *self._launches.further) if each.is_by_token),
        )

    def _usable(self, contents: JournalContents | None) -> JournalContents | None:
        """Return the contents of the journal, unless its statistics are others than are wanted now."""
        if contents is None:
            return None
        header = contents.header
        metric = ComparedMetric(header.metric, header.unit, self._subject.treatment.benchmark.direction)
        wanted = statistics_of(higher_is_better=metric.higher_is_better)
        return contents if header.statistics == wanted else None

    def _resumed_note(self) -> tuple[Note, ...]:
        earlier = sum(pair.control_launch is None for pair in self._decisions[0].pairs)
        if not earlier:
            return ()
        message = f"{earlier} of {self.pairs} pairs are from before an interruption: they count, without their samples"
        return (Note(code="resumed", message=message),)

    def _record_failure_of(self, action: Callable[[], None]) -> None:
        """Run an action whose failure ends this comparison and no other; only a lost device concerns all."""
        try:
            action()
        except (BenchmarkFailed, EnvironmentProblem) as error:
            self._failure = Failure(outcome_of(error), error.message, error.hint)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            hint = "this is a defect of the harness: please report it with this message"
            self._failure = Failure(Outcome.FAILED, f"the harness itself failed: {type(error).__name__}: {error}", hint)


Hypothesis = tuple[ComparisonRun, MetricDecision]
"""One metric of one comparison: what control of false discoveries counts."""


def _further_of(header: Header, subject: ComparisonSubject) -> tuple[ComparedMetric, ...]:
    """Return the further metrics that an interrupted comparison had, with their units."""
    benchmark = subject.treatment.benchmark
    return tuple(ComparedMetric(name, unit, benchmark.direction) for name, unit in header.further.items())
