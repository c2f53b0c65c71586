from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.testing.phones import available, phones
from harness.testing.phones.android.lab import Lab
from harness.testing.phones.android.phone import StandIn
from harness.testing.progress import RecordedProgress
from platforms.android.link.adb import AdbServer
from platforms.android.link.phone import Phone
from platforms.android.platform import Android
from platforms.android.session import AndroidSession

MakePlatform = Callable[..., Android]


def _needed() -> None:
    reason = available()
    if reason is not None and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """One phone for everything that leaves it as it was."""
    _needed()
    with phones(1) as opened:
        yield opened


@pytest.fixture(scope="session")
def rooted_lab() -> Iterator[Lab]:
    _needed()
    with phones(1, rooted=True) as opened:
        yield opened


@pytest.fixture
def broken_lab() -> Iterator[Lab]:
    """One phone of its own for a test that disturbs it, or its server."""
    _needed()
    with phones(1) as opened:
        yield opened


@pytest.fixture
def stand_in(lab: Lab) -> StandIn:
    return lab.phones[0]


@pytest.fixture
def server(lab: Lab) -> AdbServer:
    return AdbServer(lab.server)


@pytest.fixture
def phone(server: AdbServer, stand_in: StandIn) -> Phone:
    return Phone(server, stand_in.serial)


@pytest.fixture
def make_platform(tmp_path: Path) -> MakePlatform:
    """Makes the platform for a lab, with settings of its own."""

    def make(lab: Lab, **changed: object) -> Android:
        settings = Settings(adb_server=lab.server, cache_dir=tmp_path / "cache", return_timeout=60.0, lock_timeout=60.0)
        return Android(replace(settings, **changed), AdbServer(lab.server), locks=tmp_path)  # type: ignore[arg-type]

    return make


@pytest.fixture
def session(lab: Lab, make_platform: MakePlatform) -> Iterator[AndroidSession]:
    platform = make_platform(lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as held:
        yield held
