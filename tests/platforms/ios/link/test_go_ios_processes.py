"""Apps that our client starts, asks for and ends on stand-in iPhones: by lockdown, and through a tunnel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import shell
from harness.core.errors import EnvironmentProblem
from harness.testing.phones import start_iphones
from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.phones.ios.model import StandInApp
from harness.testing.phones.ios.phone import StandInIPhone
from platforms.ios.link.client import AppLaunch
from platforms.ios.link.errors import AppNotInstalled, NoDeveloperServices, PhoneNotPaired
from platforms.ios.link.go_ios.client import GoIos
from tests.iphones import reset

pytestmark = pytest.mark.slow

BUNDLE = "org.example.Runner"
_END_S = 120.0
_SCRIPT = """#!/bin/sh
printf '<%s>' "$@" "$NAMED" > "$HOME/tmp/out"
mv "$HOME/tmp/out" "$HOME/Documents/out"
exec sleep 600
"""


@pytest.fixture(scope="module", params=["16.7.10", "18.5"])
def lab(request: pytest.FixtureRequest, go_ios: Path) -> Iterator[IPhoneLab]:
    with start_iphones(1, version=str(request.param)) as lab:
        yield lab


@pytest.fixture
def phone(lab: IPhoneLab) -> Iterator[StandInIPhone]:
    reset(lab)
    yield lab.phones[0]
    reset(lab)


@pytest.fixture
def udid(phone: StandInIPhone) -> str:
    return phone.model.udid


@pytest.fixture
def client(go_ios: Path, lab: IPhoneLab) -> GoIos:
    return GoIos(go_ios, usbmuxd=lab.usbmuxd, tunnel=lab.tunnel or "127.0.0.1:1")


@pytest.fixture
def app(phone: StandInIPhone, tmp_path: Path) -> StandInApp:
    (tmp_path / "program").write_text(_SCRIPT)
    return phone.install(make_package(tmp_path, tmp_path / "program", bundle=BUNDLE, name="Runner"))


def test_an_app_is_started_with_its_words_found_and_ended(
    client: GoIos, phone: StandInIPhone, app: StandInApp, udid: str
) -> None:
    assert client.is_running(udid, "Runner") is False
    words = ("--udid=other", "a b\n", "", "ü'$(x)\"")
    pid = client.launch(udid, AppLaunch(BUNDLE, words, {"NAMED": " 1 2"}))
    (process,) = phone.processes()
    assert process.pid == pid
    out = app.container / "Documents/out"
    assert shell.poll_until(out.exists, _END_S)
    assert out.read_text() == "".join(f"<{word}>" for word in (*words, " 1 2"))
    assert client.is_running(udid, "Runner") is True
    assert client.launch(udid, AppLaunch(BUNDLE)) != pid
    assert process.wait()
    client.kill(udid, BUNDLE)
    client.kill(udid, BUNDLE)
    assert client.is_running(udid, "Runner") is False


def test_an_app_that_cannot_be_started_is_said(client: GoIos, phone: StandInIPhone, udid: str) -> None:
    with pytest.raises(AppNotInstalled, match="does not have this app"):
        client.launch(udid, AppLaunch(BUNDLE))
    client.kill(udid, BUNDLE)


def test_a_locked_phone_starts_no_app(client: GoIos, phone: StandInIPhone, app: StandInApp, udid: str) -> None:
    phone.lock()
    with pytest.raises(PhoneNotPaired, match="is locked"):
        client.launch(udid, AppLaunch(BUNDLE))


def test_without_developer_services_the_reason_is_told(
    client: GoIos, phone: StandInIPhone, app: StandInApp, udid: str
) -> None:
    phone.conditions.developer_image = False
    with pytest.raises(NoDeveloperServices, match="no developer image"):
        client.launch(udid, AppLaunch(BUNDLE))
    phone.conditions.developer_mode = False
    with pytest.raises(NoDeveloperServices, match=f"developer mode of {udid} is off"):
        client.launch(udid, AppLaunch(BUNDLE))


@pytest.mark.parametrize("lab", ["18.5"], indirect=True)
def test_a_new_phone_without_a_tunnel_is_told_from_one_without_an_image(
    lab: IPhoneLab, go_ios: Path, phone: StandInIPhone, app: StandInApp, udid: str
) -> None:
    client = GoIos(go_ios, usbmuxd=lab.usbmuxd, tunnel="127.0.0.1:1")
    assert client.read_properties(udid).version == phone.model.version
    assert client.list_files(udid, BUNDLE, "Documents") == ()
    with pytest.raises(EnvironmentProblem, match="needs a tunnel"):
        client.launch(udid, AppLaunch(BUNDLE))
