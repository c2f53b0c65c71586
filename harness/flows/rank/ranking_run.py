"""One ranking on one device: programs that are proven to do the same work, launched in rounds until ranks are known."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from harness.analysis.compare.ranking import RankingTest, Ratio, Relation, count_least_rounds
from harness.core.benchmark import Benchmark
from harness.core.errors import BenchmarkFailed, EnvironmentProblem
from harness.core.measurement import Job, Measurement, References
from harness.core.note import Note
from harness.core.protocols import Framework, Progress, Session
from harness.core.ranking import Rank, RankingParameters
from harness.core.result import Outcome, RawLog
from harness.core.same_work import SameWork, SameWorkRequest
from harness.flows.measure.same_work import describe_same_work, prove_same_work
from harness.running.launcher import Launcher
from harness.running.measure import measure, outcome_of
from harness.running.passes import note_unused_long_run
from harness.running.probing import note_unused_probes
from harness.running.rounds import RoundedLaunches


class RankedMeasurement(Struct, frozen=True):
    """Measurement of one program, and its rank.

    Attributes:
        job: What was measured.
        measurement: Record of its launches.
        rank: Its rank, or why it has none.
    """

    job: Job
    measurement: Measurement
    rank: Rank


class RankingRun:
    """Ranking of some jobs on a held device.

    Args:
        title: Name of the ranking.
        jobs: Its programs, the first of which has what outputs are compared with.
        session: The held device.
        frameworks: Frameworks by name.
        parameters: How to decide.
        make_scratch: Makes an empty folder of this machine.
        progress: Shows what happens.
    """

    def __init__(
        self,
        title: str,
        jobs: Sequence[Job],
        session: Session,
        frameworks: Mapping[str, Framework],
        *,
        parameters: RankingParameters,
        make_scratch: Callable[[], Path],
        progress: Progress,
    ) -> None:
        self._title = title
        self._jobs = tuple(jobs)
        self._session = session
        self._frameworks = frameworks
        self._parameters = parameters
        self._make_scratch = make_scratch
        self._progress = progress
        self._launchers: dict[int, Launcher] = {}
        self._proofs: dict[int, SameWork] = {}
        self._logs: dict[int, tuple[RawLog, ...]] = {}
        self._failures: dict[int, BenchmarkFailed | EnvironmentProblem] = {}

    def rank(self) -> list[RankedMeasurement]:
        """Return the programs by rank, and then those that are not ranked, in their order.

        Raises:
            DeviceLost: The device went away for good.
        """
        for number in range(len(self._jobs)):
            self._prove(number)
        same = [number for number, proof in self._proofs.items() if proof.is_same]
        launches = self._launch([self._jobs[number] for number in same], same) if len(same) > 1 else None
        ranked, test = launches if launches is not None else ([], None)
        others = [number for number in range(len(self._jobs)) if number not in ranked]
        ordered = [ranked[place] for place in test.order()] if test is not None else []
        placed = [self._finish(number, self._rank_of(number, ranked, test)) for number in ordered if test is not None]
        return [*placed, *(self._finish(number, self._unranked(number)) for number in others)]

    def _prove(self, number: int) -> None:
        """Compare the outputs of a program with those of the eager model of the first one."""
        job = self._jobs[number]
        request = job.benchmark.same_work or SameWorkRequest(tolerance=self._parameters.tolerance)
        references, reason = self._references()
        self._proofs[number], self._logs[number] = prove_same_work(
            replace(job, unreferenced=job.unreferenced or reason),
            self._session,
            self._frameworks[job.benchmark.framework],
            request,
            scratch=self._make_scratch(),
            progress=self._progress,
            references=references,
        )

    def _references(self) -> tuple[References | None, str | None]:
        references = next((job.references for job in self._jobs if job.references is not None), None)
        return references, next((job.unreferenced for job in self._jobs if job.unreferenced is not None), None)

    def _launch(self, jobs: Sequence[Job], numbers: Sequence[int]) -> tuple[list[int], RankingTest] | None:
        """Launch programs in rounds until their ranks are known, or the budget is spent.

        Returns:
            The numbers of the programs that did not fail, and their test; None where fewer than two are left.
        """
        self._launchers = {
            number: Launcher(
                job, self._session, self._frameworks[job.benchmark.framework], self._make_scratch(), time.time
            )
            for number, job in zip(numbers, jobs, strict=True)
        }
        key = f"{self._title}:{':'.join(job.benchmark.digest for job in jobs)}:{self._session.device.identity}"
        self._rounds = RoundedLaunches(list(self._launchers.values()), seed=self._parameters.seed, key=key)
        for place, number in enumerate(numbers):
            try:
                self._rounds.begin(place)
            except BenchmarkFailed as error:
                self._failures[number] = error
        while True:
            alive = [place for place, number in enumerate(numbers) if number not in self._failures]
            if len(alive) < 2:
                return None
            test = self._rank_alive(alive, numbers)
            if all(numbers[place] not in self._failures for place in alive):
                return [numbers[place] for place in alive], test

    def _rank_alive(self, alive: Sequence[int], numbers: Sequence[int]) -> RankingTest:
        """Launch rounds of the programs that have not failed, until ranks are known or another fails."""
        metric, parameters = self._rounds.metric, self._parameters
        test = RankingTest(len(alive), parameters, higher_is_better=metric.higher_is_better)
        least = count_least_rounds(len(alive), parameters)
        if parameters.max_rounds < least:
            self._progress.warn(
                f"{self._title}: nothing can be called faster within {parameters.max_rounds} rounds: {len(alive)} "
                f"programs need {least} at least (--rounds), and 30 or more for a few per cent"
            )
        spent_s = self._rounds.overhead_s
        with self._progress.task(f"ranking {len(alive)} of {self._title}", parameters.max_rounds) as task:
            for done in range(2 * parameters.max_rounds):
                undecided = [pair for pair in test.open_pairs() if not test.is_spent(*pair)]
                is_over = parameters.max_seconds is not None and spent_s >= parameters.max_seconds
                if not undecided or is_over or any(numbers[place] in self._failures for place in alive):
                    break
                live = sorted({alive[program] for pair in undecided for program in pair})
                launched = self._rounds.launch_round(live, lambda place, error: self._fail(numbers[place], error))
                spent_s += launched.seconds
                programs = {place: program for program, place in enumerate(alive)}
                samples = {programs[place]: values for place, values in launched.samples.items()}
                test.add_round(launched.index, samples, [programs[place] for place in launched.order])
                task.update(completed=min(done + 1, parameters.max_rounds), text=_describe(test, done + 1))
        return test

    def _fail(self, number: int, error: BenchmarkFailed) -> None:
        self._failures.setdefault(number, error)

    def _rank_of(self, number: int, ranked: Sequence[int], test: RankingTest) -> Rank:
        program, order = ranked.index(number), test.order()
        best, worst = test.ranks()[program]
        ratio = test.ratio(program, order[0]) or Ratio(1.0, None, None)
        open_pairs = [pair for pair in test.open_pairs() if program in pair]
        others = [ranked[pair[0] if pair[1] == program else pair[1]] for pair in open_pairs]
        place = list(self._launchers).index(number)
        return Rank(
            ranking=self._title,
            best=best,
            worst=worst,
            ranked=len(ranked),
            fastest=self._jobs[ranked[order[0]]].benchmark.identifier,
            ratio=ratio.estimate,
            low=ratio.low,
            high=ratio.high,
            rounds=self._rounds.programs[place].rounds,
            equivalent=tuple(
                self._jobs[other].benchmark.identifier
                for index, other in enumerate(ranked)
                if index != program and test.relation(program, index) is Relation.EQUIVALENT
            ),
            undecided=tuple(self._jobs[other].benchmark.identifier for other in others),
            parameters=self._parameters,
        )

    def _unranked(self, number: int) -> Rank:
        proof, failure = self._proofs[number], self._failures.get(number)
        reason = failure.message if failure is not None else proof.reason
        return Rank(
            ranking=self._title,
            reason=reason or "there is no other program that does the same work",
            parameters=self._parameters,
        )

    def _finish(self, number: int, rank: Rank) -> RankedMeasurement:
        """Return the measurement of a program. One that took part in no round is measured as by `harness run`."""
        job, proof = self._jobs[number], self._proofs[number]
        failure = self._failures.get(number)
        launcher = self._launchers.get(number)
        if failure is not None and launcher is not None:
            measurement = launcher.measurement(outcome_of(failure), failure.message, failure.hint)
        elif rank.best is not None and launcher is not None:
            measurement = _end(launcher)
        else:
            framework = self._frameworks[job.benchmark.framework]
            measurement = measure(
                job,
                self._session,
                framework,
                scratch=self._make_scratch(),
                clock=time.time,
                progress=self._progress,
            )
        notes: tuple[Note, ...] = (
            *measurement.notes,
            *describe_same_work(proof),
            *(_note_left_out(job.benchmark) if rank.best is not None else ()),
        )
        logs = (*measurement.logs, *self._logs.get(number, ()))
        return RankedMeasurement(job, replace(measurement, same_work=proof, notes=notes, logs=logs), rank)


def _end(launcher: Launcher) -> Measurement:
    """Return the measurement of a program that was ranked; a step after it that fails is its failure alone."""
    try:
        launcher.end()
    except BenchmarkFailed as error:
        return launcher.measurement(outcome_of(error), error.message, error.hint)
    return launcher.measurement(Outcome.OK, None, None)


def _describe(test: RankingTest, rounds: int) -> str:
    undecided = len(test.open_pairs())
    return f"{rounds} rounds, {undecided} pair{'' if undecided == 1 else 's'} undecided"


def _note_left_out(benchmark: Benchmark) -> tuple[Note, ...]:
    return (*note_unused_probes(benchmark), *note_unused_long_run(benchmark))
