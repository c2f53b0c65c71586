"""Reporting of one run: each result goes to every reporter; a broken reporter is itself reported and loses nothing."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness import plugins
from harness.config.settings import Settings
from harness.core.device_doubt import DeviceDoubt
from harness.core.errors import ExitCode, HarnessError, UsageError, most_severe
from harness.core.protocols import DeliveryCounting, DoubtKeeping, Preparable, Progress, Reporter, Rewriting, is_archive
from harness.core.reproduction import Reproduction
from harness.core.result import Outcome, Report, Result
from harness.core.verdict import Verdict

_NOUNS: Final = frozenset(verdict.value for verdict in Verdict if verdict.is_change)


def prepare_reporters(settings: Settings) -> tuple[Reporter, ...]:
    """Return every reporter that the settings ask for, when those that can tell are able to report.

    Raises:
        UsageError: A reporter is not installed.
        EnvironmentProblem: Results could not be written.
    """
    reporters = plugins.reporters(settings)
    for reporter in reporters:
        if isinstance(reporter, Preparable):
            reporter.prepare()
    return reporters


def open_named_reporters(settings: Settings) -> tuple[Reporter, ...]:
    """Return the reporters that `--reporter` names, ready to be given results that are stored already.

    Raises:
        UsageError: One is not installed, or stores results.
        EnvironmentProblem: One cannot report.
    """
    reporters = plugins.named_reporters(settings)
    for reporter in reporters:
        if is_archive(reporter):
            raise UsageError(
                f"--reporter {reporter.name} stores results, and these are stored", hint="name one that shows them"
            )
        if isinstance(reporter, Preparable):
            reporter.prepare()
        if isinstance(reporter, Rewriting):
            reporter.defer()
    return reporters


class GivenReports(Struct, frozen=True):
    """What became of stored results that were given to reporters.

    Attributes:
        count: Number of the results.
        places: Where the reporters put them, as far as they have a place.
    """

    count: int
    places: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each place."""
        return tuple(f"{self.count} result{'' if self.count == 1 else 's'}: {place}" for place in self.places)


def give_reports(reports: Iterable[Report], reporters: Sequence[Reporter]) -> GivenReports:
    """Give stored results to reporters, and close these; where there is no result, nothing is written.

    Raises:
        ReporterFailed: One failed.
    """
    places: dict[str, str] = {}
    count = 0
    for report in reports:
        for reporter in reporters:
            place = reporter.report(report)
            places |= {reporter.name: place} if place else {}
        count += 1
    for reporter in reporters if count else ():
        reporter.close()
    return GivenReports(count, tuple(places.values()))


class CollectingReporter:
    """Reporter that keeps every result in memory.

    Args:
        select: Returns what to keep of a result, where that is not the whole.
    """

    name = "collecting"

    def __init__(self, select: Callable[[Result], Result] | None = None) -> None:
        self.results: list[Result] = []
        self._select = select

    def report(self, report: Report) -> None:
        """Keep a result."""
        self.results.append(self._select(report.result) if self._select else report.result)

    def close(self) -> None:
        """Do nothing: every result has been kept."""


class Reporting:
    """Reporters of one run, with the counts that make its summary and its exit code.

    Args:
        reporters: Reporters in their order; those that keep results (`is_archive`) come first.
        progress: Shows when a reporter fails.
        listeners: Reporters that come last, and that are given recalled results, too.
        reproduce: Returns the command that measures a result once more, where it can be known.
        run: Identifier of the run; a new one where it is empty.
        judge: Returns a result as what it is in this command, which may ask for more than its benchmark.
    """

    def __init__(
        self,
        reporters: Sequence[Reporter],
        progress: Progress,
        listeners: Sequence[Reporter] = (),
        reproduce: Callable[[Result], Reproduction | None] = lambda _: None,
        run: str = "",
        *,
        judge: Callable[[Result], Result] = lambda result: result,
    ) -> None:
        self._reporters = (*sorted(reporters, key=lambda reporter: not is_archive(reporter)), *listeners)
        self._listeners = tuple(listeners)
        self._progress = progress
        self._lock = threading.Lock()
        self._outcomes: Counter[Outcome] = Counter()
        self.verdicts: Counter[Verdict] = Counter()
        self._words: Counter[str] = Counter()
        self._untrusted = 0
        self._unfinished_launches = 0
        self._different = 0
        self._failures: Counter[str] = Counter()
        self._unfinished: dict[str, None] = {}
        self._stored = True
        self._run = run or uuid.uuid4().hex
        self._reproduce = reproduce
        self._judge = judge

    def report(self, report: Report) -> str | None:
        """Give one result to every reporter. May be called from any thread.

        Returns:
            The place where it is kept; None where it is not.
        """
        result = self._judge(report.result)
        stamp: dict[str, object] = {"run": self._run, "reproduction": self._reproduce(result)}
        if result.origin is not None:  # nothing here can measure it, and to read it again gives the same result
            stamp = {}
        report = report.model_copy(update={"result": result.model_copy(update=stamp)})
        with self._lock:
            self._count(report.result)
            kept: str | None = None
            for reporter in self._reporters:
                place: str | None = None
                with self._isolated(reporter):
                    place = reporter.report(report)
                if is_archive(reporter):
                    kept = kept or place
                    report = report.model_copy(update={"place": kept})
            return kept

    def recall(self, result: Result) -> None:
        """Count a result that an interrupted run reported, and give it to listeners only. From any thread."""
        with self._lock:
            self._count(result)
            for listener in self._listeners:
                with self._isolated(listener):
                    listener.report(Report(result=result))

    def keep_doubts(self, doubts: Sequence[DeviceDoubt]) -> None:
        """Let every reporter that keeps results know of which devices they are in doubt. From any thread."""
        with self._lock:
            for reporter in self._reporters if doubts else ():
                if isinstance(reporter, DoubtKeeping):
                    try:
                        reporter.keep_doubts(doubts)
                    except HarnessError as error:  # no result is lost, and the next run tells of them again
                        self._progress.warn(
                            f"! reporter {reporter.name} does not know which devices are in doubt: {error}"
                        )

    def close(self) -> None:
        """Close every reporter."""
        for reporter in self._reporters:
            with self._isolated(reporter, closing=True):
                reporter.close()

    @property
    def unreported(self) -> Mapping[str, int]:
        """Number of results that are not reported, by the names of the reporters that miss some."""
        counts = {
            reporter.name: reporter.unreported
            if isinstance(reporter, DeliveryCounting)
            else self._failures[reporter.name]
            for reporter in self._reporters
        }
        return {name: count for name, count in sorted(counts.items()) if count}

    @property
    def failed(self) -> int:
        """Number of results that should have numbers and have none."""
        return sum(
            count for outcome, count in self._outcomes.items() if outcome is not Outcome.OK and not outcome.is_skipped
        )

    @property
    def stored(self) -> bool:
        """True if every result is kept."""
        return self._stored

    @property
    def complete(self) -> bool:
        """True if there is nothing to resume: every result is kept, and no device was lost."""
        return self.stored and not self._outcomes[Outcome.DEVICE_LOST]

    def summary(self, place: Path | None = None, counted: str = "") -> str:
        """Return the numbers of outcomes in a sentence, and where the results are.

        Args:
            place: Folder of the results.
            counted: Sentence about what is counted, where that is not the benchmarks.
        """
        parts = [f"{count} {word}{_plural_ending(word, count)}" for word, count in self._words.items()]
        if self._different:
            parts.append(f"{self._different} with different outputs")
        if self._untrusted:
            parts.append(f"{self._untrusted} of them not to be trusted (see the notes)")
        unreported = self.unreported
        parts += [f"{count} not reported by `{name}`" for name, count in unreported.items()]
        parts += [f"`{name}` not finished" for name in self._unfinished if name not in unreported]
        kept = "" if place is None or not self._stored else f"; results: {place}"
        counts = ", ".join(parts) or "nothing measured"
        return f"{counts}; {counted}{kept}" if counted else f"{counts}{kept}"

    def describe_kept(self, pairs: int = 0) -> str:
        """Return what an interruption has left, in a sentence.

        Args:
            pairs: Number of pairs of comparisons without a result that are kept, too.
        """
        results = self._outcomes.total() - self._outcomes[Outcome.INTERRUPTED]
        counts = ((results, "result"), (pairs, "pair"), (self._unfinished_launches, "launch"))
        parts = [_count_of(count, noun) for count, noun in counts if count]
        if not parts:
            return "no benchmark was measured to its end"
        kept = " and ".join(parts)
        verb = "is" if kept.startswith("1 ") and len(parts) == 1 else "are"
        if self._unfinished_launches:
            return f"{kept} of what was being measured {verb} kept"
        return f"{kept} {verb} kept" if pairs else f"{kept} {verb} kept; what was being measured is not"

    def exit_code(self, *others: ExitCode) -> ExitCode:
        """Return the most severe exit code of the results and of other parts of the run.

        Skipped benchmarks are no failure as long as something was measured, or was known without measuring.
        """
        codes = {ExitCode.OK, *others}
        if self.verdicts[Verdict.REGRESSION]:
            codes.add(ExitCode.REGRESSION)
        if self.verdicts[Verdict.UNDECIDED] or self._different:  # which only a person can decide
            codes.add(ExitCode.UNDECIDED)
        if self._outcomes[Outcome.DEVICE_LOST] or self.unreported or self._unfinished:
            codes.add(ExitCode.ENVIRONMENT)
        if self.failed or not (self._outcomes[Outcome.OK] or self.verdicts):
            codes.add(ExitCode.BENCHMARK_FAILED)
        return most_severe(codes)

    def _count(self, result: Result) -> None:
        self._outcomes[result.outcome] += 1
        self._words[_word(result)] += 1
        self._untrusted += result.ok and not result.trusted
        self._unfinished_launches += len(result.launches) if result.outcome is Outcome.INTERRUPTED else 0
        if result.comparison is not None:
            self.verdicts[result.comparison.effective_verdict] += 1
            self._different += result.comparison.has_different_outputs

    @contextlib.contextmanager
    def _isolated(self, reporter: Reporter, *, closing: bool = False) -> Iterator[None]:
        try:
            yield
        except HarnessError as error:
            self._record_failure(reporter, f"reporter {reporter.name}: {error}", closing=closing)
        except Exception as error:  # noqa: BLE001 - a third party's reporter must not cost the others their results
            message = f"reporter {reporter.name} is broken: {type(error).__name__}: {error}"
            self._record_failure(reporter, message, closing=closing)

    def _record_failure(self, reporter: Reporter, message: str, *, closing: bool) -> None:
        if closing:
            self._unfinished[reporter.name] = None
        else:
            self._failures[reporter.name] += 1
        self._stored = self._stored and not is_archive(reporter)
        self._progress.warn(message)


def _count_of(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _plural_ending(word: str, count: int) -> str:
    return "s" if count > 1 and word in _NOUNS else ""


def _word(result: Result) -> str:
    """Return the word that counts a result in the summary: its verdict, where pairs or equal bytes gave one."""
    if result.comparison is not None and (result.ok or result.comparison.identical):
        return result.comparison.verdict_words
    return result.outcome.value
