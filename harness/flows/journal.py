"""Pairs on disk as they are measured, so that an interrupted comparison goes on where it was.

Going on is valid: evidence may be looked at after every pair, and the coin of a pair depends on seed, benchmark, device
and index alone. A voided pair uses up its index, so that its coin is never tossed twice.
"""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.core.build import Build
from harness.core.comparison import STATISTICS, OperatorMedians, Pair
from harness.core.values import Value


class _Line(Value):
    """One line: the seed (first) with the names of a pair's figures, a pair with its operators, or a voided index."""

    seed: int | None = None
    statistics: tuple[str, ...] | None = None
    pair: Pair | None = None
    operators: OperatorMedians | None = None
    voided: int | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an interrupted comparison left.

    Attributes:
        seed: Of its coin.
        statistics: What the figures of its pairs are.
        pairs: Its valid pairs.
        operators: What the launches of those pairs said about operators, where they were timed.
        voided: How many were lost.
        next_index: Index of the pair that comes next.
    """

    seed: int
    statistics: tuple[str, ...]
    pairs: tuple[Pair, ...]
    operators: tuple[OperatorMedians, ...]
    voided: int
    next_index: int


class Journal:
    """The pairs of one comparison.

    Args:
        folder: Where journals are.
        subject: Benchmark, device, metric: what must be equal for pairs to belong together.
        control: The control's build.
        treatment: The treatment's build.
    """

    def __init__(self, folder: Path, subject: str, control: Build, treatment: Build) -> None:
        sides = [f"{side.digest}\n{side.commit}\n{sorted(side.variables.items())}" for side in (control, treatment)]
        text = "\n".join((subject, *sides))
        self._path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.jsonl"
        self.problem: str | None = None

    def read(self) -> Remembered | None:
        """What is there; None when there is nothing to go on with. A line that was cut is taken out of the file.

        The launches of the pairs belong to the interrupted run, so the pairs no longer say which they were.
        """
        if not self._path.exists():
            return None
        lines = _whole_lines(self._path.read_text())
        if not lines or lines[0].seed is None:
            return None
        self._write("w", "".join(_text(line) for line in lines))
        unlaunched = {"control_launch": None, "treatment_launch": None}
        pairs = tuple(line.pair.model_copy(update=unlaunched) for line in lines if line.pair is not None)
        voided = [line.voided for line in lines if line.voided is not None]
        operators = tuple(line.operators for line in lines if line.operators is not None)
        used = [pair.index for pair in pairs] + voided
        figures = lines[0].statistics or STATISTICS
        return Remembered(lines[0].seed, figures, pairs, operators, len(voided), max(used, default=-1) + 1)

    def begin(self, seed: int, statistics: tuple[str, ...]) -> None:
        """Start anew."""
        self._write("w", _text(_Line(seed=seed, statistics=statistics)))

    def add(self, pair: Pair, operators: OperatorMedians | None) -> None:
        """Keep one more pair, with what its launches said about operators."""
        self._write("a", _text(_Line(pair=pair, operators=operators)))

    def void(self, index: int) -> None:
        """Remember that the coin of this index was used up."""
        self._write("a", _text(_Line(voided=index)))

    def forget(self) -> None:
        """The comparison has been told."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write(self, mode: str, text: str) -> None:
        """A journal that cannot be written costs going on later, and never a result: it says so and stays silent."""
        if self.problem is not None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(mode) as file:
                file.write(text)
        except OSError as error:
            self.problem = f"{self._path}: {error.strerror or error}"


def _whole_lines(text: str) -> list[_Line]:
    """The lines up to the first that was cut."""
    lines: list[_Line] = []
    for one in text.splitlines():
        try:
            lines.append(_Line.model_validate_json(one))
        except ValidationError:
            break
    return lines


def _text(line: _Line) -> str:
    return line.model_dump_json(exclude_none=True) + "\n"
