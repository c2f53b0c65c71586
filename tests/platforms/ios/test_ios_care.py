"""Nothing of a user's is touched, and nothing of ours stays, also where something is wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.command import Command
from harness.core.device import Device
from harness.core.errors import DeviceLost, EnvironmentProblem, UsageError
from harness.testing.phones.ios.apps.packages import SHELL_BUNDLE
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.progress import RecordedProgress
from platforms.ios.apps.crash_watch import CrashWatch
from platforms.ios.apps.other_apps import OtherApp, run_other_app
from platforms.ios.link.client import InstalledApp
from platforms.ios.link.errors import lost_error
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.link.words import check_remote
from platforms.ios.options import IosOptions
from platforms.ios.platform import Ios
from platforms.ios.session import IosSession, IPhone
from platforms.ios.state.readiness import IPhoneLimits
from platforms.phone_options import PhoneOptions


@pytest.mark.parametrize("path", [".", "./", "././.", "", "//"])
def test_the_container_itself_is_no_path_in_it(path: str) -> None:
    with pytest.raises(EnvironmentProblem, match="is no path"):
        check_remote(path)


@pytest.mark.parametrize(
    "folder", ["Documents", "/Documents/x", "Documents/../x", "x/y", "edge-harness", "Documents/\n"]
)
def test_a_folder_that_no_app_may_write_to_is_refused(folder: str) -> None:
    settings = Settings(plug_ins=(IosOptions(ios_dir=folder), PhoneOptions()))
    with pytest.raises(UsageError, match="is no folder of an app"):
        Ios(settings)


@pytest.mark.slow
def test_a_folder_that_is_named_as_a_result_keeps_its_files(
    client: GoIos, iphones: IPhoneLab, shell: Path, tmp_path: Path
) -> None:
    phone = iphones.phones[0]
    phone.install(shell)
    udid = phone.model.udid
    (tmp_path / "photo").write_text("precious")
    client.push(udid, SHELL_BUNDLE, tmp_path / "photo", "Documents/album/photo")
    command = Command(("true",), timeout_s=5.0)
    with pytest.raises(EnvironmentProblem, match="is no file"):
        run_other_app(
            client, udid, command, OtherApp(InstalledApp(SHELL_BUNDLE), "Documents/album"), CrashWatch(client, udid)
        )
    assert client.list_files(udid, SHELL_BUNDLE, "Documents/album") == ("photo",)


@dataclass
class StubbornClient(GoIos):
    """A phone that refuses to end apps, or is lost; everything else is recorded."""

    error: EnvironmentProblem
    removed: list[str] = field(default_factory=list)

    def kill(self, udid: str, bundle: str) -> None:
        raise self.error

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        self.removed.append(bundle)


def close_session(error: EnvironmentProblem) -> list[str]:
    client = StubbornClient(error)
    device = Device(name="phone", identity="00008110-A", platform="ios", abi="arm64", os="iOS 18.5", kind="iPhone")
    limits = IPhoneLimits.from_options(PhoneOptions(), 1.0)
    phone = IPhone(
        client=client,
        device=device,
        folder="Documents/x",
        runner=None,
        sign=None,
        limits=limits,
        progress=RecordedProgress(),
    )
    session = IosSession(phone, wait_for_return=lambda: None)
    session._open_container("org.a")
    session._open_container("org.b")
    session.close()
    return client.removed


def test_files_are_removed_although_an_app_cannot_be_ended() -> None:
    assert close_session(EnvironmentProblem("no developer image")) == ["org.a", "org.b"]


def test_a_lost_phone_is_not_asked_again() -> None:
    error: DeviceLost = lost_error("phone", "it was asked")
    assert close_session(error) == []
