"""One benchmark's comparison while it runs: two arms, a coin, a judge, and a journal of the pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.analysis.compare.decision import Judge
from harness.analysis.compare.operators import compare_operators, remark
from harness.analysis.compare.recompute import conclude
from harness.analysis.compare.statistics import launch_statistics, statistics_of
from harness.analysis.conclude import build_info
from harness.core.comparison import Comparison, OperatorMedians, Pair, Parameters, Verdict
from harness.core.device import Device
from harness.core.errors import BenchmarkFailed, BenchmarkUnsupported, DeviceLost, EnvironmentProblem
from harness.core.measurement import Job, Measurement
from harness.core.metric import Direction, direction_of
from harness.core.note import Note
from harness.core.result import Outcome
from harness.flows.journal import Journal
from harness.run.arm import Arm
from harness.run.pairs import PairedLaunches, Spoilt
from harness.run.ways import WAYS
from harness.shell import Interrupted


@dataclass(frozen=True, slots=True)
class Versus:
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
        """What pairs must share to belong together."""
        return f"{self.treatment.benchmark.digest}:{self.device.identity}:{self.metric or ''}"


class Contest:
    """A comparison that goes on pair by pair.

    Args:
        versus: What is compared.
        parameters: How it is decided.
        make_arm: Makes the arm of a job with a scratch folder of its own.
        journals: Folder of journals.
        resume: Whether to go on where an interrupted comparison was.
    """

    def __init__(
        self,
        versus: Versus,
        parameters: Parameters,
        *,
        make_arm: Callable[[Job], Arm],
        journals: Path,
        resume: bool,
    ) -> None:
        self.versus = versus
        self._journal = Journal(
            journals, f"{versus.key}:{parameters.interleave}", versus.control.build, versus.treatment.build
        )
        remembered = self._journal.read() if resume else None
        seed = remembered.seed if remembered else parameters.seed
        self._parameters = parameters.model_copy(update={"seed": seed})
        self._arms = (make_arm(versus.control), make_arm(versus.treatment))
        self._launches = PairedLaunches(
            *self._arms,
            seed=seed,
            key=versus.key,
            statistics=self._figures,
            way=WAYS[parameters.interleave](),
            metric=versus.metric,
            first=remembered.next_index if remembered else 0,
        )
        self._earlier = remembered
        self._pairs: list[Pair] = []
        self._operators: list[OperatorMedians] = []
        self.judge = Judge(self._parameters, False)
        self.failure: tuple[Outcome, str, str | None] | None = None

    @property
    def pairs(self) -> int:
        """Valid pairs so far, those of an interrupted comparison among them."""
        return len(self._pairs)

    def begin(self) -> None:
        """Warm up both sides and learn what is compared; take up what an interrupted comparison left."""
        self._guard(self._launches.begin)
        if self.failure is not None:
            return
        self.judge = Judge(self._parameters, self._higher_is_better())
        if self._earlier is not None and self._earlier.statistics != self._statistics():
            self._earlier = None  # other figures of the same launches: those pairs say nothing here
        if self._earlier is None:
            self._journal.begin(self._parameters.seed, self._statistics())
            return
        for pair in self._earlier.pairs:
            self._learn(pair)
        self._operators.extend(self._earlier.operators)

    def step(self) -> None:
        """Measure one more pair."""
        self._guard(self._measure_pair)

    def end(self) -> None:
        """Run what comes after the last launch; the comparison can be told now."""
        if self.failure is None:
            self._guard(self._launches.end)

    def told(self) -> None:
        """Forget the journal: the result is stored."""
        self._journal.forget()

    def measurements(self) -> tuple[Measurement, Measurement]:
        """What the arms saw: control, treatment."""
        outcome, reason, hint = self.failure or (Outcome.OK, None, None)
        control, treatment = self._arms
        return control.measurement(outcome, reason, hint), treatment.measurement(outcome, reason, hint)

    def comparison(self, *, discovered: bool) -> Comparison:
        """What the pairs say now.

        Args:
            discovered: Whether the regression survives the control of false discoveries.
        """
        found = conclude(self.judge)
        reason = self.failure[1] if self.failure else found.reason
        operators = compare_operators(self._operators, self._parameters)
        return Comparison(
            control=build_info(self.versus.control.build),
            metric=self._launches.metric or self.versus.metric or "",
            unit=self._launches.unit,
            higher_is_better=self._higher_is_better(),
            statistics=self._statistics(),
            parameters=self._parameters.model_copy(update={"interleave": self._launches.way.interleave}),
            pairs=tuple(self._pairs),
            voided=self._launches.voided + (self._earlier.voided if self._earlier else 0),
            verdict=Verdict.UNDECIDED if self.failure else found.verdict,
            reason=reason,
            difference=found.difference,
            low=found.low,
            high=found.high,
            evidence=found.evidence,
            discovered=discovered or found.verdict is not Verdict.REGRESSION,
            seconds=self.judge.seconds,
            operators=operators,
            notes=(
                *self._launches.way.notes,
                *self._journal_notes(),
                *remark(self._operators, operators, found.verdict, self._parameters),
            ),
        )

    def _journal_notes(self) -> tuple[Note, ...]:
        if self._journal.problem is None:
            return ()
        return (Note(code="journal", message=f"pairs could not be kept for --resume: {self._journal.problem}"),)

    def _measure_pair(self) -> None:
        index = self._launches.next_index
        pair = self._launches.next_pair()
        if pair is None:
            self._journal.void(index)
            return
        operators = self._launches.operators
        self._journal.add(pair, operators)
        self._learn(pair)
        self._operators.extend([operators] if operators is not None else [])

    def _learn(self, pair: Pair) -> None:
        self._pairs.append(pair)
        self.judge.add(pair)

    def _figures(self, samples: Sequence[float]) -> tuple[float, ...]:
        return launch_statistics(samples, higher_is_better=self._higher_is_better())

    def _statistics(self) -> tuple[str, ...]:
        return statistics_of(higher_is_better=self._higher_is_better())

    def _higher_is_better(self) -> bool:
        stated = self.versus.treatment.benchmark.direction
        return direction_of(self._launches.metric or "", self._launches.unit, stated) is Direction.HIGHER

    def _guard(self, action: Callable[[], None]) -> None:
        """A failure ends this comparison and no other; only a lost device concerns all."""
        try:
            action()
        except Spoilt as error:
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
