from __future__ import annotations

import os
import platform
import tarfile
from pathlib import Path

import pytest

from harness.config import settings
from harness.testing.phones.ios import client

PROGRAM = '#!/bin/sh\necho \'{"version":"1.2.0"}\'\n'
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "")


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the only programs in PATH, beside an empty cache."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "cp"):
        (folder / name).symlink_to(
            next(path for path in map(Path, (f"/bin/{name}", f"/usr/bin/{name}")) if path.exists())
        )
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(settings, "default_cache", lambda: tmp_path / "cache")
    monkeypatch.delenv("HARNESS_GO_IOS", raising=False)
    return folder


def serve_package(programs: Path, tmp_path: Path, member: str) -> None:
    """Let `npm pack` give a package with one program."""
    program = write_program(tmp_path / "content/ios", PROGRAM)
    with tarfile.open(tmp_path / "package.tgz", "w:gz") as archive:
        archive.add(program, f"package/dist/{member}/ios")
    write_program(programs / "npm", f"#!/bin/sh\ncp {tmp_path}/package.tgz go-ios-1.2.0.tgz\n")


def test_the_program_that_the_variable_names_comes_first(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(programs / "ios", PROGRAM)
    named = write_program(tmp_path / "named", PROGRAM)
    monkeypatch.setenv("HARNESS_GO_IOS", str(named))
    assert client.find_go_ios() == named


def test_a_variable_that_names_no_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_GO_IOS", "/nowhere/ios")
    assert client.find_go_ios() is None
    assert "HARNESS_GO_IOS names /nowhere/ios, which is no program" in str(client.go_ios_obstacle())


def test_another_program_of_that_name_is_passed_over(programs: Path) -> None:
    write_program(programs / "ios", "#!/bin/sh\necho Internet Operating System\n")
    installed = write_program(programs / "go-ios", PROGRAM)
    assert client.find_go_ios() == installed


def test_without_npm_it_is_said_how_to_get_it() -> None:
    assert client.find_go_ios() is None
    assert "npm, which fetches it, is missing" in str(client.go_ios_obstacle())
    assert "HARNESS_GO_IOS" in str(client.go_ios_obstacle())


@pytest.mark.skipif(not ARCHITECTURE or platform.system() != "Linux", reason="go-ios has packages for Linux here")
def test_it_is_fetched_once(programs: Path, tmp_path: Path) -> None:
    serve_package(programs, tmp_path, f"go-ios-linux-{ARCHITECTURE}_linux_{ARCHITECTURE}")
    fetched = client.find_go_ios()
    assert fetched == tmp_path / "cache/stand-ins/go-ios-1.2.0/ios"
    assert os.access(fetched, os.X_OK)
    (programs / "npm").unlink()
    assert client.find_go_ios() == fetched


def test_a_package_without_a_program_for_this_machine_is_told(programs: Path, tmp_path: Path) -> None:
    serve_package(programs, tmp_path, "go-ios-plan9-mips_plan9_mips")
    assert client.find_go_ios() is None
    assert "has no program for" in str(client.go_ios_obstacle())


def test_a_failing_npm_is_told(programs: Path) -> None:
    write_program(programs / "npm", "#!/bin/sh\necho no network >&2\nexit 1\n")
    assert "npm could not fetch go-ios 1.2.0" in str(client.go_ios_obstacle())
