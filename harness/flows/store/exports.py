"""`harness store export` and `harness query --export`: canonical results as lines of JSON, complete, or as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.core.errors import EnvironmentProblem, ExitCode, UsageError
from harness.core.protocols import Progress
from harness.core.result import Result
from harness.files.drafts import open_draft
from harness.flows.inspect.table_export import export_table
from harness.store.canonical_json import to_json_line
from harness.store.database.engine import Database
from harness.store.database.selection import StoredSelection, iterate_selected

NAME: Final = "results"
"""Name, without its ending, of a file in a folder."""

_ENDINGS: Final = {"json": ".jsonl", "parquet": ".parquet", "csv": ".csv"}
_FORMATS: Final = {".jsonl": "json", ".ndjson": "json", ".parquet": "parquet", ".csv": "csv"}


def export_results(
    database: Database,
    target: Path,
    progress: Progress,
    *,
    form: str | None = None,
    samples: bool = False,
    selection: StoredSelection | None = None,
) -> ExitCode:
    """Write stored results into a file, which is replaced in one step.

    Args:
        database: Where they are.
        target: A file, whose ending says the form where `form` does not; or a folder, for `results` with that ending.
        progress: Shows how far it is.
        form: `json` for a canonical result on each line, oldest first, as it was stored; `parquet` or `csv` for a table
            of metrics.
        samples: Whether a table has one row per sample, instead of one per result and metric.
        selection: Which results; None for all.

    Raises:
        UsageError: The ending of the file is unknown, or samples are asked for beside whole results.
        EnvironmentProblem: The database cannot be read, or the file cannot be written.
    """
    form, file = _choose(target, form)
    if samples and form == "json":
        raise UsageError("--samples beside whole results, which have them", hint="leave it out, or --format parquet")
    count = 0

    def results() -> Iterator[Result]:
        nonlocal count
        with progress.task(f"exporting {database.place}") as task:
            chosen = selection or StoredSelection()
            for result in iterate_selected(database, chosen, as_measured=form == "json"):
                count += 1
                task.update(completed=count)
                yield result

    if form == "json":
        write_lines(file, results())
        progress.say(f"{count} result{'' if count == 1 else 's'}: {file}")
        return ExitCode.OK
    rows = export_table(results(), file, samples=samples)
    progress.say(f"{rows} row{'' if rows == 1 else 's'} of {count} result{'' if count == 1 else 's'}: {file}")
    return ExitCode.OK


def export_rows(
    database: Database, selection: StoredSelection, file: Path, progress: Progress, *, samples: bool
) -> ExitCode:
    """Write all metrics of the selected results into a table (`harness.flows.inspect.table_export`).

    Raises:
        UsageError: The ending of the file is unknown.
        EnvironmentProblem: The database cannot be read, or the file cannot be written.
    """
    count = 0

    def results() -> Iterator[Result]:
        nonlocal count
        for result in iterate_selected(database, selection):
            count += 1
            yield result

    rows = export_table(results(), file, samples=samples, metrics=selection.metrics)
    progress.say(f"{rows} row{'' if rows == 1 else 's'} of {count} result{'' if count == 1 else 's'}: {file}")
    return ExitCode.OK


def write_lines(file: Path, results: Iterator[Result]) -> None:
    """Write a result on each line of a file, which is replaced in one step.

    Raises:
        EnvironmentProblem: The file cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with open_draft(file.parent) as draft:
            with draft.open("w", encoding="ascii") as lines:
                lines.writelines(f"{to_json_line(result)}\n" for result in results)
            draft.replace(file)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write {file}: {error.strerror or error}", hint="free disk space, or name another file"
        ) from error


def _choose(target: Path, form: str | None) -> tuple[str, Path]:
    """Return the form and the file of an export."""
    if target.is_dir() or not target.suffix:
        form = form or "json"
        return form, target / f"{NAME}{_ENDINGS[form]}"
    known = _FORMATS.get(target.suffix.lower())
    if known is None or (form is not None and form != known):
        wanted = _ENDINGS[form] if form is not None else ", ".join(sorted(_FORMATS))
        raise UsageError(
            f"{target}: unsuitable ending `{target.suffix}`", hint=f"name a file with {wanted}, or a folder"
        )
    return known, target
