from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.testing.phones.ios.apps.packages import make_package
from harness.testing.phones.ios.model import StandInApp
from harness.testing.phones.ios.phone import StandInIPhone
from harness.testing.phones.ios.services.folders import AfcRefusal, AfcStatus, FolderView
from tests.iphones import GoIosCaller

BUNDLE = "org.example.app"
APP = f"--app={BUNDLE}"


@pytest.fixture
def app(iphone: StandInIPhone, tmp_path: Path) -> StandInApp:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexit 0\n")
    return iphone.install(make_package(tmp_path / "package", program, bundle=BUNDLE, name="App"))


@pytest.fixture
def view(iphone: StandInIPhone, app: StandInApp) -> FolderView:
    return FolderView(iphone, app.container)


def test_a_file_goes_into_a_container_and_back(ios: GoIosCaller, app: StandInApp, tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000 + b"end"
    source = tmp_path / "name with spaces 'and quotes'"
    source.write_bytes(content)
    ios.succeed("fsync", APP, "mkdir", "--path=Documents/a/b")
    ios.succeed("fsync", APP, "push", f"--srcPath={source}", "--dstPath=Documents/a/b/file")
    assert (app.container / "Documents/a/b/file").read_bytes() == content
    ios.succeed("fsync", APP, "pull", "--srcPath=Documents/a/b/file", f"--dstPath={tmp_path / 'back'}")
    assert (tmp_path / "back/file").read_bytes() == content


def test_a_tree_shows_what_an_app_left_and_is_removed(ios: GoIosCaller, app: StandInApp) -> None:
    (app.container / "Documents/results").mkdir()
    (app.container / "Documents/results/r.json").write_text("{}")
    assert ios.succeed("fsync", APP, "tree", "--path=Documents").splitlines() == ["|  |-results/", "|  |  |-r.json"]
    ios.succeed("fsync", APP, "rm", "--r", "--path=Documents/results")
    assert list((app.container / "Documents").iterdir()) == []
    assert "afc error code: 8" in ios.fail("fsync", APP, "rm", "--path=Documents/results")


def test_an_app_that_is_not_installed_has_no_container(ios: GoIosCaller) -> None:
    assert "ApplicationLookupFailed" in ios.fail("fsync", "--app=org.example.none", "tree", "--path=.")


@pytest.mark.parametrize("path", ["../../secret", "Documents/../../../secret", "Documents/link/secret"])
def test_no_path_leads_out_of_a_container(view: FolderView, app: StandInApp, tmp_path: Path, path: str) -> None:
    (tmp_path / "secret").write_text("secret")
    (app.container / "Documents/link").symlink_to(tmp_path)
    with pytest.raises(AfcRefusal) as refusal:
        view.describe(path.encode())
    assert refusal.value.status == AfcStatus.PERMISSION_DENIED


def test_a_link_out_of_a_container_is_not_opened(view: FolderView, app: StandInApp, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (app.container / "Documents/link").symlink_to(tmp_path / "secret")
    with pytest.raises(AfcRefusal):
        view.open(b"Documents/link", 1)
    with pytest.raises(AfcRefusal):
        view.open(b"Documents/link", 3)


def test_the_container_itself_stays(view: FolderView, app: StandInApp) -> None:
    with pytest.raises(AfcRefusal):
        view.remove(b"/./", contents=True)
    assert app.container.is_dir()


@pytest.mark.slow
def test_a_full_phone_takes_no_more_and_says_so(
    ios: GoIosCaller, iphone: StandInIPhone, app: StandInApp, tmp_path: Path
) -> None:
    big, small = tmp_path / "big", tmp_path / "small"
    big.write_bytes(b"x" * 200_000)
    small.write_bytes(b"x" * 1000)
    iphone.fill(100_000)
    assert json.loads(ios.succeed("diskspace"))["FreeBytes"] == 100_000
    assert "afc error code: 18" in ios.fail("fsync", APP, "push", f"--srcPath={big}", "--dstPath=Documents/big")
    ios.succeed("fsync", APP, "rm", "--path=Documents/big")
    ios.succeed("fsync", APP, "push", f"--srcPath={small}", "--dstPath=Documents/small")
    assert iphone.conditions.bytes_left == 99_000


def test_room_comes_back_when_a_file_is_written_again(view: FolderView, iphone: StandInIPhone) -> None:
    iphone.fill(100)
    for _ in range(3):
        number = view.open(b"Documents/file", 3)
        view.write(number, b"x" * 60)
        view.close(number)
    assert iphone.conditions.bytes_left == 40


@pytest.mark.slow
def test_crash_reports_are_listed_copied_and_removed(ios: GoIosCaller, iphone: StandInIPhone, tmp_path: Path) -> None:
    (iphone.crash_reports / "Runner-2026-11-23-101500.ips").write_text('{"bug_type":"309"}\n{}')
    (iphone.crash_reports / "Other-2026-11-23-101500.ips").write_text("{}")
    assert len(json.loads(ios.succeed("crash", "ls"))["files"]) == 2
    ios.succeed("crash", "cp", "Runner*", tmp_path)
    assert (tmp_path / "Runner-2026-11-23-101500.ips").read_text() == '{"bug_type":"309"}\n{}'
    ios.succeed("crash", "rm", ".", "Runner*")
    assert json.loads(ios.succeed("crash", "ls"))["files"] == ["Other-2026-11-23-101500.ips"]
