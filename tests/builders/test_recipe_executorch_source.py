"""Our recipes for ExecuTorch's sources, with a stand-in for CMake: a real build takes half an hour.

Here it is seen that CMake is told what it must be told, in words that survive spaces.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.core.build import Build
from harness.core.commit import Commit
from harness.core.errors import BuildFailed
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import OURS, TOOLS, Folder, write_program

CMAKE = """#!/bin/sh
for word in "$@"; do echo "$word"; done >> "{log}"
case "$1" in
  --build) printf runner > "$2/executor_runner" ;;
esac
"""


class Stage:
    """Minimal checkout, and a CMake stand-in that records its arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "my checkout"
        for file in (
            "examples/portable/executor_runner/executor_runner.cpp",
            "backends/xnnpack/third-party/XNNPACK/CMakeLists.txt",
        ):
            (self.checkout / file).parent.mkdir(parents=True)
            (self.checkout / file).touch()
        (folder / "bin").mkdir()
        self.words = folder / "words"
        write_program(folder / "bin/cmake", CMAKE.format(log=self.words))

    def build(self, platform: str, abi: str = "") -> Build:
        return build_commit(
            Folder(self.checkout),
            Commit(source="git:x", id="a" * 40),
            find_recipe("executorch", platform, [OURS]),
            platform=platform,
            abi=abi,
            cache=BuildCache(self.folder / "the cache"),
            progress=RecordedProgress(),
            toolchain=TOOLS,
            jobs=5,
        )

    def cmake_arguments(self) -> list[str]:
        return self.words.read_text().splitlines()


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for name in ("ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_ABI", "ANDROID_PLATFORM", "EXECUTORCH_CMAKE_ARGS"):
        monkeypatch.delenv(name, raising=False)
    return Stage(tmp_path)


@pytest.fixture
def ndk(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = stage.folder / "my ndk"
    (folder / "build/cmake").mkdir(parents=True)
    (folder / "build/cmake/android.toolchain.cmake").touch()
    monkeypatch.setenv("ANDROID_NDK_HOME", str(folder))
    return folder


def test_the_host_runner_is_built_with_logging_and_without_tracer(stage: Stage) -> None:
    build = stage.build("host")
    arguments = stage.cmake_arguments()
    assert build.programs["program"].read_text() == "runner"
    assert build.flags["runner"] == "executor_runner"
    assert f"-DPYTHON_EXECUTABLE={sys.executable}" in arguments
    assert arguments[arguments.index("-S") + 1].endswith("/executorch"), (
        "its CMake files insist on the name of the folder"
    )
    for option in (
        "-DCMAKE_BUILD_TYPE=Release",
        "-DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON",
        "-DEXECUTORCH_BUILD_KERNELS_OPTIMIZED=ON",
        "-DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON",
        "-DEXECUTORCH_BUILD_XNNPACK=ON",
        "-DEXECUTORCH_ENABLE_EVENT_TRACER=OFF",
        "-DEXECUTORCH_ENABLE_LOGGING=ON",
    ):
        assert option in arguments
    assert arguments[-4:] == ["--target", "executor_runner", "--parallel", "5"]


@pytest.mark.parametrize("platform", ["host", "android"])
@pytest.mark.usefixtures("ndk")
def test_flags_of_the_runner_are_recorded(stage: Stage, platform: str) -> None:
    source = stage.checkout / "examples/portable/executor_runner/executor_runner.cpp"
    source.write_text(
        'DEFINE_string(\n    model_path,\n    "model.pte",\n    "x");\nDEFINE_uint32(num_executions, 1, "n");\n'
    )
    build = stage.build(platform)
    assert build.flags["runner_flags"].split() == ["model_path", "num_executions"]


def test_the_runner_is_built_for_the_abi_of_the_device(stage: Stage, ndk: Path) -> None:
    assert stage.build("android", "x86_64").flags["abi"] == "x86_64"
    assert "-DANDROID_ABI=x86_64" in stage.cmake_arguments()
    assert stage.build("android", "arm64-v8a").digest != stage.build("android", "x86_64").digest


def test_additional_cmake_arguments_come_last(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXECUTORCH_CMAKE_ARGS", "-DEXECUTORCH_ENABLE_EVENT_TRACER=ON -DEXECUTORCH_BUILD_DEVTOOLS=ON")
    stage.build("host")
    arguments = stage.cmake_arguments()
    assert arguments.index("-DEXECUTORCH_ENABLE_EVENT_TRACER=ON") > arguments.index(
        "-DEXECUTORCH_ENABLE_EVENT_TRACER=OFF"
    )
    assert arguments[arguments.index("--build") - 1] == "-DEXECUTORCH_BUILD_DEVTOOLS=ON"


@pytest.mark.parametrize("platform", ["host", "android"])
@pytest.mark.usefixtures("ndk")
def test_a_folder_that_is_not_a_checkout_is_reported(stage: Stage, platform: str) -> None:
    (stage.checkout / "examples/portable/executor_runner/executor_runner.cpp").unlink()
    with pytest.raises(BuildFailed, match="is it a checkout of ExecuTorch"):
        stage.build(platform)


@pytest.mark.parametrize("platform", ["host", "android"])
@pytest.mark.usefixtures("ndk")
def test_missing_submodules_are_named_with_a_remedy(stage: Stage, platform: str) -> None:
    (stage.checkout / "backends/xnnpack/third-party/XNNPACK/CMakeLists.txt").unlink()
    with pytest.raises(BuildFailed, match="git submodule update --init --recursive"):
        stage.build(platform)


def test_a_failing_cmake_fails_the_build(stage: Stage) -> None:
    write_program(stage.folder / "bin/cmake", "#!/bin/sh\necho no such generator >&2\nexit 1\n")
    with pytest.raises(BuildFailed, match="no such generator"):
        stage.build("host")


def test_the_android_runner_is_built_with_the_ndk_toolchain(stage: Stage, ndk: Path) -> None:
    strip = ndk / "toolchains/llvm/prebuilt/linux-x86_64/bin/llvm-strip"
    strip.parent.mkdir(parents=True)
    write_program(strip, '#!/bin/sh\nprintf stripped > "$1"\n')
    build = stage.build("android")
    arguments = stage.cmake_arguments()
    assert f"-DCMAKE_TOOLCHAIN_FILE={ndk}/build/cmake/android.toolchain.cmake" in arguments
    assert {"-DANDROID_ABI=arm64-v8a", "-DANDROID_PLATFORM=android-26", "-DANDROID_STL=c++_static"} <= set(arguments)
    assert "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON" in arguments, "else phones with pages of 16 KiB do not load it"
    assert build.flags["abi"] == "arm64-v8a"
    assert build.programs["program"].read_text() == "stripped"


def test_both_platforms_build_the_same_components(stage: Stage, ndk: Path) -> None:
    parts = []
    for platform in ("host", "android"):
        stage.words.unlink(missing_ok=True)
        stage.build(platform)
        parts.append({word for word in stage.cmake_arguments() if word.startswith("-DEXECUTORCH_")})
    assert parts[0] == parts[1] != set()


def test_a_missing_ndk_is_named_with_a_remedy(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildFailed, match=r"no Android NDK: install .* and set ANDROID_NDK"):
        stage.build("android")
    monkeypatch.setenv("ANDROID_NDK", str(stage.folder))
    with pytest.raises(BuildFailed, match="is no Android NDK"):
        stage.build("android")


@pytest.mark.skipif(sys.platform == "darwin", reason="what a Mac says is another thing")
def test_ios_is_reported_to_need_a_mac(stage: Stage) -> None:
    with pytest.raises(BuildFailed, match="can be built on a Mac only"):
        stage.build("ios")
