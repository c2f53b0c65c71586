from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.adb_server import empty_adb_server

# Shared machines pause for longer than any deadline; a test's speed is not what is tested.
settings.register_profile("calm", deadline=None)
settings.load_profile("calm")


@pytest.fixture(scope="session", autouse=True)
def _no_phones_but_ours() -> Iterator[None]:
    """Phones on this desk take no part in tests, and no adb server is started for them."""
    with empty_adb_server() as port:
        os.environ["ANDROID_ADB_SERVER_PORT"] = str(port)
        yield
        del os.environ["ANDROID_ADB_SERVER_PORT"]
