"""Telling results to every reporter, one at a time; a broken reporter is itself reported and loses nothing."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.core.comparison import Verdict
from harness.core.errors import ExitCode, HarnessError, gravest
from harness.core.protocols import Progress, Reporter, ResultArchive
from harness.core.result import Outcome, Report, Result

_NOUNS: Final = frozenset({Verdict.REGRESSION.value, Verdict.IMPROVEMENT.value})
_NOT_RUN = frozenset({Outcome.SKIPPED, Outcome.UNSUPPORTED})


class Reporting:
    """The reporters of one run, and what the results amount to.

    Args:
        reporters: In the order in which they are told; the one that stores comes first.
        progress: Told when a reporter breaks.
        listeners: Told last, and also what is recalled.
    """

    def __init__(self, reporters: Sequence[Reporter], progress: Progress, listeners: Sequence[Reporter] = ()) -> None:
        self._reporters = (*sorted(reporters, key=lambda reporter: not isinstance(reporter, ResultArchive)), *listeners)
        self._listeners = tuple(listeners)
        self._progress = progress
        self._lock = threading.Lock()
        self._outcomes: Counter[Outcome] = Counter()
        self.verdicts: Counter[Verdict] = Counter()
        self._words: Counter[str] = Counter()
        self._untrusted = 0
        self._untold: Counter[str] = Counter()
        self._stored = True
        self._broken = 0
        self.places: dict[str, str] = {}

    def report(self, report: Report) -> str | None:
        """Tell one result to every reporter. May be called from any thread.

        Returns:
            Where the reporter that stores keeps it; None where it does not.
        """
        with self._lock:
            self._count(report.result)
            kept: str | None = None
            for reporter in self._reporters:
                place = self._tell(reporter, report)
                if isinstance(reporter, ResultArchive):
                    kept = place
                    report = report.model_copy(update={"place": kept})
            return kept

    def recall(self, result: Result) -> None:
        """Count a result that an interrupted run told; only listeners are told it again. From any thread."""
        with self._lock:
            self._count(result)
            for listener in self._listeners:
                self._tell(listener, Report(result=result))

    def close(self) -> None:
        """Let every reporter tell what is left."""
        for reporter in self._reporters:
            with self._isolated(reporter):
                reporter.close()

    @property
    def failed(self) -> int:
        """Results that have no numbers although they should."""
        return sum(count for outcome, count in self._outcomes.items() if outcome not in {Outcome.OK, *_NOT_RUN})

    @property
    def stored(self) -> bool:
        """Whether the reporter that stores was told everything."""
        return self._stored

    @property
    def complete(self) -> bool:
        """Whether nothing is left that could be gone on with: all is stored, and no device was lost."""
        return self.stored and not self._outcomes[Outcome.DEVICE_LOST]

    def summary(self, place: Path | None = None) -> str:
        """How many ended how, in a sentence, and where they are.

        Args:
            place: Where results are kept.
        """
        parts = [f"{count} {word}{_ending(word, count)}" for word, count in self._words.items()]
        if self._untrusted:
            parts.append(f"{self._untrusted} not to be trusted (see the notes)")
        if self._untold:
            parts += [f"{count} not told by `{name}`" for name, count in sorted(self._untold.items())]
        kept = "" if place is None or not self._stored else f"; results: {place}"
        return (", ".join(parts) or "nothing measured") + kept

    def exit_code(self, *others: ExitCode) -> ExitCode:
        """What the run amounts to: the gravest of what the results say and of what others know.

        Skipped benchmarks are no failure as long as something was measured, or was known without measuring.
        """
        codes = {ExitCode.OK, *others}
        if self.verdicts[Verdict.REGRESSION]:
            codes.add(ExitCode.REGRESSION)
        if self.verdicts[Verdict.UNDECIDED]:
            codes.add(ExitCode.UNDECIDED)
        if self._outcomes[Outcome.DEVICE_LOST] or self._broken:
            codes.add(ExitCode.ENVIRONMENT)
        if self.failed or not (self._outcomes[Outcome.OK] or self.verdicts):
            codes.add(ExitCode.BENCHMARK_FAILED)
        return gravest(codes)

    def _tell(self, reporter: Reporter, report: Report) -> str | None:
        """Where it can be found."""
        place: str | None = None
        with self._isolated(reporter):
            place = reporter.report(report)
        if place is not None:
            self.places[reporter.name] = place
        return place

    def _count(self, result: Result) -> None:
        self._outcomes[result.outcome] += 1
        self._words[_word(result)] += 1
        self._untrusted += result.ok and not result.trusted
        if result.comparison is not None:
            self.verdicts[result.comparison.effective_verdict] += 1

    @contextlib.contextmanager
    def _isolated(self, reporter: Reporter) -> Iterator[None]:
        try:
            yield
        except HarnessError as error:
            self._record_failure(reporter, f"reporter {reporter.name}: {error}")
        except Exception as error:  # noqa: BLE001 - a third party's reporter must not cost the others their results
            self._record_failure(reporter, f"reporter {reporter.name} is broken: {type(error).__name__}: {error}")

    def _record_failure(self, reporter: Reporter, message: str) -> None:
        self._broken += 1
        self._untold[reporter.name] += 1
        self._stored = self._stored and not isinstance(reporter, ResultArchive)
        self._progress.say(message)


def _ending(word: str, count: int) -> str:
    """Of the plural, for what is counted by a noun."""
    return "s" if count > 1 and word in _NOUNS else ""


def _word(result: Result) -> str:
    """How a result is counted in the summary: by its verdict, where pairs or equal bytes gave one."""
    if result.comparison is not None and (result.ok or result.comparison.identical):
        return result.comparison.effective_verdict.value
    return result.outcome.value
