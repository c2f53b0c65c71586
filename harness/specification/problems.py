"""Collecting problems, so that all of them are told at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.benchmark import Origin
from harness.core.errors import Problem, SpecificationError
from harness.specification.document import Document


class Problems:
    """What is wrong so far. Equal problems count once: expansion meets the same place many times."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def add(self, place: Origin, message: str, hint: str | None = None) -> None:
        """Note one problem at a place."""
        self._found[Problem(place.file, place.line, place.pointer, message, hint)] = None

    def __len__(self) -> int:
        return len(self._found)

    def sorted(self) -> Sequence[Problem]:
        """All of them: files in the order in which they were first met, then by line."""
        files = {problem.file: None for problem in self._found}
        order = {file: number for number, file in enumerate(files)}
        return sorted(self._found, key=lambda problem: (order[problem.file], problem.line or 0))

    def raise_if_any(self) -> None:
        """End loading when something is wrong.

        Raises:
            SpecificationError: With every problem.
        """
        if self._found:
            raise SpecificationError(self.sorted())


@dataclass(frozen=True, slots=True)
class Findings:
    """The problems of one document, noted by JSON pointer."""

    document: Document
    problems: Problems

    def add(self, pointer: str, message: str, hint: str | None = None) -> None:
        """Note one problem; its place is where the pointer's value was written."""
        self.problems.add(self.document.place(pointer), message, hint)
