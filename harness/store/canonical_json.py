"""Canonical JSON of results and other values, and results read back from it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic.main import IncEx

from harness.core.errors import EnvironmentProblem
from harness.core.result import Result
from harness.core.values import Value
from harness.files.reading import RESULT_BYTES, read_bounded

RESULT_FILE: Final = "result.json"


def to_pretty_json(value: Value) -> str:
    """Return canonical JSON for people, over several lines. A result must have passed through `make_writable`."""
    return value.model_dump_json(indent=2)


def to_json_line(value: Value, *, exclude: IncEx | None = None) -> str:
    """Return canonical JSON on one line of ASCII, for any terminal and any reader of lines.

    A result must have passed through `make_writable`.
    """
    return value.model_dump_json(ensure_ascii=True, exclude=exclude)


def load_result(path: Path) -> Result:
    """Read a result back.

    Args:
        path: The result's folder, or the file in it.

    Raises:
        EnvironmentProblem: The file is missing, or it is not a result of this format.
    """
    file = path / RESULT_FILE if path.is_dir() else path
    try:
        return Result.model_validate_json(read_bounded(file, RESULT_BYTES))
    except OSError as error:
        raise EnvironmentProblem(f"cannot read the result {file}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the whole file"
        raise EnvironmentProblem(
            f"{file} is not a result that this version understands: {where}: {first['msg']}",
            hint="it was written by another version, or changed or truncated afterwards",
        ) from error
