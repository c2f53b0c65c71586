"""Exports as the harness sees them: their fingerprint, and the process that makes them."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import ValidationError

from frameworks.executorch import packages
from frameworks.executorch.exporting import provenance
from frameworks.executorch.exporting.catalogue import DEFINITIONS, RECIPES
from frameworks.executorch.exporting.process import GRAPH, LOG, NODES, REPORT, beside
from harness import shell
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.command import Command, Completed
from harness.core.errors import EnvironmentProblem, ExportFailed
from harness.core.protocols import Task
from harness.files.digests import sha256_of_file, sha256_of_files
from harness.files.drafts import open_scratch_folder

_PROCESS = "frameworks.executorch.exporting.process"
_TIMEOUT_S = 30 * 60.0

_ENVIRONMENT = {
    # The order of floating-point sums depends on the number of threads: statistics, and with them the program's
    # bytes, would differ between machines.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Some passes of the exporter walk over sets.
    "PYTHONHASHSEED": "0",
}

_PROGRESS = re.compile(r"progress: (?P<text>.*?)(?: (?P<completed>\d+)/(?P<total>\d+))?")


def fingerprint(export: Export) -> Mapping[str, str]:
    """Return everything beside the request that determines the program: versions, and digests of all sources involved.

    An option that names an existing file (a checkpoint) counts with that file's content.

    Raises:
        ExportFailed: There is no such definition or recipe, or its sources cannot be read.
    """
    process = {**provenance.own_sources(_PROCESS), **provenance.own_sources(__name__)}
    parts = {**provenance.versions(), "process": sha256_of_files(process)}
    for role, entry in (("definition", DEFINITIONS.find(export.definition)), ("recipe", RECIPES.find(export.recipe))):
        parts[role] = sha256_of_files(provenance.sources(entry.module))
        if not provenance.is_own(entry.module):
            parts[f"{role}_version"] = entry.version or provenance.installed_version(entry.module) or "none"
        parts |= provenance.versions_used_by(entry.module)
    for name, value in export.options.items():
        if isinstance(value, str) and value and Path(value).is_file():
            parts[f"option {name}"] = sha256_of_file(Path(value))
    return parts


def find_problem(export: Export) -> EnvironmentProblem | None:
    """Return which packages are missing to make the program; None where none is, as far as imports show.

    Raises:
        ExportFailed: There is no such definition or recipe, or its sources cannot be read.
    """
    modules = (DEFINITIONS.find(export.definition).module, RECIPES.find(export.recipe).module)
    imported = [package for module in modules for package in provenance.versions_used_by(module)]
    needed = (*packages.EXPORTS, *(package for package in imported if package in packages.EXTRAS))
    return packages.find_missing(needed, f"export `{export.definition}` by `{export.recipe}`")


def export(export: Export, destination: Path, progress: Task, *, calibration: Path | None = None) -> ExportReport:
    """Make the program in a process of its own.

    Its report (`.report.json`), the lowered graph as text (`.graph.txt`) and the nodes that each instruction executes
    (`.nodes.json`) are put beside it. After a failure there is only the output of the process (`.log`).

    Raises:
        ExportFailed: With the last message of the process, and what to do about it.
        EnvironmentProblem: A package is missing.
    """
    DEFINITIONS.find(export.definition)
    if (problem := find_problem(export)) is not None:
        raise problem
    examples = () if calibration is None else (calibration.absolute(),)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        # All files are made in here and moved out when they are whole: a killed process leaves nothing behind.
        with open_scratch_folder(destination.parent) as staging:
            request = staging / "request.json"
            request.write_text(export.model_dump_json(indent=2), encoding="utf-8")
            program = staging / destination.name
            completed = shell.run(
                child_command(_PROCESS, request, program, *examples), on_line=progress_parser(progress)
            )
            if not completed.ok or not program.is_file():
                purpose = f"export `{export.definition}` by `{export.recipe}`"
                raise explain_failure(purpose, "a program", completed, beside(destination, LOG))
            return _install(program, destination)
    except (OSError, ValidationError) as error:
        raise ExportFailed(f"cannot write {destination}: {error}") from error


def child_command(module: str, *paths: Path) -> Command:
    """Return the command of a child process that makes or runs models: one thread, and the same order in each run."""
    # -P: the working directory must not come before the installed packages; the process appends it itself.
    argv = (sys.executable, "-P", "-m", module, *map(str, paths), str(os.getpid()))
    return Command(argv, env=_ENVIRONMENT, timeout_s=_TIMEOUT_S)


def progress_parser(progress: Task) -> Callable[[str], None]:
    """Return a function that passes on each line of progress that a child process prints."""

    def parse(line: str) -> None:
        match = _PROGRESS.fullmatch(line)
        if match is None:
            return
        if match["total"] is None:
            progress.update(text=match["text"])
        else:
            progress.update(text=match["text"], completed=float(match["completed"]), total=float(match["total"]))

    return parse


def _install(program: Path, destination: Path) -> ExportReport:
    """Move everything to its place, the program last: where it exists, the rest does too."""
    report = ExportReport.model_validate_json(beside(program, REPORT).read_bytes())
    for suffix in (REPORT, GRAPH, NODES, ""):
        beside(program, suffix).replace(beside(destination, suffix))
    beside(destination, LOG).unlink(missing_ok=True)
    return report


def explain_failure(purpose: str, product: str, completed: Completed, log: Path) -> ExportFailed | EnvironmentProblem:
    """Return the failure of a child process, and write what it printed to a file.

    Args:
        purpose: What it was to do: "export `mv2` by `portable`".
        product: What it was to write: "a program".
        completed: The process.
        log: The file.
    """
    log.write_text(completed.stderr, encoding="utf-8")
    missing = _last(completed.stderr, "missing: ") if completed.exit_code == 1 else None
    reason = missing or (_last(completed.stderr, "error: ") if completed.exit_code == 1 else None)
    if reason is None:
        reason = completed.describe() if not completed.ok else f"the process ended without writing {product}"
    remedy = _last(completed.stderr, "hint: ") or _remedy(completed)
    whole = f"the whole log is {log}"
    failure = ExportFailed if missing is None else EnvironmentProblem
    return failure(f"cannot {purpose}: {reason}", hint=f"{remedy}; {whole}" if remedy else whole)


def _last(text: str, prefix: str) -> str | None:
    return next((line.removeprefix(prefix) for line in reversed(text.splitlines()) if line.startswith(prefix)), None)


def _remedy(completed: Completed) -> str | None:
    if completed.timed_out:
        return "take a smaller model, smaller inputs or less calibration data"
    if completed.signal == signal.SIGKILL:
        return "free memory, or take a smaller model or smaller inputs"
    return None
