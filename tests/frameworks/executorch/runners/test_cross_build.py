"""The native runner for a phone is compiled on this machine, against the wheel for the phone's processor."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from frameworks.executorch.options import ExecuTorchOptions
from frameworks.executorch.runners import choice, toolchain
from frameworks.executorch.runners.device_wheel import fetch_wheel
from frameworks.executorch.runners.toolchain import Tool, describe_c_library, find_c_library
from harness.config.settings import Settings
from harness.core.device import Device
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.core.protocols import Progress
from harness.shell import pip
from harness.testing.progress import RecordedProgress
from tests.frameworks.executorch.scripts import script


@dataclass
class Index:
    """Package index with one wheel, and what was asked of it."""

    asked: list[tuple[str, str, str | None]] = field(default_factory=list)

    def download(self, package: str, version: str, folder: Path, *, machine: str | None = None) -> Path:
        self.asked.append((package, version, machine))
        wheel = folder / f"{package}-{version}-cp311-cp311-manylinux_2_28_{machine}.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("executorch/__init__.py", "")
        return wheel


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Index:
    index = Index()
    monkeypatch.setattr(pip, "download_wheel", index.download)
    return index


def phone(abi: str, system: str = "Android 14 (API 34)") -> Device:
    return Device(platform="phones", identity="x", name="Pixel", os=system, abi=abi)


def test_a_wheel_is_fetched_once_and_checked_when_it_is_used(index: Index, tmp_path: Path) -> None:
    progress = RecordedProgress()
    first = fetch_wheel("1.5.1", "aarch64", tmp_path, progress)
    assert fetch_wheel("1.5.1", "aarch64", tmp_path, progress) == first
    assert index.asked == [("executorch", "1.5.1", "aarch64")]
    assert progress.tasks == ["fetching executorch 1.5.1 for aarch64 (once)"]
    first.path.write_bytes(first.path.read_bytes() + b"x")
    with pytest.raises(BuildFailed, match="was changed since it was fetched") as caught:
        fetch_wheel("1.5.1", "aarch64", tmp_path, progress)
    assert f"remove {first.path.parent}" in (caught.value.hint or "")


def test_a_download_that_fails_leaves_nothing(
    tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(package: str, version: str, folder: Path, *, machine: str | None = None) -> Path:
        (folder / "half.whl").write_text("")
        raise EnvironmentProblem("the index cannot be reached")

    monkeypatch.setattr(pip, "download_wheel", fail)
    with pytest.raises(EnvironmentProblem):
        fetch_wheel("1.5.1", "aarch64", tmp_path, progress)
    assert list((tmp_path / "wheels").iterdir()) == []


def test_wheels_for_older_glibcs_are_accepted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = script(tmp_path / "python", f'echo "$@" > {tmp_path}/words; exit 1')
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(BuildFailed, match=r"executorch 1\.5\.1 cannot be downloaded") as caught:
        pip.download_wheel("executorch", "1.5.1", tmp_path, machine="aarch64")
    words = (tmp_path / "words").read_text().split()
    platforms = [word for word in words if word.startswith("--platform")]
    assert platforms.index("--platform=manylinux_2_28_aarch64") < platforms.index("--platform=manylinux_2_17_aarch64")
    assert "--only-binary=:all:" in words
    assert "Linux on aarch64" in (caught.value.hint or "")


def test_a_missing_cross_compiler_is_named_before_anything_is_fetched(
    index: Index, tmp_path: Path, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "_which", lambda name: None)
    with pytest.raises(BuildFailed, match=r"no aarch64-linux-gnu-g\+\+ to compile") as caught:
        choice.device_build(Settings(cache_dir=tmp_path), progress, device=phone("arm64-v8a"))
    assert "no runner for Pixel (arm64-v8a)" in caught.value.message
    assert "apt install g++-aarch64-linux-gnu" in (caught.value.hint or "")
    assert "ANDROID_NDK" in (caught.value.hint or ""), "the other way"
    assert index.asked == []


@pytest.mark.parametrize(
    ("device", "words", "remedy"),
    [
        (phone("armeabi-v7a"), "no released package has a runner for Android 14 .* on armeabi-v7a", "--program PATH"),
        (phone("arm64", "iOS 18.5"), "no released package has a runner for iOS 18.5 on arm64", "--program FILE.ipa"),
        (phone("arm64", "iPadOS 17.0"), "no released package has a runner for iPadOS 17.0", "apple/build.sh --team"),
    ],
)
def test_devices_without_a_wheel_are_told_what_else_there_is(
    device: Device, words: str, remedy: str, tmp_path: Path, progress: Progress
) -> None:
    with pytest.raises(BuildFailed, match=words) as caught:
        choice.device_build(Settings(cache_dir=tmp_path), progress, device=device)
    assert remedy in (caught.value.hint or "")


def test_the_python_runner_is_not_for_phones(tmp_path: Path, progress: Progress) -> None:
    settings = Settings(plug_ins=(ExecuTorchOptions(runner="python"),), cache_dir=tmp_path)
    with pytest.raises(BuildFailed, match="run on this machine only"):
        choice.device_build(settings, progress, device=phone("arm64-v8a"))


def test_a_compiler_without_a_c_library_is_named(tmp_path: Path) -> None:
    bare = Tool(script(tmp_path / "g++", "echo libc.so.6"), "g++ 12")
    with pytest.raises(BuildFailed, match=r"has no libc\.so\.6") as caught:
        find_c_library(bare)
    assert "libc6-dev-arm64-cross" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("banner", "description"),
    [
        (
            b"GNU C Library (Debian GLIBC 2.36-8cross1) stable release version 2.36.\n",
            "2.36 (Debian GLIBC 2.36-8cross1)",
        ),
        (
            b"GNU C Library (Ubuntu GLIBC 2.39-0ubuntu8.3) stable release version 2.39.\n",
            "2.39 (Ubuntu GLIBC 2.39-0ubuntu8.3)",
        ),
    ],
)
def test_a_c_library_tells_its_version(tmp_path: Path, banner: bytes, description: str) -> None:
    library = tmp_path / "libc.so.6"
    library.write_bytes(b"\x7fELF\0\xff" + banner + b"\0more")
    assert describe_c_library(library) == f"glibc {description}"
