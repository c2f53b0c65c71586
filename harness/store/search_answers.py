"""Answers of searches for culprits, beside the results of a tree: `searches/<run>.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from harness.core.culprit import SearchAnswer
from harness.core.errors import EnvironmentProblem
from harness.files.atomic import write_atomically
from harness.files.reading import read_bounded

SEARCHES: Final = "searches"
"""Folder of a tree for the answers."""


def save_answer(tree: Path, answer: SearchAnswer) -> Path:
    """Save an answer, in place of an earlier one of the same search; return its file.

    Raises:
        OSError: It cannot be written.
    """
    file = tree / SEARCHES / f"{answer.run}.json"
    write_atomically(file, answer.model_dump_json(indent=2) + "\n", durable=True)
    return file


def has_answer(tree: Path, run: str) -> bool:
    """Return whether a run was a search that gave an answer, damaged or not."""
    return run.isalnum() and (tree / SEARCHES / f"{run}.json").is_file()


def read_answer(tree: Path, run: str) -> SearchAnswer | None:
    """Return the answer of the search that a run was; None where it was none, or did not end.

    Raises:
        EnvironmentProblem: The file is damaged, or cannot be read.
    """
    if not run.isalnum():
        return None
    file = tree / SEARCHES / f"{run}.json"
    try:
        return SearchAnswer.model_validate_json(read_bounded(file))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise EnvironmentProblem(f"{file} cannot be read: {reason}", hint="remove it to see the comparisons") from error
