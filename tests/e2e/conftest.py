from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.testing.phones import start_phones, unavailable_reason
from harness.testing.phones.android.lab import PhoneLab
from tests.cli.project import Project
from tests.e2e.desk import Desk, compile_witness, forget_locks


def _started(count: int) -> Iterator[PhoneLab]:
    reason = unavailable_reason() or (None if shutil.which("g++") else "no g++: apt install g++")
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    with start_phones(count) as lab:
        try:
            yield lab
        finally:
            forget_locks(lab)


@pytest.fixture(scope="session")
def phone_lab() -> Iterator[PhoneLab]:
    """Four phones for all tests; `desk` puts them back as they were."""
    yield from _started(4)


@pytest.fixture(scope="session")
def many_phones() -> Iterator[PhoneLab]:
    yield from _started(20)


@pytest.fixture(scope="session")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_witness(tmp_path_factory.mktemp("witness"))


@pytest.fixture
def desk(phone_lab: PhoneLab, tmp_path: Path) -> Iterator[Desk]:
    """Four phones as they were bought, and an empty project."""
    desk = Desk(phone_lab, Project(tmp_path, tmp_path / "cache"))
    yield desk
    desk.tidy()
