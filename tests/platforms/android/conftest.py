from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.testing.phones import start_phones, unavailable_reason
from harness.testing.phones.android.lab import PhoneLab
from harness.testing.phones.android.phone import StandInPhone
from harness.testing.progress import RecordedProgress
from platforms.android.link.adb import AdbServer
from platforms.android.link.liveness import ProbeTimes
from platforms.android.link.phone import Phone
from platforms.android.options import AndroidOptions
from platforms.android.platform import Android
from platforms.android.session import AndroidSession
from platforms.phone_options import PhoneOptions
from tests.platforms.android.given_phones import given_phones

OLD_TIMEOUT = """#!/system/bin/sh
# As in toybox 0.8.0: 127 and the number of the signal, where others tell 128 and the number.
toybox timeout "$@"
status=$?
[ $status -ne 137 ] || exit 136
exit $status
"""

MakePlatform = Callable[..., Android]


def _needed() -> None:
    reason = unavailable_reason()
    if reason is not None and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session", params=given_phones(os.environ) or None)
def lab(request: pytest.FixtureRequest) -> Iterator[PhoneLab]:
    """One phone for everything that leaves it as it was; one after the other where programs of phones are given."""
    _needed()
    with start_phones(1, programs=getattr(request, "param", {})) as opened:
        yield opened


@pytest.fixture(scope="session")
def rooted_lab() -> Iterator[PhoneLab]:
    _needed()
    with start_phones(1, rooted=True) as opened:
        yield opened


@pytest.fixture(scope="session", params=["toybox 0.8.3", "toybox 0.8.0"])
def old_lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PhoneLab]:
    """One phone with the `setsid` of Android 11 and 12, or the `setsid` and `timeout` of Android 10."""
    _needed()
    compiler = shutil.which("cc")
    if compiler is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("a C compiler is missing (apt install gcc)")
    program = tmp_path_factory.mktemp("old") / "setsid"
    programs = {"setsid": program}
    options: tuple[str, ...] = ()
    if request.param == "toybox 0.8.0":
        options = ("-DWITHOUT_WAIT",)
        programs["timeout"] = program.with_name("timeout")
        programs["timeout"].write_text(OLD_TIMEOUT)
        programs["timeout"].chmod(0o755)
    source = Path(__file__).with_name("old_setsid.c")
    subprocess.run((compiler, "-static", *options, "-o", str(program), str(source)), check=True)
    with start_phones(1, programs=programs) as opened:
        yield opened


@pytest.fixture
def broken_lab() -> Iterator[PhoneLab]:
    """One phone of its own for a test that disturbs it, or its server."""
    _needed()
    with start_phones(1) as opened:
        yield opened


@pytest.fixture
def stand_in(lab: PhoneLab) -> StandInPhone:
    return lab.phones[0]


@pytest.fixture
def server(lab: PhoneLab) -> AdbServer:
    return AdbServer(lab.server)


@pytest.fixture
def phone(server: AdbServer, stand_in: StandInPhone) -> Phone:
    return Phone(server, stand_in.serial)


def settings_with(settings: Settings, changed: Mapping[str, object]) -> Settings:
    """The settings with some of their fields, or of the platform's options, changed."""
    left = dict(changed)
    plug_ins = tuple(
        options(**{field.name: left.pop(field.name) for field in fields(options) if field.name in changed})  # type: ignore[arg-type]
        for options in (AndroidOptions, PhoneOptions)
    )
    return dataclasses.replace(settings, plug_ins=plug_ins, **left)  # type: ignore[arg-type]


@pytest.fixture
def make_platform(tmp_path: Path) -> MakePlatform:
    """Makes the platform for a lab, with settings of its own."""

    def make(lab: PhoneLab, **changed: object) -> Android:
        settings = Settings(cache_dir=tmp_path / "cache", return_timeout=60.0, lock_timeout=60.0)
        return Android(
            settings_with(settings, changed),
            AdbServer(lab.server),
            locks=tmp_path,
            probe_times=ProbeTimes(interval_s=60.0),
        )

    return make


@pytest.fixture
def session(lab: PhoneLab, make_platform: MakePlatform) -> Iterator[AndroidSession]:
    platform = make_platform(lab)
    with platform.open(platform.devices()[0], RecordedProgress()) as held:
        yield held
