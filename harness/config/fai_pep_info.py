"""FAI-PEP's info JSON: the sides of a run or comparison, as its drivers hand them on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from harness.config.parsing import describe_first_mistake, parse_string_map
from harness.core.errors import UsageError
from harness.core.scalars import Scalar, format_scalar
from harness.core.values import Value
from harness.files.reading import read_bounded


class InfoProgram(Value, extra="ignore"):
    """One program of a side."""

    location: Path


class InfoSide(Value, extra="ignore"):
    """One side of FAI-PEP's info JSON."""

    commit: str | None = None
    commit_time: int | None = None
    programs: dict[str, InfoProgram]
    string_map: str | dict[str, JsonValue] = {}

    def paths(self) -> dict[str, Path]:
        """Return its programs by placeholder."""
        return {name: program.location.absolute() for name, program in self.programs.items()}

    def texts(self) -> dict[str, str]:
        """Return its placeholders as text."""
        return {name: format_scalar(value) for name, value in self.variables().items() if isinstance(value, Scalar)}

    def variables(self) -> dict[str, object]:
        """Return its placeholders.

        Raises:
            UsageError: They are no JSON object.
        """
        mapped = parse_string_map(self.string_map)
        return mapped if isinstance(mapped, dict) else {}


class EarlierCommit(Value, extra="ignore"):
    """Earlier commit, in which FAI-PEP would have looked for a regression."""

    commit: str
    commit_time: int | None = None


class FaiPepInfo(Value, extra="ignore"):
    """Info JSON of FAI-PEP's drivers.

    Attributes:
        treatment: The side that is measured, or judged.
        control: The side to compare it with, if any.
        meta: Free values, reported.
        run_type: Reported.
        user: Reported.
        regressed_types: Metrics that an earlier run called regressed; marked in the results.
        regression_commits: Earlier commits, newest first; reported. The treatment is not compared with them: that is
            what a control is for.
    """

    treatment: InfoSide
    control: InfoSide | None = None
    meta: dict[str, JsonValue] = {}
    run_type: str | None = None
    user: str | None = None
    regressed_types: tuple[str, ...] | None = None
    regression_commits: tuple[EarlierCommit, ...] = ()


def read(given: str) -> FaiPepInfo:
    """Read an info JSON.

    Args:
        given: The JSON itself, or the path of a file with it.

    Raises:
        UsageError: It cannot be read.
    """
    source = given if given.lstrip().startswith("{") else _read(Path(given))
    try:
        return FaiPepInfo.model_validate_json(source)
    except ValidationError as error:
        raise UsageError(
            f"--info: {describe_first_mistake(error)}", hint='as in {"treatment": {"programs": {...}, ...}}'
        ) from error


def to_settings(info: FaiPepInfo) -> Mapping[str, object]:
    """Return the settings of an info JSON; with a control, whatever its sides do not share is left out."""
    side = info.treatment
    values: dict[str, object] = {
        "program": side.paths(),
        "meta": {**info.meta, **_earlier(info)},
        "run_type": info.run_type,
        "user": info.user,
        "regressed_types": info.regressed_types,
    }
    if info.control is not None:
        values["later"] = tuple(sorted({*side.texts(), *info.control.texts()}))
    else:
        values |= {"string_map": side.variables(), "commit": side.commit, "commit_time": side.commit_time}
    return {key: value for key, value in values.items() if value is not None}


def _earlier(info: FaiPepInfo) -> dict[str, object]:
    commits = [commit.model_dump(exclude_none=True) for commit in info.regression_commits]
    return {"regression_commits": commits} if commits else {}


def _read(path: Path) -> str:
    try:
        return read_bounded(path).decode()
    except OSError as error:
        raise UsageError(f"--info {path}: {error.strerror}", hint="name a file, or give the JSON itself") from error
    except ValueError as error:
        raise UsageError(f"--info {str(path)!r}: not a file of UTF-8 text", hint="give the JSON itself") from error
