from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from platforms import machine_lock


@pytest.fixture(scope="module", autouse=True)
def _locks_of_this_machine(_locks_of_this_run: None) -> Iterator[None]:
    """Benchmarks measure: they wait for other measurements on this machine, as those wait for them."""
    folder = os.environ.pop(machine_lock.FOLDER)
    yield
    os.environ[machine_lock.FOLDER] = folder
