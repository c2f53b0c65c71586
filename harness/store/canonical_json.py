"""The canonical result as JSON text, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic.main import IncEx

from harness.core.errors import EnvironmentProblem
from harness.core.result import Result
from harness.core.values import Value

RESULT_FILE: Final = "result.json"


def pretty(value: Value) -> str:
    """Canonical JSON for people, over several lines. Of a result only what `writable` returned."""
    return value.model_dump_json(indent=2)


def one_line(value: Value, *, exclude: IncEx | None = None) -> str:
    """Canonical JSON on one line of ASCII, for any terminal and any reader of lines. Of a result as for `pretty`."""
    return value.model_dump_json(ensure_ascii=True, exclude=exclude)


def load(path: Path) -> Result:
    """Read a result back.

    Args:
        path: The result's folder, or the file in it.

    Raises:
        EnvironmentProblem: There is none, or it is not a result of this format.
    """
    file = path / RESULT_FILE if path.is_dir() else path
    try:
        return Result.model_validate_json(file.read_bytes())
    except OSError as error:
        raise EnvironmentProblem(f"cannot read the result {file}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"]) or "the whole file"
        raise EnvironmentProblem(
            f"{file} is not a result that this version understands: {where}: {first['msg']}",
            hint="it was written by another version, or changed or cut afterwards",
        ) from error
