"""Results of a call, with everything else that it told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from harness.core.errors import ExitCode, HarnessError
from harness.core.result import Result


@dataclass(frozen=True, slots=True, repr=False)
class Results(Sequence[Result]):
    """Results of a call, in the order in which they were measured: a sequence of `Result`.

    Attributes:
        results: The results.
        exit_code: Exit code that the command would have, and of stored results one that had measured them: 0 only if
            everything that was asked for was measured and reported.
        messages: Everything that the call told a person, in sentences: a reporter that failed, a device that was left
            out, the summary.
        error: Error that ended the call after some results; None where it came to its end.
    """

    results: tuple[Result, ...]
    exit_code: ExitCode
    messages: tuple[str, ...] = ()
    error: HarnessError | None = None

    @property
    def ok(self) -> bool:
        """True if the exit code is 0: nothing failed, and no comparison found a regression or stayed undecided."""
        return self.exit_code is ExitCode.OK

    @property
    def failed(self) -> tuple[Result, ...]:
        """The results that should have numbers and have none; `reason` and `hint` say why."""
        return tuple(result for result in self.results if not result.ok and not result.outcome.is_skipped)

    def __len__(self) -> int:
        return len(self.results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, index: int | slice) -> Result | tuple[Result, ...]:
        return self.results[index]

    def __repr__(self) -> str:
        return f"<Results: {', '.join(map(repr, self.results)) or 'none'}>"

    def __str__(self) -> str:
        count = "1 result" if len(self) == 1 else f"{len(self)} results"
        return "\n".join((f"{count}, exit code {self.exit_code.value}", *self.messages))
