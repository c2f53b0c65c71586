"""The error tree. Every class has an exit code; every error can carry a hint that says what to do next.

    HarnessError                    3   something around the measurement went wrong
    ├── UsageError                  2   the user's mistake: a flag, a value, a file name
    │   └── SpecificationError      2   one or more problems in a specification, all listed
    ├── EnvironmentProblem          3   a tool, a device, a lock, a disk
    │   ├── BuildFailed             3   no runner could be made
    │   ├── DeliveryFailed          3   a notification could not be delivered
    │   ├── DeviceLost              3   the device went away while it was held
    │   └── OutOfSpace              3   the device has no room for the files of a benchmark
    ├── BenchmarkFailed             4   this benchmark has no numbers; the others go on
    │   ├── FileUnavailable         4   a model file cannot be fetched, or is not what the specification promises
    │   ├── DataUnavailable         4   examples cannot be made or read
    │   ├── ExportFailed            4   a model could not be exported
    │   └── BenchmarkUnsupported    4   this benchmark cannot run here, and never could
    └── ReporterFailed              3   a result was measured and stored, but could not be reported

Foreign exceptions are mapped to these once, at the edge where they appear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes of the process. The most severe outcome of a run wins (`most_severe`)."""

    OK = 0
    REGRESSION = 1
    USAGE = 2
    ENVIRONMENT = 3
    BENCHMARK_FAILED = 4
    UNDECIDED = 5
    INTERRUPTED = 130


_GRAVEST_FIRST = (
    ExitCode.REGRESSION,
    ExitCode.ENVIRONMENT,
    ExitCode.BENCHMARK_FAILED,
    ExitCode.UNDECIDED,
    ExitCode.OK,
)


def most_severe(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the most severe of several exit codes: a regression is the answer that was asked for, and comes first."""
    return min(codes, key=_GRAVEST_FIRST.index, default=ExitCode.OK)


class HarnessError(Exception):
    """Base of everything the harness raises on purpose.

    Args:
        message: Description that names the file, place or program.
        hint: Advice about what to do next.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.ENVIRONMENT

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


class UsageError(HarnessError):
    """A flag, value or file name that cannot be what was meant."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True)
class Problem:
    """Mistake in one place of a specification.

    Attributes:
        file: The specification file.
        line: 1-based line of the place, or None where the file could not be read at all.
        pointer: JSON pointer (RFC 6901) to the place; "" is the whole document.
        message: Description of the mistake.
        hint: Advice how to mend it, if there is any.
    """

    file: Path
    line: int | None
    pointer: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line is not None else str(self.file)
        where = f" {self.pointer}:" if self.pointer else ""
        remedy = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{place}:{where} {self.message}{remedy}"


class SpecificationError(UsageError):
    """All problems found in the specifications, at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        lines = "\n".join(str(problem) for problem in self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in the specification\n{lines}")


class EnvironmentProblem(HarnessError):
    """A tool, device, lock or disk that the run needs and does not have."""


class BuildFailed(EnvironmentProblem):
    """No runner could be made or found.

    Args:
        message: What cannot be built, and why.
        hint: Advice about what to do next.
        log: File on this machine with the output of the build; None where there is none.
    """

    def __init__(self, message: str, *, hint: str | None = None, log: Path | None = None) -> None:
        super().__init__(message, hint=hint)
        self.log = log


class DeliveryFailed(EnvironmentProblem):
    """A notification could not be delivered.

    Args:
        message: Why; without credentials.
        final: Whether another attempt would fare no better.
        retry_after_s: Pause that the receiver asks for, seconds.
        received: Addresses that have it nevertheless, where a channel has several: the next attempt leaves them out.
        status: Status of an HTTP answer that refused; None without one.
    """

    def __init__(
        self,
        message: str,
        *,
        final: bool = False,
        retry_after_s: float | None = None,
        received: tuple[str, ...] = (),
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.final = final
        self.status = status
        self.retry_after_s = retry_after_s
        self.received = received


class DeviceLost(EnvironmentProblem):
    """A device that was held is no longer there."""


class OutOfSpace(EnvironmentProblem):
    """A device that has no room for the files of a benchmark."""


class BenchmarkFailed(HarnessError):
    """One benchmark ends without numbers. It becomes a result with this message as its reason."""

    exit_code = ExitCode.BENCHMARK_FAILED


class FileUnavailable(BenchmarkFailed):
    """A file cannot be fetched, or its content is not what the specification promises."""


class DataUnavailable(BenchmarkFailed):
    """Examples cannot be made or read: a data set, or a folder of examples or outputs."""


class ExportFailed(BenchmarkFailed):
    """A model could not be exported.

    Args:
        message: Why.
        hint: Advice about what to do next.
        parts: The failures that it joins, where there are several.
    """

    def __init__(self, message: str, *, hint: str | None = None, parts: Sequence[ExportFailed] = ()) -> None:
        super().__init__(message, hint=hint)
        self.parts = tuple(parts)


class BenchmarkUnsupported(BenchmarkFailed):
    """A benchmark that cannot run on this device with this framework. Reported as a skipped result."""


class ReporterFailed(HarnessError):
    """A result could not be reported. The result itself is safe."""
