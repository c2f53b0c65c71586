from __future__ import annotations

import platform
from pathlib import Path

import pytest

from platforms.ios.link.choice import choose_client
from platforms.ios.options import IosOptions
from tests.platforms.ios.link.devicectl_recordings import write_xcrun
from tests.platforms.ios.link.recorded import write_program


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in PATH."""
    for name in ("cat", "sleep"):
        (tmp_path / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HARNESS_GO_IOS", raising=False)
    return tmp_path


def chosen(options: IosOptions) -> str | None:
    client = choose_client(options)
    return None if client is None else client.name


def test_a_mac_without_go_ios_uses_devicectl(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_xcrun(programs, {})
    assert chosen(IosOptions()) is None
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert chosen(IosOptions()) == "devicectl"
    write_program(programs, {})
    assert chosen(IosOptions()) == "go-ios"


def test_the_client_that_a_user_names_is_used(programs: Path) -> None:
    write_program(programs, {})
    assert chosen(IosOptions(ios_client="devicectl")) == "devicectl"
    assert chosen(IosOptions(ios_client="go-ios")) == "go-ios"
