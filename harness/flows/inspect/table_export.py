"""`harness report --export`: stored results as a table in a file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import pandas as pd

from harness.config.settings import Settings
from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Progress
from harness.core.result import Result, make_writable
from harness.files.atomic import write_atomically
from harness.files.installation import install_command
from harness.files.replacing import reject_specification
from harness.flows.inspect.stored_results import ResultFilter, StoredResults
from harness.store.frames import make_frame, make_samples

TABLE_VERSION: Final = "1.0"
"""Its first number is raised when a column gets another meaning or name, else its second."""


def export_stored(
    path: Path | None, settings: Settings, selection: ResultFilter, file: Path, progress: Progress, *, samples: bool
) -> ExitCode:
    """Write a table of stored results (see `export_table`).

    Args:
        path: File or folder of results; None for the whole tree.
        settings: The folder of the tree.
        selection: Which results.
        file: The file.
        progress: Shows what was written.
        samples: Whether to write samples.

    Raises:
        UsageError: There is no such result, or the ending of the file is unknown.
        EnvironmentProblem: The file cannot be written, or the package for its format is missing.
    """
    stored = StoredResults(path, settings.local_reporter, selection)
    count = 0

    def results() -> Iterator[Result]:
        nonlocal count
        for each in stored:
            count += 1
            yield each.result

    rows = export_table(results(), file, samples=samples)
    for problem in stored.unreadable:
        progress.warn(f"✗ {problem.message}")
    progress.say(f"{rows} row{'' if rows == 1 else 's'} of {count} result{'' if count == 1 else 's'}: {file}")
    return ExitCode.ENVIRONMENT if stored.unreadable else ExitCode.OK


def export_table(results: Iterable[Result], file: Path, *, samples: bool, metrics: Collection[str] = ()) -> int:
    """Write a table of results into a file, whose ending says how: `.csv`, `.parquet` or `.json`.

    Args:
        results: The results.
        file: The file, which is replaced in one step.
        samples: Whether to write one row per sample, instead of one per result and metric.
        metrics: Names of the metrics to write; all where none is named.

    Returns:
        The number of rows.

    Raises:
        UsageError: The ending is another, or a specification is there.
        EnvironmentProblem: The file cannot be written, or the package for its format is missing.
    """
    encode = _ENCODERS.get(file.suffix.lower())
    if encode is None:
        known = ", ".join(_ENCODERS)
        raise UsageError(f"--export {file}: unknown ending `{file.suffix}`", hint=f"name a file with {known}")
    reject_specification(file)
    writable = map(make_writable, results)
    frame = make_samples(writable, metrics) if samples else make_frame(writable, metrics)
    try:
        write_atomically(file, encode(frame))
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {file}: {error.strerror or error}", hint="free disk space, or name another file"
        ) from error
    return len(frame)


def _encode_csv(frame: pd.DataFrame) -> str:
    """Return a table for people and spreadsheets: what was computed has the digits that say something."""
    if "value" not in frame.columns:  # samples are data, and stay as they were measured
        computed = frame.select_dtypes("float").columns
        frame = frame.assign(**{name: frame[name].map(_round, na_action="ignore") for name in computed})
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _round(number: float) -> float:
    """Round to six significant digits, but never before the decimal point."""
    if number == 0 or not math.isfinite(number):
        return number
    return round(number, max(0, _DIGITS - 1 - math.floor(math.log10(abs(number)))))


def _encode_json(frame: pd.DataFrame) -> str:
    """Return rows without the columns that are empty in them."""
    rows = [
        {name: _plain(value) for name, value in row.items() if not pd.isna(value)} for row in frame.to_dict("records")
    ]
    return json.dumps({"schema_version": TABLE_VERSION, "rows": rows}, indent=1) + "\n"


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _encode_parquet(frame: pd.DataFrame) -> bytes:
    try:
        return bytes(frame.to_parquet(None, index=False, engine="pyarrow"))
    except ImportError as error:
        raise EnvironmentProblem(
            "Parquet needs the package pyarrow, which is not installed",
            hint=f"{install_command(('parquet',))}, or export a .csv",
        ) from error


_DIGITS: Final = 6
"""Significant digits of statistics in CSV; JSON and Parquet have all."""

_ENCODERS: Final[Mapping[str, Callable[[pd.DataFrame], str | bytes]]] = {
    ".csv": _encode_csv,
    ".parquet": _encode_parquet,
    ".json": _encode_json,
}
