"""The recipe for releases on phones without an NDK: the wheel of the phone's processor, a cross compiler, glibc."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.builders.sources.releases import ReleasesSource
from harness.builders.toolchain import find_toolchain
from harness.core.build import Build
from harness.core.commit import Commit
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.shell import pip
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import OURS, write_program

RUNNER = Path(__file__).parents[2] / "frameworks/executorch/native"
CMAKE = """#!/bin/sh
case $1 in
  --version) echo cmake version 3.25.1 ;;
  --build)
    mkdir -p "$2/bundle"
    for file in program runner ld-linux-aarch64.so.1 libstdc++.so.6 libexecutorch.so; do
      echo "$file" > "$2/bundle/$file"
      chmod +x "$2/bundle/$file"
    done
    printf 'ELF\\0GNU C Library (Debian GLIBC 2.36-8) stable release version 2.36.\\n' > "$2/bundle/libc.so.6"
    chmod +x "$2/bundle/libc.so.6" ;;
  *) for word in "$@"; do echo "$word"; done > {words} ;;
esac
"""


class Shelf:
    """Package index whose wheel has, or lacks, a C++ SDK."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        self.library = "lib/libexecutorch.so"

    def download(self, package: str, version: str, folder: Path, *, machine: str | None = None) -> Path:
        self.asked.append(machine)
        wheel = folder / f"{package}-{version}.whl"
        wheel.write_text("wheel")
        return wheel

    def unpack(self, wheel: Path, folder: Path) -> None:
        for name in (f"executorch/{self.library}", f"{wheel.stem}.dist-info/METADATA"):
            (folder / name).parent.mkdir(parents=True)
            (folder / name).touch()


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    shelf = Shelf()
    monkeypatch.setattr(pip, "download_wheel", shelf.download)
    monkeypatch.setattr(pip, "unpack_wheel", shelf.unpack)
    return shelf


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """CMake and a cross compiler that record what they are asked, before those of the machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    write_program(folder / "cmake", CMAKE.replace("{words}", str(tmp_path / "words")))
    write_program(folder / "aarch64-linux-gnu-g++", "#!/bin/sh\necho g++ 12\n")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def make(folder: Path, abi: str) -> Build:
    return build_commit(
        ReleasesSource("executorch"),
        Commit(source="releases:executorch", id="1.5.1"),
        find_recipe("executorch", "android", [OURS], released=True, runner_source=RUNNER),
        platform="android",
        abi=abi,
        cache=BuildCache(folder / "cache"),
        progress=RecordedProgress(),
    )


@pytest.mark.usefixtures("tools")
def test_the_wheel_of_the_phone_is_linked_by_the_cross_compiler(shelf: Shelf, tmp_path: Path) -> None:
    build = make(tmp_path, "arm64-v8a")
    assert shelf.asked == ["aarch64"]
    words = (tmp_path / "words").read_text().splitlines()
    assert {"-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++", "-DBUNDLE=ON"} <= {*words}
    assert set(build.programs) == {
        *("program", "runner", "ld-linux-aarch64.so.1", "libstdc++.so.6", "libexecutorch.so", "libc.so.6")
    }, "everything is pushed"
    assert (build.flags["libc"], build.flags["abi"]) == ("glibc 2.36 (Debian GLIBC 2.36-8)", "arm64-v8a")
    assert "g++ 12" in build.flags["cross c++"]


@pytest.mark.usefixtures("tools")
def test_a_wheel_without_sdk_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    shelf.library = "extension/pybindings/_C.so"
    with pytest.raises(BuildFailed, match=r"executorch 1\.5\.1 cannot be measured on phones .* no C\+\+ SDK"):
        make(tmp_path, "arm64-v8a")


def test_nothing_is_fetched_without_a_cross_compiler(shelf: Shelf, tools: Path, tmp_path: Path) -> None:
    (tools / "aarch64-linux-gnu-g++").unlink()
    for name in ("sh", "uname", "dirname"):
        (tools / name).symlink_to(f"/bin/{name}" if Path(f"/bin/{name}").exists() else f"/usr/bin/{name}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tools))
        with pytest.raises(EnvironmentProblem, match=r"no aarch64-linux-gnu-g\+\+ .*: apt install g\+\+-aarch64"):
            make(tmp_path, "arm64-v8a")
    assert shelf.asked == []


@pytest.mark.usefixtures("tools")
def test_an_architecture_without_wheels_is_refused(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="armeabi-v7a"):
        make(tmp_path, "armeabi-v7a")
    assert shelf.asked == []


@pytest.mark.usefixtures("tools")
def test_another_cross_compiler_is_another_toolchain(tools: Path) -> None:
    first = find_toolchain(machine="aarch64")
    assert first.digest != find_toolchain().digest
    write_program(tools / "aarch64-linux-gnu-g++", "#!/bin/sh\necho g++ 13\n")
    assert first.digest != find_toolchain(machine="aarch64").digest
