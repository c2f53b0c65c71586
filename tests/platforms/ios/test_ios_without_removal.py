"""Sessions with a client that can neither remove files nor read the system log, as devicectl cannot."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.config.settings import Settings
from harness.core.command import Command
from harness.core.errors import BenchmarkUnsupported
from harness.testing.phones.ios.apps.packages import SHELL_BUNDLE
from harness.testing.phones.ios.lab import IPhoneLab
from harness.testing.progress import RecordedProgress
from platforms.ios.link.client import InstalledApp, PhoneLog
from platforms.ios.link.go_ios.client import GoIos
from platforms.ios.options import IosOptions
from platforms.ios.platform import Ios
from platforms.phone_options import PhoneOptions


class LimitedClient(GoIos):
    """The real client without what devicectl lacks; it does not tell the names of programs either."""

    name = "limited"

    def remove(self, udid: str, bundle: str, remote: str) -> None:
        raise BenchmarkUnsupported(f"no way to remove {remote} from {bundle} on {udid}")

    def open_log(self, udid: str) -> AbstractContextManager[PhoneLog]:
        raise BenchmarkUnsupported(f"no log of {udid}")

    def list_apps(self, udid: str) -> tuple[InstalledApp, ...]:
        return tuple(replace(app, executable="") for app in super().list_apps(udid))


@pytest.mark.slow
def test_files_that_stay_do_no_harm(go_ios: Path, iphones: IPhoneLab, shell: Path, tmp_path: Path) -> None:
    for phone in iphones.phones:
        phone.install(shell)
    client = LimitedClient(go_ios, usbmuxd=iphones.usbmuxd, environment=dict(iphones.environment))
    settings = Settings(cache_dir=tmp_path / "cache", plug_ins=(IosOptions(ios_app=SHELL_BUNDLE), PhoneOptions()))
    (tmp_path / "locks").mkdir()
    ios = Ios(settings, client, locks=tmp_path / "locks")
    local = tmp_path / "model"
    local.write_text("first")
    device = ios.devices()[0]
    with ios.open(device, RecordedProgress()) as session:
        staged = session.stage({"model": local}, {})
        copy = f"cp {staged.files['model']} {staged.folder}/copy"
        for _ in range(2):
            assert session.run(Command(("sh", "-c", f"sleep 2; {copy}"))).exit_code == 0
            session.pull(f"{staged.folder}/copy", tmp_path / "pulled")
            assert (tmp_path / "pulled").read_text() == "first"
        local.write_text("second")
        again = session.stage({"model": local}, {})
        session.release(staged, ["model"])
        completed = session.run(Command(("cat", again.files["model"])))
        assert completed.stdout == "second"
        ended = session.run(Command(("sh", "-c", "kill -9 $PPID; sleep 1"), timeout_s=3.0))
        assert ended.timed_out or ended.signal is not None
        assert session.run(Command(("true",))).exit_code == 0
