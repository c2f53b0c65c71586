"""Exports as the harness sees them: their fingerprint, and the process that makes them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import ValidationError

from frameworks import packages
from frameworks.exporting import provenance
from frameworks.exporting.catalogue import DEFINITIONS, Catalogue, CatalogueEntry, recipes_of
from frameworks.exporting.companions import LOG, REPORT, beside
from harness import shell
from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.command import SIGKILL, Command, Completed
from harness.core.errors import EnvironmentProblem, ExportFailed
from harness.core.protocols import Task
from harness.files.digests import sha256_of_file, sha256_of_files, sha256_of_folder
from harness.files.drafts import open_scratch_folder

_TIMEOUT_S: Final = 30 * 60.0

_ENVIRONMENT: Final = {
    # The order of floating-point sums depends on the number of threads: statistics, and with them the program's
    # bytes, would differ between machines.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Some passes of exporters walk over sets.
    "PYTHONHASHSEED": "0",
}

_PROGRESS: Final = re.compile(r"progress: (?P<text>.*?)(?: (?P<completed>\d+)/(?P<total>\d+))?")


class FileExporter(Struct, frozen=True):
    """How a framework makes model files: in a process of its own, which `frameworks.exporting.child` describes.

    Attributes:
        framework: Name of the framework, whose recipes are the entry points `edge_harness.FRAMEWORK.recipes`.
        process: Module of the process.
        packages: Packages whose versions can change a file.
        required: Packages without which nothing can be exported.
        product: What a file is called: "a program".
        companions: Suffixes of files that the process writes beside the file and its report.
        extras: Extra that brings a package, where it is not that of `frameworks.packages.EXTRAS`.
        variables: Further variables of the process.
    """

    framework: str
    process: str
    packages: tuple[str, ...]
    required: tuple[str, ...]
    product: str = "a model file"
    companions: tuple[str, ...] = ()
    extras: Mapping[str, str] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def recipes(self) -> Catalogue:
        """Recipes of the framework."""
        return recipes_of(self.framework)

    def fingerprint(self, export: Export) -> Mapping[str, str]:
        """Return everything beside the request that determines the file: versions, digests of all sources involved.

        An option that names an existing file or folder (a checkpoint) counts with its content.

        Raises:
            ExportFailed: There is no such definition or recipe, or its sources cannot be read.
        """
        process = {**provenance.own_sources(self.process), **provenance.own_sources(__name__)}
        parts = {**provenance.versions(self.packages), "process": sha256_of_files(process)}
        for role, entry in self._find_entries(export).items():
            parts[role] = sha256_of_files(provenance.sources(entry.module))
            if not provenance.is_own(entry.module):
                parts[f"{role}_version"] = entry.version or provenance.installed_version(entry.module) or "none"
            parts |= provenance.versions_used_by(entry.module, self.packages)
        for name, value in export.options.items():
            if isinstance(value, str) and value and Path(value).is_file():
                parts[f"option {name}"] = sha256_of_file(Path(value))
            elif isinstance(value, str) and value and Path(value).is_dir():
                parts[f"option {name}"] = sha256_of_folder(Path(value))
        return parts

    def check(self, export: Export) -> None:
        """Check that definition and recipe exist, and that those of a user can be read. Takes no digests.

        Raises:
            ExportFailed: There is no such definition or recipe, or its sources cannot be read.
        """
        for entry in self._find_entries(export).values():
            if not provenance.is_own(entry.module):
                provenance.sources(entry.module)

    def _find_entries(self, export: Export) -> Mapping[str, CatalogueEntry]:
        """Return definition and recipe.

        Raises:
            ExportFailed: There is no such definition or recipe; both are told.
        """
        found: dict[str, CatalogueEntry] = {}
        failures: list[ExportFailed] = []
        named = (("definition", DEFINITIONS, export.definition), ("recipe", self.recipes, export.recipe))
        for role, catalogue, name in named:
            try:
                found[role] = catalogue.find(name)
            except ExportFailed as failure:
                failures.append(failure)
        if failures:
            hints = (failure.hint for failure in failures if failure.hint)
            message = ", and ".join(failure.message for failure in failures)
            raise ExportFailed(message, hint="; recipes: ".join(hints), parts=failures)
        return found

    def versions(self, export: Export) -> dict[str, str]:
        """Return the versions of the packages involved in an export."""
        recipe = self.recipes.find(export.recipe).module
        return {**provenance.versions(self.packages), **provenance.versions_used_by(recipe, self.packages)}

    def find_problem(self, export: Export) -> EnvironmentProblem | None:
        """Return which packages are missing to make the file; None where none is, as far as imports show.

        Raises:
            ExportFailed: There is no such definition or recipe, or its sources cannot be read.
        """
        modules = (DEFINITIONS.find(export.definition).module, self.recipes.find(export.recipe).module)
        imported = [package for module in modules for package in provenance.versions_used_by(module, self.packages)]
        extras = {**packages.EXTRAS, **(self.extras or {})}
        needed = (*self.required, *(package for package in imported if package in extras))
        return packages.find_missing(needed, f"export `{export.definition}` by `{export.recipe}`", self.extras)

    def export(
        self, export: Export, destination: Path, progress: Task, *, calibration: Path | None = None
    ) -> ExportReport:
        """Make the file in a process of its own.

        Its report (`.report.json`) and its companions are put beside it. After a failure there is only the output of
        the process (`.log`).

        Raises:
            ExportFailed: With the last message of the process, and what to do about it.
            EnvironmentProblem: A package is missing.
        """
        DEFINITIONS.find(export.definition)
        if (problem := self.find_problem(export)) is not None:
            raise problem
        examples = () if calibration is None else (calibration.absolute(),)
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            # All files are made in here and moved out when they are whole: a killed process leaves nothing behind.
            with open_scratch_folder(destination.parent) as staging:
                request = staging / "request.json"
                request.write_text(export.model_dump_json(indent=2), encoding="utf-8")
                program = staging / destination.name
                command = child_command(self.process, request, program, *examples)
                command = replace(command, env={**command.env, **self.variables})
                completed = shell.run(command, on_line=progress_parser(progress))
                if not completed.ok or not program.is_file():
                    purpose = f"export `{export.definition}` by `{export.recipe}`"
                    raise explain_failure(purpose, self.product, completed, beside(destination, LOG))
                return self._install(program, destination)
        except (OSError, ValidationError) as error:
            raise ExportFailed(f"cannot write {destination}: {error}") from error

    def _install(self, program: Path, destination: Path) -> ExportReport:
        """Move everything to its place, the file last: where it exists, the rest does too."""
        report = ExportReport.model_validate_json(beside(program, REPORT).read_bytes())
        for suffix in (REPORT, *self.companions, ""):
            beside(program, suffix).replace(beside(destination, suffix))
        beside(destination, LOG).unlink(missing_ok=True)
        return report


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
    if completed.signal == SIGKILL:
        return "free memory, or take a smaller model or smaller inputs"
    return None
