"""Pairs on disk as they are measured, so that an interrupted comparison can be resumed.

Resuming is valid: evidence may be looked at after every pair, and the coin of a pair depends on seed, benchmark, device
and index alone. A discarded pair uses up its index, so that its coin is never tossed twice.

A journal outlives the report of its comparison until the whole command has ended in order: what was reported of one
benchmark before an interruption counts among all, and is not measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from pydantic import Field

from harness.core.build import Build
from harness.core.comparison import Interleave, OperatorMedians, Pair
from harness.core.evaluation import OutputComparison
from harness.core.note import Note
from harness.core.values import Value

_UNLAUNCHED: Final = {"control_launch": None, "treatment_launch": None}
"""Launches of an interrupted run, whose samples are not kept."""


def journal_folder(cache: Path) -> Path:
    """Return the folder of all journals, in the cache."""
    return cache / "comparisons"


def find_interruption(cache: Path) -> float | None:
    """Return when the last pair of an interrupted comparison was kept, Unix seconds; None where there is none."""
    times: list[float] = []
    for journal in journal_folder(cache).glob("*.jsonl"):
        with contextlib.suppress(OSError):  # its comparison has just ended
            times.append(journal.stat().st_mtime)
    return max(times, default=None)


class Header(Value):
    """First line of a journal: what all its pairs have in common.

    Attributes:
        seed: Of the coin.
        metric: Name of the metric.
        unit: Unit of the figures.
        statistics: Names of the figures.
        interleave: What is really interleaved.
        notes: Why that is not what was asked for.
        further: Units of the further metrics that are compared, by their names.
        by_token: Names of the metrics whose figures are those of single tokens.
    """

    seed: int
    metric: str
    unit: str
    statistics: tuple[str, ...]
    interleave: Interleave = Interleave.LAUNCH
    notes: tuple[Note, ...] = ()
    further: dict[str, str] = {}
    by_token: tuple[str, ...] = ()


class LostLaunches(Value):
    """Launches so far that are part of no pair: their cost, and the doubt that they cast on the pairs.

    Attributes:
        seconds: Device time of launches that are part of no pair.
        doubt: Why the pairs may not speak for all launches of a side; None where they do.
        code: Code of the note that says so.
    """

    seconds: float = 0.0
    doubt: str | None = None
    code: str = "treatment_lost_launches"


class _Line(Value, validate_by_name=True):
    """One line: the header (first), a pair with its operators, a discarded index, or how the comparison was reported.

    Attributes:
        further: Figures of the pair in further metrics, by their names.
        discarded: Index of a discarded pair.
        lost: Launches without a pair, up to this line.
        report_place: Where its result is stored.
        reported_metric: Which of its metrics that result is about.
        failed: Whether its result was a failure, which its pairs alone do not show.
        outputs: Whether both sides compute the same.
    """

    header: Header | None = None
    pair: Pair | None = None
    operators: OperatorMedians | None = None
    further: dict[str, Pair] = {}
    discarded: int | None = Field(None, alias="voided")
    lost: LostLaunches = Field(LostLaunches(), alias="losses")
    report_place: str | None = Field(None, alias="told")
    reported_metric: str = ""
    failed: bool = False
    outputs: OutputComparison | None = None


class JournalContents(Struct, frozen=True):
    """Contents of a journal that an interrupted comparison left.

    Attributes:
        header: What its pairs have in common.
        pairs: Its valid pairs.
        operators: The operator medians of those pairs, where they were timed.
        discarded: Number of discarded pairs.
        lost: Launches that are part of no pair.
        next_index: Index of the pair that comes next.
        failed: Whether it was reported as a failure.
        report_places: Where its results are stored, one of each metric, if all were reported; else none.
        outputs: Whether both sides compute the same; None where that was not compared yet.
        further: Figures of its pairs in further metrics, by the index of the pair and the name of the metric.
    """

    header: Header
    pairs: tuple[Pair, ...]
    operators: tuple[OperatorMedians, ...]
    discarded: int
    lost: LostLaunches
    next_index: int
    failed: bool
    report_places: tuple[str, ...] = ()
    outputs: OutputComparison | None = None
    further: Mapping[int, Mapping[str, Pair]] = field(default_factory=dict)


class Journal:
    """File with the pairs of one comparison.

    Args:
        folder: Folder of all journals.
        subject: Benchmark, files, device, metric: what must be equal for pairs to belong together.
        control: The control's build.
        treatment: The treatment's build.
    """

    def __init__(self, folder: Path, subject: str, control: Build, treatment: Build) -> None:
        sides = [f"{side.digest}\n{side.commit}\n{sorted(side.variables.items())}" for side in (control, treatment)]
        text = "\n".join((subject, *sides))
        self._path = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.jsonl"
        self._started = False
        self._problem: str | None = None
        self._damage: str | None = None

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes for a reader of the comparison: pairs could not be kept, or not be read."""
        troubles = (
            ("journal", self._problem, "pairs could not be kept for --resume: {}"),
            ("damaged_journal", self._damage, "the journal for --resume is damaged, so this started anew: {}"),
        )
        return tuple(
            Note(code=code, message=message.format(reason)) for code, reason, message in troubles if reason is not None
        )

    @property
    def is_kept(self) -> bool:
        """Whether an earlier comparison left it."""
        return self._path.exists()

    def read(self) -> JournalContents | None:
        """Read the contents in order to resume; None when there are none.

        A truncated last line is taken out of the file. Anything else that cannot be read is damage: the file is set
        aside. The launches of the pairs belong to the interrupted run, so the pairs no longer name them.
        """
        try:
            contents, cut = self._contents()
            if cut:
                os.truncate(self._path, self._path.stat().st_size - cut)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._set_aside(error.strerror or str(error))
            return None
        except ValueError:
            self._set_aside("it has lines that the harness did not write")
            return None
        self._started = contents is not None
        return contents

    def report_places(self) -> tuple[str, ...]:
        """Read where the results of this comparison are stored, if all were reported. Changes nothing."""
        try:
            contents, _ = self._contents()
        except (OSError, ValueError):
            return ()
        return contents.report_places if contents is not None else ()

    def count_unreported_pairs(self) -> int:
        """Count the pairs, if no result was reported of them. Changes nothing."""
        try:
            contents, _ = self._contents()
        except (OSError, ValueError):
            return 0
        return len(contents.pairs) if contents is not None and not contents.report_places else 0

    def start(self, header: Header) -> None:
        """Start anew."""
        self._started = True
        self._write("w", _Line(header=header))

    def append_pair(
        self,
        pair: Pair,
        operators: OperatorMedians | None,
        lost: LostLaunches,
        further: Mapping[str, Pair] | None = None,
    ) -> None:
        """Append one more pair, with its operator medians and its figures in further metrics."""
        self._write("a", _Line(pair=pair, operators=operators, lost=lost, further=dict(further or {})))

    def append_discarded(self, index: int, lost: LostLaunches) -> None:
        """Append the index of a discarded pair: its coin is used up."""
        self._write("a", _Line(discarded=index, lost=lost))

    def record_outputs(self, outputs: OutputComparison) -> None:
        """Append whether both sides compute the same."""
        self._write("a", _Line(outputs=outputs))

    def record_report(self, place: str, metric: str = "") -> None:
        """Append where the reported result is stored, and which metric it is about."""
        self._write("a", _Line(report_place=str(Path(place).absolute()), reported_metric=metric))

    def record_failure(self) -> None:
        """Append that the reported result was a failure."""
        self._write("a", _Line(failed=True))

    def delete(self) -> None:
        """Delete the file: the comparison was reported, and the command has ended in order."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _contents(self) -> tuple[JournalContents | None, int]:
        """Read the contents, and the number of bytes of a truncated last line.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is damaged.
        """
        *whole, cut = self._path.read_bytes().split(b"\n")
        if cut and not cut.startswith(b"{"):
            raise ValueError("not the beginning of a line")
        return _parse([_Line.model_validate_json(line) for line in whole]), len(cut)

    def _set_aside(self, reason: str) -> None:
        aside = self._path.with_suffix(".damaged")
        try:
            self._path.replace(aside)
        except OSError as error:
            self._problem = self._damage = f"{self._path}: {reason}; {error.strerror or error}"
        else:
            self._damage = f"{aside}: {reason}"

    def _write(self, mode: str, line: _Line) -> None:
        """Write a line. Where that fails it is noted, and writing stops: it costs resuming, and never a result."""
        if self._problem is not None or not self._started:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open(mode, encoding="utf-8") as file:
                file.write(line.model_dump_json(exclude_defaults=True, by_alias=True) + "\n")
        except OSError as error:
            self._problem = f"{self._path}: {error.strerror or error}"


def _parse(lines: Sequence[_Line]) -> JournalContents | None:
    """Put the lines together; None without any.

    Raises:
        ValueError: The first is no header, another one is, or a pair has figures that no launch has.
    """
    if not lines:
        return None
    first, *others = lines
    header = first.header
    if header is None or any(line.header for line in others):
        raise ValueError("the header is not the first line")
    paired = [(line.pair, line.further) for line in others if line.pair is not None]
    if any(further.keys() != header.further.keys() for _, further in paired):
        raise ValueError("a pair of other metrics")
    if not all(_is_sound(figures, header) for pair, further in paired for figures in (pair, *further.values())):
        raise ValueError("a pair without sound figures")
    places = {line.reported_metric: line.report_place for line in others if line.report_place is not None}
    discarded = [line.discarded for line in others if line.discarded is not None]
    measured = [line for line in others if line.pair is not None or line.discarded is not None]
    used = [pair.index for pair, _ in paired] + discarded
    return JournalContents(
        header=header,
        pairs=tuple(pair.model_copy(update=_UNLAUNCHED) for pair, _ in paired),
        operators=tuple(line.operators for line in others if line.operators is not None),
        discarded=len(discarded),
        lost=measured[-1].lost if measured else LostLaunches(),
        next_index=max(used, default=-1) + 1,
        failed=any(line.failed for line in others),
        report_places=tuple(places.values()) if len(places) > len(header.further) else (),
        outputs=next((line.outputs for line in reversed(others) if line.outputs is not None), None),
        further={
            pair.index: {name: figures.model_copy(update=_UNLAUNCHED) for name, figures in further.items()}
            for pair, further in paired
        },
    )


def _is_sound(pair: Pair, header: Header) -> bool:
    """Return whether both sides have every figure, above zero."""
    return all(len(side) == len(header.statistics) and min(side) > 0 for side in (pair.control, pair.treatment))
