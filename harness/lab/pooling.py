"""Batches of pairs of one benchmark from the devices of a class, put together to one comparison.

Each pair runs on one device, and its coin was tossed by itself. So the pairs of all devices together are as good a
sequence as those of one: given everything before, the coin alone decides which side meets which moment. Batches count
in the order in which they were asked for, whatever they show and whenever they arrive.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from harness.analysis.compare.recompute import replay
from harness.core.benchmark import Benchmark
from harness.core.comparison import Pair, Parameters
from harness.core.device import CLASS, Device
from harness.core.metric import is_counted
from harness.core.note import Note
from harness.core.percent import in_percent
from harness.core.result import Outcome, Report
from harness.flows.compare.metric_decision import MetricDecision
from harness.flows.measure.plan import Failure
from harness.lab.merging import comparison_of, merge_reports, renumber
from harness.lab.targets import Target
from harness.running.comparability import find_doubt
from harness.running.compared_metric import ComparedMetric

BATCH: Final = 10
"""Pairs of a batch. A device that goes away loses one batch, and each costs a launch of both sides to warm up."""

DEVICES_DIFFER: Final = "devices_differ"
"""Code of the note that pairs of some devices of a class exclude what those of others show."""

_FEWEST_FAILURES: Final = 3
_FAILING_SHARE: Final = 0.2
"""As for launches: a batch that fails now and then costs its pairs; a fifth of them is the finding."""


class PooledBatch(Struct, frozen=True):
    """Answer to a batch.

    Attributes:
        number: Number of the batch: 0 was asked for first.
        reports: A report of each metric, the one that the benchmark is about first; none of a batch that failed.
    """

    number: int
    reports: tuple[Report, ...]


class PooledComparison:
    """Comparison of one benchmark on a class of devices.

    Args:
        benchmark: The benchmark.
        target: The devices.
        parameters: How to decide.
        metrics: The metrics, as far as they are known, the one that the benchmark is about first.
        expected_s: Seconds that a pair is expected to take; None where that is not known.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        target: Target,
        parameters: Parameters,
        metrics: Sequence[ComparedMetric],
        expected_s: float | None = None,
    ) -> None:
        self.benchmark = benchmark
        self.target = target
        self.expected_s = expected_s
        self._parameters = parameters
        self._decisions = tuple(MetricDecision(metric, parameters) for metric in metrics)
        self._is_known = False
        self._arrived: dict[int, PooledBatch] = {}
        self._asked: dict[int, int] = {}
        self._counted: list[Sequence[Report]] = []
        self._next_number = self._next_counted = 0
        self._failures: list[Failure] = []
        self._failure: Failure | None = None
        self._overhead_s = 0.0

    @property
    def title(self) -> str:
        """Title of the benchmark, with the devices."""
        return f"{self.benchmark.title} on {self.target.label}"

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
        """Number of pairs that count so far."""
        return len(self._decisions[0].pairs)

    @property
    def is_waiting(self) -> bool:
        """True while a batch that was asked for has no answer."""
        return bool(self._asked)

    @property
    def asked_pairs(self) -> int:
        """Number of pairs that it has or waits for."""
        waiting = sum(self._asked.values()) + sum(
            len(comparison_of(batch.reports[0]).pairs) for batch in self._arrived.values() if batch.reports
        )
        return self.pairs + waiting

    def may_ask(self) -> bool:
        """Return whether its budget allows one more batch."""
        most = 2 * math.ceil(self._parameters.max_pairs / BATCH) + _FEWEST_FAILURES
        return (
            self._failure is None
            and self.asked_pairs < self._parameters.max_pairs
            and not self._decisions[0].test.is_budget_spent
            and self._next_number < most
        )

    def ask(self) -> tuple[int, Parameters]:
        """Ask for one more batch, and return its number, and how to measure it: with a coin of its own."""
        number, self._next_number = self._next_number, self._next_number + 1
        count = min(BATCH, self._parameters.max_pairs - self.asked_pairs)
        self._asked[number] = count
        limit = self._parameters.max_seconds
        left = None if limit is None else max(limit - self._decisions[0].test.seconds, 1e-3)
        toss = hashlib.sha256(f"{self._parameters.seed}:{self.target.resource}:{number}".encode()).digest()
        seed = int.from_bytes(toss[:4], "big") >> 1
        return number, self._parameters.model_copy(update={"max_pairs": count, "max_seconds": left, "seed": seed})

    def add(self, batch: PooledBatch) -> None:
        """Take the answer to a batch. It counts when all before it have answered."""
        self._asked.pop(batch.number, None)
        self._next_number = max(self._next_number, batch.number + 1)
        self._arrived[batch.number] = batch
        self._count_arrived()

    def add_failure(self, number: int, failure: Failure) -> None:
        """Take notice that a batch failed; a comparison of which too many do has failed."""
        self._record_failure(failure)
        self.add(PooledBatch(number, ()))

    def _record_failure(self, failure: Failure) -> None:
        self._failures.append(failure)
        failed = len(self._failures)
        if failed >= _FEWEST_FAILURES and failed > _FAILING_SHARE * (self._next_number - len(self._asked)):
            self._failure = failure

    def fail(self, failure: Failure) -> None:
        """End it without a verdict: no device is left."""
        self._failure = failure

    def report(self, names: tuple[str, str]) -> Sequence[tuple[MetricDecision, Report]]:
        """Return the report of each metric; whether a change survives is not known yet.

        Args:
            names: Names by which control and treatment were asked for.
        """
        return [
            (decision, self._report(place, names)) for place, decision in enumerate(self._decisions) if self._counted
        ]

    def _report(self, place: int, names: tuple[str, str]) -> Report:
        decision = self._decisions[place]
        reports = [batch[place] for batch in self._counted]
        report = merge_reports(reports, decision.pairs, self._parameters, names)
        notes = (*report.result.notes, *self._notes(decision))
        result = report.result.model_copy(update={"device": self.device(), "notes": notes})
        return report.model_copy(update={"result": result})

    def device(self) -> Device:
        """Return the devices as one, with the number of those that measured."""
        count = len({pair.device for pair in self._decisions[0].pairs})
        return device_of(self.target, count)

    def _notes(self, decision: MetricDecision) -> Iterator[Note]:
        """Yield what a reader must know of the devices, and of batches that failed."""
        if self._failures:
            reason = self._failures[0].reason
            count = len(self._failures)
            message = f"{count} batch{'es' if count > 1 else ''} of pairs failed: {reason}"
            yield Note(code="failed_batches", message=message, hint=self._failures[0].hint)
        by_device: dict[str, list[Pair]] = {}
        for pair in decision.pairs:
            by_device.setdefault(pair.device, []).append(pair)
        if len(by_device) > 1:
            yield from _note_differing(by_device, self._parameters, decision.metric)

    def _count_arrived(self) -> None:
        while (batch := self._arrived.pop(self._next_counted, None)) is not None:
            self._next_counted += 1
            if batch.reports:
                self._count(batch.reports)

    def _count(self, reports: Sequence[Report]) -> None:
        if not self._is_known:
            self._know_metrics(reports)
        own = {decision.metric.name: place for place, decision in enumerate(self._decisions)}
        ordered = sorted(
            (report for report in reports if comparison_of(report).metric in own),
            key=lambda report: own[comparison_of(report).metric],
        )
        if len(ordered) != len(own):
            found = {comparison_of(report).metric for report in ordered}
            missing = ", ".join(sorted(name or "metric" for name in own if name not in found))
            self._record_failure(Failure(Outcome.FAILED, f"a device reported no {missing}"))
            return
        for decision, report in zip(self._decisions, ordered, strict=True):
            if (unit := comparison_of(report).unit) != decision.metric.unit:
                reason = f"a device reported {decision.metric.name} in {unit}, and another in {decision.metric.unit}"
                self._record_failure(Failure(Outcome.FAILED, reason))
                return
        first = comparison_of(ordered[0])
        kept = [
            place
            for place in range(len(first.pairs))
            if self.pairs + place < self._parameters.max_pairs and not self._decisions[0].test.is_budget_spent
        ]
        renumbered = [
            renumber(report, kept, [batch[place] for batch in self._counted]) for place, report in enumerate(ordered)
        ]
        self._counted.append(renumbered)
        spent = math.fsum(pair.seconds for pair in first.pairs)
        self._overhead_s += max(0.0, first.seconds - spent)
        doubt = find_doubt(note for batch in self._counted for note in batch[0].result.notes)
        for decision, report in zip(self._decisions, renumbered, strict=True):
            for pair in comparison_of(report).pairs:
                decision.add(pair)
            decision.update_lost(self._overhead_s, doubt)

    def _know_metrics(self, reports: Sequence[Report]) -> None:
        """Take up the metrics as the first batch reports them; those that it does not report are not compared."""
        self._is_known = True
        reported = {comparison.metric: comparison for comparison in map(comparison_of, reports)}
        main, *others = self._decisions
        first = comparison_of(reports[0])
        main.begin(replace(main.metric, name=first.metric, unit=first.unit))
        self._decisions = (main, *(decision for decision in others if decision.metric.name in reported))
        for decision in self._decisions[1:]:
            decision.begin(replace(decision.metric, unit=reported[decision.metric.name or ""].unit))


def device_of(target: Target, count: int = 0) -> Device:
    """Return the devices of a target as one: the class, or the only one that was named.

    Args:
        target: The devices.
        count: Number of those that measured; 0 takes all.
    """
    own = [place.device for place in target.places]
    if target.is_single:
        return own[0]
    common = {
        name: getattr(own[0], name)
        for name in ("kind", "microarchitecture", "os", "abi", "cores", "memory_bytes")
        if len({getattr(device, name) for device in own}) == 1
    }
    return Device(
        platform=own[0].platform,
        identity=f"{CLASS}{target.label}",
        name=target.label,
        attributes={"devices": str(count or len(own))},
        **common,
    )


def _note_differing(
    by_device: Mapping[str, Sequence[Pair]], parameters: Parameters, metric: ComparedMetric
) -> Iterator[Note]:
    """Yield a note where the intervals of two devices have nothing in common."""
    exact = is_counted(metric.name or "", metric.unit)
    intervals = {}
    for device, pairs in by_device.items():
        low, high = replay(pairs, parameters, metric.higher_is_better, exact=exact).interval()
        intervals[device] = (-1.0 if low is None else low, math.inf if high is None else high)
    lowest = min(intervals, key=lambda device: intervals[device][1])
    highest = max(intervals, key=lambda device: intervals[device][0])
    if intervals[highest][0] <= intervals[lowest][1]:
        return
    opposite = intervals[highest][0] > 0 > intervals[lowest][1]
    yield Note(
        code=DEVICES_DIFFER,
        message=f"devices of the class differ: at least {in_percent(intervals[highest][0], 2, signed=True)} on "
        f"{highest}, at most {in_percent(intervals[lowest][1], 2, signed=True)} on {lowest}",
        trust=not opposite,
        hint="measure one of them by --devices, and look at what it has of its own",
    )
