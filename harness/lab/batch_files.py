"""File of the batches of a comparison in a lab, from which an interrupted one goes on."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from pydantic import ValidationError

from harness.core.errors import EnvironmentProblem
from harness.core.result import Report
from harness.core.values import Value
from harness.lab.pooling import PooledBatch


class _Line(Value):
    """Line of the file: the seed, or a batch.

    Attributes:
        seed: Of the coins.
        number: Number of a batch.
        reports: Its reports, without logs.
    """

    seed: int | None = None
    number: int = 0
    reports: tuple[Report, ...] = ()


class EarlierBatches(Struct, frozen=True):
    """Contents of the file.

    Attributes:
        seed: Of the coins.
        batches: The batches, by number; those without an answer have no reports, and their coins are used up.
    """

    seed: int
    batches: Sequence[PooledBatch]


class BatchFile:
    """File of one benchmark on one class of devices.

    Args:
        folder: Folder of such files.
        subject: What identifies the comparison.
        interleave: How the two sides of a pair alternate.
    """

    def __init__(self, folder: Path, subject: Sequence[str], interleave: str) -> None:
        digest = hashlib.sha256("\n".join((*subject, interleave)).encode()).hexdigest()
        self._path = folder / f"{digest[:32]}.jsonl"

    def read(self) -> EarlierBatches | None:
        """Read it; None where there is none. A last line that was cut short is left out.

        Raises:
            EnvironmentProblem: It cannot be read.
        """
        try:
            *whole, _ = self._path.read_bytes().split(b"\n")
            lines = [_Line.model_validate_json(line) for line in whole]
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise EnvironmentProblem(
                f"{self._path} cannot be read: {error}", hint="compare without --resume"
            ) from error
        if not lines or lines[0].seed is None:
            return None
        answers = {line.number: line.reports for line in lines if line.reports}
        numbers = range(max(answers, default=-1) + 1)
        return EarlierBatches(lines[0].seed, [PooledBatch(number, answers.get(number, ())) for number in numbers])

    def start(self, seed: int) -> None:
        """Begin it anew.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        self._write("w", _Line(seed=seed))

    def append(self, batch: PooledBatch) -> None:
        """Append a batch.

        Raises:
            EnvironmentProblem: It cannot be written.
        """
        reports = tuple(report.model_copy(update={"logs": (), "artifacts": ()}) for report in batch.reports)
        self._write("a", _Line(number=batch.number, reports=reports))

    def delete(self) -> None:
        """Delete it: everything was reported."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self, mode: str, line: _Line) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(line.model_dump_json(exclude_defaults=True) + "\n")
        except OSError as error:
            reason = error.strerror or str(error)
            raise EnvironmentProblem(f"{self._path} cannot be written: {reason}", hint="make room there") from error
