"""Which build of an app is installed: what its program's digest tells, and what it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from harness.testing.phones.ios.apps.packages import make_package
from platforms.ios.apps.builds import InstalledBuilds
from platforms.ios.link.client import InstalledApp, PhoneClient

BUNDLE = "org.example.app"


@dataclass
class RecordingClient:
    """A client of a phone that has version 1 of the app, and records what is installed."""

    installed: list[Path] = field(default_factory=list)

    def list_apps(self, udid: str) -> Sequence[InstalledApp]:
        return (InstalledApp(BUNDLE, "1", executable="App"),)

    def install(self, udid: str, package: Path) -> None:
        self.installed.append(package)


def package(folder: Path, *, framework: str | None = None) -> Path:
    folder.mkdir()
    program = folder / "App"
    program.write_text("the same program")
    files = {}
    if framework is not None:
        (folder / "library").write_text(framework)
        files = {"Frameworks/Runtime.framework/Runtime": folder / "library"}
    return make_package(folder, program, bundle=BUNDLE, name="App", files=files)


def test_builds_with_the_same_program_and_other_frameworks_are_two(tmp_path: Path) -> None:
    client = RecordingClient()
    builds = InstalledBuilds(cast(PhoneClient, client), "UDID")
    first, second = (builds.add(package(tmp_path / name, framework=name)) for name in ("old", "new"))
    assert first.path != second.path
    assert first.package is not None
    assert second.package is not None
    assert first.package.executable_sha256 == second.package.executable_sha256
    for app, other in ((first, second), (second, first)):
        builds.install(app)
        builds.note(app, "" if app.package is None else app.package.executable_sha256)
        assert (builds.is_current(app), builds.is_current(other)) == (True, False)
    assert [note.code for note in builds.notes()] == ["installed_in_turns"]


def test_an_app_with_frameworks_is_not_believed_to_be_installed_by_its_program_alone(tmp_path: Path) -> None:
    builds = InstalledBuilds(cast(PhoneClient, RecordingClient()), "UDID")
    linked = builds.add(package(tmp_path / "linked", framework="x"))
    assert linked.package is not None
    assert not builds.may_be_current(linked)
    builds.note(linked, linked.package.executable_sha256)
    assert not builds.is_current(linked)


def test_an_app_that_is_one_program_is_known_by_its_digest(tmp_path: Path) -> None:
    builds = InstalledBuilds(cast(PhoneClient, RecordingClient()), "UDID")
    static = builds.add(package(tmp_path / "static"))
    assert static.package is not None
    assert builds.may_be_current(static)
    builds.note(static, static.package.executable_sha256)
    assert builds.is_current(static)
    builds.note(static, "another")
    assert not builds.is_current(static)
