"""Summary of the specifications below a folder: how many are valid, by framework, by reason and by key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from harness.core.benchmark import Benchmark
from harness.core.errors import Problem

VALID: Final = "valid"
SKIPPED: Final = "skipped"
REFUSED: Final = "refused"
_SECTIONS: Final = frozenset({"model", "tests"})


class CheckedFile(Struct, frozen=True):
    """One specification, checked on its own.

    Attributes:
        file: The specification, or list of them.
        benchmarks: Its benchmarks, as far as it can be loaded.
        problems: Everything that is wrong with it.
        obstacles: Reasons why no device can run some of its benchmarks.
        model: Framework and format that it names, where it cannot be loaded.
    """

    file: Path
    benchmarks: tuple[Benchmark, ...] = ()
    problems: tuple[Problem, ...] = ()
    obstacles: tuple[str, ...] = ()
    model: tuple[str, str] = ("", "")

    @property
    def outcome(self) -> str:
        """What becomes of it: `refused`, else `skipped` where a benchmark is skipped on every device, else `valid`."""
        if self.problems:
            return REFUSED
        return SKIPPED if self.obstacles else VALID

    @property
    def models(self) -> frozenset[tuple[str, str]]:
        """Frameworks of its benchmarks with the formats of their models."""
        loaded = frozenset((benchmark.framework, benchmark.model.format) for benchmark in self.benchmarks)
        return loaded or frozenset((self.model,))


class FrameworkCount(Struct, frozen=True):
    """Specifications of one framework and format of models. A list of specifications counts in each of its own.

    Attributes:
        framework: The framework.
        format: Format of the model.
        valid: Number of those that are valid.
        skipped: Number of those of which no device can run some benchmarks.
        refused: Number of those with mistakes.
        benchmarks: Benchmarks of those that are not refused.
    """

    framework: str
    format: str
    valid: int
    skipped: int
    refused: int
    benchmarks: int


class ReasonCount(Struct, frozen=True):
    """One reason why specifications are skipped or refused.

    Attributes:
        outcome: `skipped` or `refused`.
        message: The reason.
        hint: How to mend it.
        files: The specifications.
    """

    outcome: str
    message: str
    hint: str | None
    files: tuple[str, ...]


class KeyCount(Struct, frozen=True):
    """One key at which specifications are refused.

    Attributes:
        key: The key; empty for the whole file.
        files: Number of specifications.
        problems: Number of places.
    """

    key: str
    files: int
    problems: int


class FolderSummary(Struct, frozen=True):
    """Summary of checked specifications.

    Attributes:
        specifications: Number of all of them.
        benchmarks: Number of benchmarks of those that are not refused.
        valid: Number of those that are valid.
        skipped: Number of those of which no device can run some benchmarks.
        refused: Number of those with mistakes.
        frameworks: The same by framework and format, the most frequent first.
        reasons: Each reason with its files, first those for skipping, the most frequent first. A file with several
            problems counts once for each different one.
        keys: The keys at which they are refused, the most frequent first.
        passed_over: Files of JSON or YAML that have none of the keys of a specification, so that nothing was checked.
    """

    specifications: int
    benchmarks: int
    valid: int
    skipped: int
    refused: int
    frameworks: tuple[FrameworkCount, ...]
    reasons: tuple[ReasonCount, ...]
    keys: tuple[KeyCount, ...]
    passed_over: tuple[str, ...]


def summarise(checked: Sequence[CheckedFile], passed_over: Sequence[Path] = ()) -> FolderSummary:
    """Summarise specifications that were checked each on its own, and name files beside them that are none."""
    outcomes = [file.outcome for file in checked]
    obstacles = [
        (file.file, obstacle, None) for file in checked if file.outcome == SKIPPED for obstacle in file.obstacles
    ]
    problems = [(file.file, problem.message, problem.hint) for file in checked for problem in file.problems]
    return FolderSummary(
        specifications=len(checked),
        benchmarks=sum(len(file.benchmarks) for file in checked if not file.problems),
        valid=outcomes.count(VALID),
        skipped=outcomes.count(SKIPPED),
        refused=outcomes.count(REFUSED),
        frameworks=_count_frameworks(checked),
        reasons=(*_count_reasons(SKIPPED, obstacles), *_count_reasons(REFUSED, problems)),
        keys=_count_keys(checked),
        passed_over=tuple(map(str, passed_over)),
    )


def _count_frameworks(checked: Sequence[CheckedFile]) -> tuple[FrameworkCount, ...]:
    counts: list[FrameworkCount] = []
    for model in sorted({model for file in checked for model in file.models}):
        files = [file for file in checked if model in file.models]
        outcomes = [file.outcome for file in files]
        loaded = (benchmark for file in files if not file.problems for benchmark in file.benchmarks)
        benchmarks = sum((benchmark.framework, benchmark.model.format) == model for benchmark in loaded)
        valid, skipped, refused = (outcomes.count(outcome) for outcome in (VALID, SKIPPED, REFUSED))
        counts.append(FrameworkCount(*model, valid, skipped, refused, benchmarks))
    return tuple(sorted(counts, key=lambda count: -(count.valid + count.skipped + count.refused)))


def _count_reasons(outcome: str, reasons: Sequence[tuple[Path, str, str | None]]) -> tuple[ReasonCount, ...]:
    by_reason: dict[str, dict[str, None]] = {}
    for file, reason, _ in reasons:
        by_reason.setdefault(reason, {})[str(file)] = None
    hints = {reason: hint for _, reason, hint in reversed(reasons)}
    counts = [ReasonCount(outcome, reason, hints[reason], tuple(files)) for reason, files in by_reason.items()]
    return tuple(sorted(counts, key=lambda count: -len(count.files)))


def _count_keys(checked: Sequence[CheckedFile]) -> tuple[KeyCount, ...]:
    places: dict[str, list[tuple[Path, str]]] = {}
    for file in checked:
        for problem in file.problems:
            places.setdefault(_key_of(problem.pointer), []).append((file.file, problem.pointer))
    counts = [KeyCount(key, len({file for file, _ in found}), len(set(found))) for key, found in places.items()]
    return tuple(sorted(counts, key=lambda count: (-count.files, -count.problems, count.key)))


def _key_of(pointer: str) -> str:
    """Return the key at a pointer, below the model or a test: `platform_args.env` of `/tests/0/platform_args/env`."""
    words = [word.replace("~1", "/").replace("~0", "~") for word in pointer.split("/")[1:]]
    names = [word for word in words if not word.isdecimal()]
    return ".".join(names[1:] if len(names) > 1 and names[0] in _SECTIONS else names)
