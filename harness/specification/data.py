"""Data sets of a specification: requests for examples, and the paths in their options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from harness.core.benchmark import Benchmark, ModelFile
from harness.core.examples import DataRequest
from harness.specification.document import Findings, join
from harness.specification.local_paths import local_path
from harness.specification.scope import PlaceholderScope
from harness.specification.sections import Data

_PATHS: Final = ("path", "labels")
"""Options that are paths, as are those that end in `_path`."""


def read_data(entry: Data, scope: PlaceholderScope, pointer: str) -> DataRequest:
    """Read a request for examples, with its placeholders replaced; paths stay as they are written."""
    if isinstance(entry, str):
        return DataRequest(provider=scope.resolve(entry, pointer))
    here = join(pointer, "options")
    return DataRequest(
        provider=scope.resolve(entry.provider, join(pointer, "provider")),
        options={name: _resolve(value, scope, join(here, name)) for name, value in entry.options.items()},
        count=entry.count,
        seed=entry.seed,
    )


def choose_data(test: Data | None, model: Data | None, test_pointer: str) -> tuple[Data, str] | None:
    """Return the data of a test, else of its model, with the place where it is written."""
    if test is not None:
        return test, join(test_pointer, "data")
    return None if model is None else (model, "/model/data")


def make_paths_absolute(benchmark: Benchmark, root: Path | None, findings: Findings) -> Benchmark:
    """Resolve the paths of all data of a benchmark: relative ones start from its specification."""
    folder = findings.document.file.parent

    def resolve(request: DataRequest | None, place: Callable[[str, str | None], None]) -> DataRequest | None:
        if request is None:
            return None
        options = {
            name: _absolute(value, folder, root, place) if _is_path(name) else value
            for name, value in request.options.items()
        }
        return request.model_copy(update={"options": options})

    def resolve_export(file: ModelFile) -> ModelFile:
        if file.export is None or file.export.calibration_data is None:
            return file
        data = resolve(
            file.export.calibration_data, lambda problem, hint: findings.problems.add(file.origin, problem, hint)
        )
        return file.model_copy(update={"export": file.export.model_copy(update={"calibration_data": data})})

    return benchmark.model_copy(
        update={
            "data": resolve(
                benchmark.data, lambda problem, hint: findings.problems.add(benchmark.origin, problem, hint)
            ),
            "files": tuple(map(resolve_export, benchmark.files)),
        }
    )


def _resolve(value: JsonValue, scope: PlaceholderScope, pointer: str) -> JsonValue:
    """Replace the placeholders in all texts of a value."""
    if isinstance(value, str):
        return scope.resolve(value, pointer)
    if isinstance(value, list):
        return [_resolve(item, scope, join(pointer, number)) for number, item in enumerate(value)]
    if isinstance(value, dict):
        return {name: _resolve(item, scope, join(pointer, name)) for name, item in value.items()}
    return value


def _is_path(option: str) -> bool:
    return option in _PATHS or option.endswith("_path")


def _absolute(
    value: JsonValue, folder: Path, root: Path | None, report: Callable[[str, str | None], None]
) -> JsonValue:
    if isinstance(value, list):
        return [_absolute(item, folder, root, report) for item in value]
    if isinstance(value, dict):
        return {name: _absolute(item, folder, root, report) for name, item in value.items()}
    if not isinstance(value, str):
        return value
    path, fault, hint = local_path(value, folder, root)
    if fault is not None:
        report(f"path {value!r} of the data {fault}", hint)
    return value if path is None else path
