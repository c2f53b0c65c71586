"""One benchmark's comparison while it runs: two launchers, a coin, a test, and a journal of the pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.compare.decision import SequentialTest
from harness.analysis.compare.operators import compare_operators, remark
from harness.analysis.compare.recompute import Conclusion, conclude, doubted
from harness.analysis.compare.resolution import exact
from harness.analysis.compare.statistics import launch_statistics, statistics_of
from harness.analysis.results import build_info
from harness.core.comparison import Comparison, Interleave, OperatorMedians, Pair, Parameters, Verdict
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.measurement import Job, Measurement
from harness.core.metric import Direction, direction_of
from harness.core.note import Note
from harness.core.result import Outcome
from harness.flows.compare.journal import Header, Journal, Losses, Remembered
from harness.run.interleaving import INTERLEAVINGS
from harness.run.launcher import Launcher
from harness.run.pairs import PairedLaunches, TooManyFailures
from harness.shell import Interrupted


@dataclass(frozen=True, slots=True)
class ComparisonSubject:
    """What is compared: two jobs that differ in their build alone.

    Attributes:
        control: The job of the control.
        treatment: The job of the treatment.
        device: Where both run.
        metric: What to compare; None takes the latency.
    """

    control: Job
    treatment: Job
    device: Device
    metric: str | None = None

    @property
    def title(self) -> str:
        """How a person names it."""
        return self.treatment.benchmark.title

    @property
    def key(self) -> str:
        """What a coin is tossed for."""
        return f"{self.treatment.benchmark.digest}:{self.device.identity}:{self.metric or ''}"

    def journal(self, folder: Path, interleave: Interleave) -> Journal:
        """Where its pairs are kept: those of equal builds with equal files, interleaved in the same way."""
        files = sorted({(key, file.md5) for job in (self.control, self.treatment) for key, file in job.files.items()})
        subject = f"{self.key}:{interleave}:{files}"
        return Journal(folder, subject, self.control.build, self.treatment.build)


class ComparisonRun:
    """A comparison that goes on pair by pair.

    Args:
        subject: What is compared.
        parameters: How it is decided.
        make_launcher: Makes the launcher of a job with a scratch folder of its own.
        journals: Folder of journals.
        resume: Whether to go on where an interrupted comparison was.
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
        self.subject = subject
        self._journal = subject.journal(journals, parameters.interleave)
        self._earlier = earlier = self._usable(self._journal.read()) if resume else None
        self._parameters = parameters.model_copy(update={"seed": earlier.header.seed}) if earlier else parameters
        self._launchers = (make_launcher(subject.control), make_launcher(subject.treatment))
        self._launches = PairedLaunches(
            *self._launchers,
            seed=self._parameters.seed,
            key=subject.key,
            statistics=self._figures,
            interleaving=INTERLEAVINGS[parameters.interleave](),
            metric=earlier.header.metric if earlier else subject.metric,
            first=earlier.next_index if earlier else 0,
        )
        self._launches.unit = earlier.header.unit if earlier else ""
        self._pairs: list[Pair] = []
        self._operators: list[OperatorMedians] = []
        self._warm = False
        self.test = SequentialTest(self._parameters, False)
        self.failure: tuple[Outcome, str, str | None] | None = None

    @property
    def pairs(self) -> int:
        """Valid pairs so far, those of an interrupted comparison among them."""
        return len(self._pairs)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that will be told, as far as it is known; None while pairs are wanted."""
        if self.test.verdict() is None:
            return None
        return self._found().verdict

    @property
    def known(self) -> frozenset[str]:
        """The metric whose samples the launches of an interrupted comparison took along."""
        return frozenset([self._earlier.header.metric]) if self._earlier and self._earlier.pairs else frozenset()

    def begin(self) -> None:
        """Take up what an interrupted comparison left, and warm up both sides, unless its pairs say enough."""
        self._guard(self._begin)
        self.test.update_overhead(self._losses().seconds)  # also what a launch cost that failed

    def step(self) -> None:
        """Measure one more pair. Both sides are warmed up first, where nothing was launched yet."""
        self._guard(self._measure_pair)

    def end(self) -> None:
        """Run what comes after the last launch; the comparison can be told now."""
        if self.failure is None and self._warm:
            self._guard(self._launches.end)

    def told(self, place: str, *, ok: bool) -> None:
        """Remember that it was told, until the run ends.

        Args:
            place: Where the result is kept.
            ok: Whether it is no failure.
        """
        if ok:
            self._journal.tell(place)
        else:
            self._journal.fail()

    def forget(self) -> None:
        """The run has ended in order: nothing will be gone on with."""
        self._journal.forget()

    def measurements(self) -> tuple[Measurement, Measurement]:
        """What the launchers saw: control, treatment."""
        outcome, reason, hint = self.failure or (Outcome.OK, None, None)
        control, treatment = self._launchers
        return control.measurement(outcome, reason, hint), treatment.measurement(outcome, reason, hint)

    def comparison(self, *, discovered: bool) -> Comparison:
        """What the pairs say now.

        Args:
            discovered: Whether the regression survives the control of false discoveries.
        """
        found = self._found()
        reason = self.failure[1] if self.failure else found.reason
        operators = compare_operators(self._operators, self._parameters)
        header = self._header()
        return Comparison(
            control=build_info(self.subject.control.build),
            metric=header.metric,
            unit=header.unit,
            higher_is_better=self._higher_is_better(),
            statistics=header.statistics,
            parameters=self._parameters.model_copy(update={"interleave": header.interleave}),
            pairs=tuple(self._pairs),
            voided=self._launches.voided + (self._earlier.voided if self._earlier else 0),
            verdict=Verdict.UNDECIDED if self.failure else found.verdict,
            reason=reason,
            difference=found.difference,
            low=found.low,
            high=found.high,
            evidence=found.evidence,
            discovered=discovered or found.verdict is not Verdict.REGRESSION,
            seconds=self.test.seconds,
            operators=operators,
            notes=(
                *header.notes,
                *self._journal.notes,
                *self._resumed(),
                *remark(self._operators, operators, found.verdict, self._parameters),
                *(() if self.failure else found.notes),
            ),
        )

    def _found(self) -> Conclusion:
        """What the pairs say, as far as they speak for all launches."""
        return doubted(conclude(self.test), self._losses().doubt)

    def _usable(self, remembered: Remembered | None) -> Remembered | None:
        """What was remembered, unless its figures are others than are asked for now."""
        if remembered is None:
            return None
        header = remembered.header
        return remembered if header.statistics == self._statistics(header.metric, header.unit) else None

    def _begin(self) -> None:
        if self._earlier is None:
            self._warm_up()
            self.test = self._new_test()
            self._journal.begin(self._header())
            return
        self.test = self._new_test()
        self._take_up(self._earlier)
        self.test.update_overhead(self._losses().seconds)
        if self._earlier.failed or self.test.verdict() is None:
            self._warm_up()  # a failure may be one of the launches and not of the pairs: it has to show again

    def _new_test(self) -> SequentialTest:
        return SequentialTest(self._parameters, self._higher_is_better(), exact=exact(self._launches.unit))

    def _warm_up(self) -> None:
        self._launches.begin()
        self._warm = True

    def _take_up(self, earlier: Remembered) -> None:
        """Learn what the stored pairs say, as far as the budget goes."""
        for pair in earlier.pairs:
            if self.test.spent:
                break
            self._learn(pair)
        learnt = {pair.index for pair in self._pairs}
        self._operators.extend(one for one in earlier.operators if one.pair in learnt)
        if (doubt := earlier.losses.doubt) is not None:
            self._launchers[1].note(
                Note(code=earlier.losses.code, message=f"before an interruption, {doubt}", trust=False)
            )

    def _losses(self) -> Losses:
        """All so far, those of an interrupted comparison among them."""
        earlier = self._earlier.losses if self._earlier is not None else Losses()
        seconds = earlier.seconds + self._launches.lost_s
        if (doubt := self._launches.doubt) is None:
            return earlier.model_copy(update={"seconds": seconds})
        return Losses(seconds=seconds, doubt=doubt.message, code=doubt.code)

    def _header(self) -> Header:
        """What its pairs have in common, as far as is known now."""
        if self._earlier is not None and not self._warm:
            return self._earlier.header
        interleaving = self._launches.interleaving
        return Header(
            seed=self._parameters.seed,
            metric=self._launches.metric or self.subject.metric or "",
            unit=self._launches.unit,
            statistics=self._statistics(self._launches.metric, self._launches.unit),
            interleave=interleaving.interleave,
            notes=tuple(interleaving.notes),
        )

    def _resumed(self) -> tuple[Note, ...]:
        earlier = sum(pair.control_launch is None for pair in self._pairs)
        if not earlier:
            return ()
        message = f"{earlier} of {self.pairs} pairs were measured before an interruption: their samples are not kept"
        return (Note(code="resumed", message=message),)

    def _measure_pair(self) -> None:
        if not self._warm:
            self._warm_up()
        index = self._launches.next_index
        try:
            pair = self._launches.next_pair()
        finally:  # also what the last straw cost
            losses = self._losses()
            self.test.update_overhead(losses.seconds)
        if pair is None:
            self._journal.void(index, losses)
            return
        operators = self._launches.operators
        self._journal.add(pair, operators, losses)
        self._learn(pair)
        self._operators.extend([operators] if operators is not None else [])

    def _learn(self, pair: Pair) -> None:
        self._pairs.append(pair)
        self.test.add(pair)

    def _figures(self, samples: Sequence[float]) -> tuple[float, ...]:
        return launch_statistics(samples, higher_is_better=self._higher_is_better())

    def _statistics(self, metric: str | None, unit: str) -> tuple[str, ...]:
        return statistics_of(higher_is_better=self._is_better_higher(metric, unit))

    def _higher_is_better(self) -> bool:
        return self._is_better_higher(self._launches.metric, self._launches.unit)

    def _is_better_higher(self, metric: str | None, unit: str) -> bool:
        stated = self.subject.treatment.benchmark.direction
        return direction_of(metric or "", unit, stated) is Direction.HIGHER

    def _guard(self, action: Callable[[], None]) -> None:
        """A failure ends this comparison and no other; only a lost device concerns all."""
        try:
            action()
        except TooManyFailures as error:
            self.failure = (error.outcome, error.message, error.hint)
        except BenchmarkUnsupported as error:
            self.failure = (Outcome.UNSUPPORTED, error.message, error.hint)
        except BenchmarkFailed as error:
            self.failure = (Outcome.FAILED, error.message, error.hint)
        except DeviceLost as error:
            self.failure = (Outcome.DEVICE_LOST, error.message, error.hint)
        except EnvironmentProblem as error:
            self.failure = (Outcome.FAILED, error.message, error.hint)
        except Interrupted:
            raise
        except Exception as error:  # noqa: BLE001 - isolation of one benchmark
            hint = "a defect of the harness: please report it with these words"
            self.failure = (Outcome.FAILED, f"the harness itself failed: {type(error).__name__}: {error}", hint)
