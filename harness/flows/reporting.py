"""Telling results to every reporter, one at a time; a broken reporter is itself reported and loses nothing."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

from harness.core.errors import ExitCode, HarnessError
from harness.core.protocols import Progress, Reporter
from harness.core.result import Outcome, Report, Result

_NOT_RUN = frozenset({Outcome.SKIPPED, Outcome.UNSUPPORTED})


class Reporting:
    """The reporters of one run, and what the results amount to.

    Args:
        reporters: In the order in which they are told; the one that stores comes first.
        progress: Told when a reporter breaks.
    """

    def __init__(self, reporters: Sequence[Reporter], progress: Progress) -> None:
        self._reporters = sorted(reporters, key=lambda reporter: reporter.name != "local")
        self._progress = progress
        self._lock = threading.Lock()
        self._outcomes: Counter[Outcome] = Counter()
        self._untrusted = 0
        self._broken = 0
        self.places: dict[str, str] = {}

    def report(self, report: Report) -> None:
        """Tell one result to every reporter. May be called from any thread."""
        with self._lock:
            self._count(report.result)
            for reporter in self._reporters:
                with self._isolated(reporter):
                    place = reporter.report(report)
                    if place is not None:
                        self.places[reporter.name] = place

    def close(self) -> None:
        """Let every reporter tell what is left."""
        for reporter in self._reporters:
            with self._isolated(reporter):
                reporter.close()

    def summary(self) -> str:
        """How many ended how, in a sentence."""
        parts = [f"{count} {outcome.value}" for outcome, count in sorted(self._outcomes.items())]
        doubtful = f", {self._untrusted} not to be trusted (see the notes)" if self._untrusted else ""
        return (", ".join(parts) or "nothing measured") + doubtful

    def exit_code(self) -> ExitCode:
        """What the results amount to: an environment that failed weighs more than a benchmark that failed.

        Skipped benchmarks are no failure as long as something was measured.
        """
        if self._outcomes[Outcome.DEVICE_LOST] or self._broken:
            return ExitCode.ENVIRONMENT
        failed = sum(count for outcome, count in self._outcomes.items() if outcome not in {Outcome.OK, *_NOT_RUN})
        if failed or not self._outcomes[Outcome.OK]:
            return ExitCode.BENCHMARK_FAILED
        return ExitCode.OK

    def _count(self, result: Result) -> None:
        self._outcomes[result.outcome] += 1
        self._untrusted += result.ok and not result.trusted

    @contextlib.contextmanager
    def _isolated(self, reporter: Reporter) -> Iterator[None]:
        try:
            yield
        except HarnessError as error:
            self._broken += 1
            self._progress.say(f"reporter {reporter.name}: {error}")
        except Exception as error:  # noqa: BLE001 - a third party's reporter must not cost the others their results
            self._broken += 1
            self._progress.say(f"reporter {reporter.name} is broken: {type(error).__name__}: {error}")
