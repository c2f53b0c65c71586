"""Programs of other Android releases for the tests, from a folder that a developer names.

    HARNESS_TEST_PHONES=FOLDER pytest tests/platforms/android

Each folder in FOLDER stands for a phone, and the files in it (`toybox`, `mksh`, or a tool such as `setsid`) take the
place of that phone's programs. They are static. Every test that uses the phone of all tests then runs on each of these
phones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

VARIABLE: Final = "HARNESS_TEST_PHONES"

_NAMES: Final = {"mksh": "sh"}
"""Names in the phone, where they are not those of the files."""


def given_phones(environment: Mapping[str, str]) -> Sequence[object]:
    """Return a parameter for each given phone, named after its folder; none where the variable is not set.

    Raises:
        pytest.UsageError: The folder contains no phone, or a phone without programs.
    """
    if not environment.get(VARIABLE):
        return ()
    folder = Path(environment[VARIABLE])
    phones = sorted(entry for entry in folder.glob("*") if entry.is_dir())
    if not phones:
        raise pytest.UsageError(f"{VARIABLE}: no folders in {folder}")
    return [pytest.param(_programs(phone), id=phone.name) for phone in phones]


def _programs(phone: Path) -> Mapping[str, Path]:
    programs = {_NAMES.get(file.name, file.name): file.resolve() for file in sorted(phone.iterdir()) if file.is_file()}
    if not programs:
        raise pytest.UsageError(f"{VARIABLE}: no programs in {phone}")
    return programs
