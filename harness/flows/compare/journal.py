"""Pairs on disk as they are measured, so that an interrupted comparison goes on where it was.

Going on is valid: evidence may be looked at after every pair, and the coin of a pair depends on seed, benchmark, device
and index alone. A voided pair uses up its index, so that its coin is never tossed twice.

A journal outlives the telling of its comparison until the whole run has ended in order: what was told of one benchmark
before an interruption counts among all, and is not measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.build import Build
from harness.core.comparison import Interleave, OperatorMedians, Pair
from harness.core.note import Note
from harness.core.values import Value


class Header(Value):
    """What all pairs of a journal have in common: its first line.

    Attributes:
        seed: Of the coin.
        metric: What is compared.
        unit: Of the figures.
        statistics: What the figures are.
        interleave: What really takes turns.
        notes: Why it is not what was asked for.
    """

    seed: int
    metric: str
    unit: str
    statistics: tuple[str, ...]
    interleave: Interleave = Interleave.LAUNCH
    notes: tuple[Note, ...] = ()


class Losses(Value):
    """What launches cost a comparison so far that are part of no pair, and what speaks against those that are.

    Attributes:
        seconds: Device time of launches that are part of no pair.
        doubt: Why the pairs may not speak for all that a side did; None where they do.
        code: Code of the note that says so.
    """

    seconds: float = 0.0
    doubt: str | None = None
    code: str = "treatment_lost_launches"


class _Line(Value):
    """One line: the header (first), a pair with its operators, a voided index, or how the comparison was told.

    Attributes:
        losses: Up to this pair, or this voided index.
        told: Where its result is kept.
        failed: That its result was a failure: its pairs alone do not say everything.
    """

    header: Header | None = None
    pair: Pair | None = None
    operators: OperatorMedians | None = None
    voided: int | None = None
    losses: Losses = Losses()
    told: str | None = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an interrupted comparison left.

    Attributes:
        header: What its pairs have in common.
        pairs: Its valid pairs.
        operators: What the launches of those pairs said about operators, where they were timed.
        voided: How many were lost.
        losses: What that cost.
        next_index: Index of the pair that comes next.
        failed: Whether it was told as a failure.
        told: Where its result is kept, if it was told.
    """

    header: Header
    pairs: tuple[Pair, ...]
    operators: tuple[OperatorMedians, ...]
    voided: int
    losses: Losses
    next_index: int
    failed: bool
    told: str | None


class Journal:
    """The pairs of one comparison.

    Args:
        folder: Where journals are.
        subject: Benchmark, files, device, metric: what must be equal for pairs to belong together.
        control: The control's build.
        treatment: The treatment's build.
    """

    def __init__(self, folder: Path, subject: str, control: Build, treatment: Build) -> None:
        sides = [f"{side.digest}\n{side.commit}\n{sorted(side.variables.items())}" for side in (control, treatment)]
        text = "\n".join((subject, *sides))
        self._path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.jsonl"
        self._begun = False
        self._problem: str | None = None
        self._damage: str | None = None

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader of the comparison must know: that pairs were not kept, or could not be read."""
        found = (
            ("journal", self._problem, "pairs could not be kept for --resume: {}"),
            ("damaged_journal", self._damage, "what was kept for --resume is damaged, so this started anew: {}"),
        )
        return tuple(Note(code=code, message=words.format(why)) for code, why, words in found if why is not None)

    def read(self) -> Remembered | None:
        """What is there, to go on with it; None when there is nothing.

        A last line that was cut is taken out of the file. What else cannot be read is damage: the file is set aside.
        The launches of the pairs belong to the interrupted run, so the pairs no longer say which they were.
        """
        try:
            found, cut = self._found()
            if cut:
                os.truncate(self._path, self._path.stat().st_size - cut)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._set_aside(error.strerror or str(error))
            return None
        except ValueError:
            self._set_aside("it has lines that nobody wrote like that")
            return None
        self._begun = found is not None
        return found

    def told(self) -> str | None:
        """Where the result is kept that was told of this comparison; None where none was. Changes nothing."""
        try:
            found, _ = self._found()
        except (OSError, ValueError):
            return None
        return found.told if found is not None else None

    def begin(self, header: Header) -> None:
        """Start anew."""
        self._begun = True
        self._write("w", _Line(header=header))

    def add(self, pair: Pair, operators: OperatorMedians | None, losses: Losses) -> None:
        """Keep one more pair, with what its launches said about operators."""
        self._write("a", _Line(pair=pair, operators=operators, losses=losses))

    def void(self, index: int, losses: Losses) -> None:
        """Remember that the coin of this index was used up."""
        self._write("a", _Line(voided=index, losses=losses))

    def tell(self, place: str) -> None:
        """Remember where the result is kept."""
        self._write("a", _Line(told=str(Path(place).absolute())))

    def fail(self) -> None:
        """Remember that the result was a failure."""
        self._write("a", _Line(failed=True))

    def forget(self) -> None:
        """The comparison has been told, and the run has ended in order."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _found(self) -> tuple[Remembered | None, int]:
        """What is there, and how many bytes of a last line that was cut.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is damaged.
        """
        *whole, cut = self._path.read_bytes().split(b"\n")
        if cut and not cut.startswith(b"{"):
            raise ValueError("not the beginning of a line")
        return _remembered([_Line.model_validate_json(one) for one in whole]), len(cut)

    def _set_aside(self, why: str) -> None:
        aside = self._path.with_suffix(".damaged")
        try:
            self._path.replace(aside)
        except OSError as error:
            self._problem = self._damage = f"{self._path}: {why}; {error.strerror or error}"
        else:
            self._damage = f"{aside}: {why}"

    def _write(self, mode: str, line: _Line) -> None:
        """A journal that cannot be written costs going on later, and never a result: it says so and stays silent."""
        if self._problem is not None or not self._begun:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(line.model_dump_json(exclude_defaults=True) + "\n")
        except OSError as error:
            self._problem = f"{self._path}: {error.strerror or error}"


def _remembered(lines: Sequence[_Line]) -> Remembered | None:
    """The lines put together; none are nothing.

    Raises:
        ValueError: The first is no header, another one is, or a pair has figures that no launch has.
    """
    if not lines:
        return None
    header, *others = lines
    if header.header is None or any(line.header for line in others):
        raise ValueError("the header is not where it belongs")
    unlaunched = {"control_launch": None, "treatment_launch": None}
    pairs = tuple(line.pair.model_copy(update=unlaunched) for line in others if line.pair is not None)
    if not all(_sound(pair, header.header) for pair in pairs):
        raise ValueError("a pair without sound figures")
    voided = [line.voided for line in others if line.voided is not None]
    measured = [line for line in others if line.pair is not None or line.voided is not None]
    used = [pair.index for pair in pairs] + voided
    return Remembered(
        header=header.header,
        pairs=pairs,
        operators=tuple(line.operators for line in others if line.operators is not None),
        voided=len(voided),
        losses=measured[-1].losses if measured else Losses(),
        next_index=max(used, default=-1) + 1,
        failed=any(line.failed for line in others),
        told=next((line.told for line in reversed(others) if line.told is not None), None),
    )


def _sound(pair: Pair, header: Header) -> bool:
    """Whether both sides have every figure, above zero."""
    return all(len(side) == len(header.statistics) and min(side) > 0 for side in (pair.control, pair.treatment))
