"""Pairs on disk as they are measured, so that an interrupted comparison goes on where it was.

Going on is valid: evidence may be looked at after every pair, and the coin of a pair depends on seed, benchmark, device
and index alone. A voided pair uses up its index, so that its coin is never tossed twice.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from harness.core.build import Build
from harness.core.comparison import Pair
from harness.core.values import Value


class _Line(Value):
    """One line: the seed (first), a pair, or the index of a voided one."""

    seed: int | None = None
    pair: Pair | None = None
    voided: int | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an interrupted comparison left.

    Attributes:
        seed: Of its coin.
        pairs: Its valid pairs.
        voided: How many were lost.
        next_index: Index of the pair that comes next.
    """

    seed: int
    pairs: tuple[Pair, ...]
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
        text = f"{subject}\n{control.digest}\n{control.commit}\n{treatment.digest}\n{treatment.commit}"
        self._path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.jsonl"

    def read(self) -> Remembered | None:
        """What is there, up to a line that was cut; None when there is nothing to go on with."""
        if not self._path.exists():
            return None
        lines: list[_Line] = []
        for text in self._path.read_text().splitlines():
            try:
                lines.append(_Line.model_validate_json(text))
            except ValidationError:
                break
        if not lines or lines[0].seed is None:
            return None
        pairs = tuple(line.pair for line in lines if line.pair is not None)
        voided = [line.voided for line in lines if line.voided is not None]
        used = [pair.index for pair in pairs] + voided
        return Remembered(lines[0].seed, pairs, len(voided), max(used, default=-1) + 1)

    def begin(self, seed: int) -> None:
        """Start anew."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(_Line(seed=seed).model_dump_json(exclude_none=True) + "\n")

    def add(self, pair: Pair) -> None:
        """Keep one more pair."""
        self._append(_Line(pair=pair))

    def void(self, index: int) -> None:
        """Remember that the coin of this index was used up."""
        self._append(_Line(voided=index))

    def forget(self) -> None:
        """The comparison has been told."""
        self._path.unlink(missing_ok=True)

    def _append(self, line: _Line) -> None:
        with self._path.open("a") as file:
            file.write(line.model_dump_json(exclude_none=True) + "\n")
