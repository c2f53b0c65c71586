"""Our recipes for ExecuTorch's sources, with a stand-in for CMake: a real build takes half an hour.

Here it is seen that CMake is told what it must be told, in words that survive spaces; and what happens with commits
that need another CMake, lack submodules, or do not build our runner.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from harness.builders import recipes
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.core.build import Build
from harness.core.commit import Commit
from harness.core.errors import BuildFailed, EnvironmentProblem
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import OURS, ROOT, TOOLS, Folder, write_program

CMAKE = """#!/bin/sh
if [ "$1" = --version ]; then echo "cmake version {version}"; exit; fi
for word in "$@"; do echo "$word"; done >> "{log}"
[ "$1" = --build ] || exit 0
if [ "$4" = "{broken}" ]; then cat "{log}.failure"; exit 1; fi
printf "$4" > "$2/$4"
"""
REFUSED = {
    "Ninja": """FAILED: CMakeFiles/harness_runner.dir/main.cpp.o
main.cpp:1: error: no such member""",
    "Ninja 1.13": """FAILED: [code=1] CMakeFiles/harness_runner.dir/main.cpp.o
main.cpp:1:7: fatal error: executorch/gone.h: No such file or directory
compilation terminated.""",
    "make": """main.cpp:1:7: error: no such member
gmake[3]: *** [CMakeFiles/harness_runner.dir/build.make:76: CMakeFiles/harness_runner.dir/main.cpp.o] Error 1
gmake[1]: *** [CMakeFiles/Makefile2:9: CMakeFiles/harness_runner.dir/rule] Error 2""",
    "linker": """FAILED: harness_runner
main.cpp:(.text+0x1): undefined reference to `gone()'""",
}
"""Output of builds that our runner's code is the reason of."""
BROKEN = {
    "a commit that does not compile": """FAILED: lib.dir/lib.cpp.o
lib.cpp:3: error: too
[2/3] ninja: build stopped""",
    "the same with make": """lib.cpp:3: error: too
gmake[2]: *** [CMakeFiles/Makefile2:7: lib.dir/all] Error 2
gmake[1]: *** [CMakeFiles/Makefile2:9: CMakeFiles/harness_runner.dir/rule] Error 2""",
    "a compiler that is killed": """FAILED: CMakeFiles/harness_runner.dir/main.cpp.o
c++: fatal error: Killed signal terminated program cc1plus""",
    "a linker that is killed": """FAILED: harness_runner
collect2: fatal error: ld terminated with signal 9 [Killed]""",
    "a full disk": """FAILED: CMakeFiles/harness_runner.dir/main.cpp.o
main.cpp:900:1: fatal error: error writing to /tmp/cc.s: No space left on device""",
    "a broken compiler": """FAILED: CMakeFiles/harness_runner.dir/main.cpp.o
main.cpp:9:1: internal compiler error: Segmentation fault""",
    "no words": "",
}
"""Output of builds that fail for another reason."""
SUBMODULES = (
    *(f"backends/xnnpack/third-party/{name}" for name in ("FP16", "FXdiv", "XNNPACK", "cpuinfo", "pthreadpool")),
    "kernels/optimized/third-party/eigen",
    *(f"third-party/{name}" for name in ("flatbuffers", "flatcc", "gflags", "json", "pocketfft")),
)
RUNNER_SOURCE = ROOT / "frameworks/executorch/native"


class Stage:
    """Minimal checkout, and a CMake stand-in that records its arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "my checkout"
        for file in (
            "examples/portable/executor_runner/executor_runner.cpp",
            *(f"{submodule}/CMakeLists.txt" for submodule in SUBMODULES),
        ):
            (self.checkout / file).parent.mkdir(parents=True)
            (self.checkout / file).touch()
        (self.checkout / "CMakeLists.txt").write_text("# build\ncmake_minimum_required(VERSION 3.24)\n")
        (self.checkout / "version.txt").write_text("1.2.0a0\n")
        self.source = Folder(self.checkout)
        self.words = folder / "words"
        self.install_cmake("bin", "3.28.1")

    def install_cmake(self, folder: str, version: str, broken: str = "-", failure: str = REFUSED["Ninja"]) -> Path:
        """Write a stand-in for CMake, which fails to build one target, with some output."""
        self.words.with_suffix(".failure").write_text(f"{failure}\n")
        (self.folder / folder).mkdir(exist_ok=True)
        program = self.folder / folder / "cmake"
        return write_program(program, CMAKE.format(log=self.words, version=version, broken=broken))

    def build(self, platform: str, abi: str = "", runner_source: Path | None = RUNNER_SOURCE) -> Build:
        return build_commit(
            self.source,
            Commit(source="git:x", id="a" * 40),
            find_recipe("executorch", platform, [OURS], runner_source=runner_source),
            platform=platform,
            abi=abi,
            cache=BuildCache(self.folder / "the cache"),
            progress=RecordedProgress(),
            toolchain=TOOLS,
            jobs=5,
        )

    def materialised(self) -> list[Path]:
        """Folders that the files of the commit were fetched to."""
        return self.source.materialised

    def cmake_arguments(self) -> list[str]:
        return self.words.read_text().splitlines()


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    (tmp_path / "system").mkdir()
    for name in (
        "sh",
        "sed",
        "sort",
        "head",
        "tr",
        "grep",
        "ls",
        "cp",
        "basename",
        "dirname",
        "printf",
        "cat",
        "tee",
        "rm",
        "c++",
        "mkdir",
    ):
        if program := shutil.which(name):
            (tmp_path / "system" / name).symlink_to(program)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{tmp_path / 'newer'}:{tmp_path / 'system'}")
    monkeypatch.setattr(recipes, "beside_interpreter", lambda: tmp_path / "nothing")
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
    assert build.programs["program"].read_text() == "harness_runner"
    assert (build.flags["runner"], build.flags["executorch"]) == ("native", "1.2.0a0")
    assert build.options["runner"] == "native"
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
    assert arguments[-4:] == ["--target", "harness_runner", "--parallel", "5"]


@pytest.mark.parametrize("platform", ["host", "android"])
@pytest.mark.usefixtures("ndk")
def test_flags_of_upstreams_runner_are_recorded(stage: Stage, platform: str) -> None:
    source = stage.checkout / "examples/portable/executor_runner/executor_runner.cpp"
    source.write_text(
        'DEFINE_string(\n    model_path,\n    "model.pte",\n    "x");\nDEFINE_uint32(num_executions, 1, "n");\n'
    )
    build = stage.build(platform, runner_source=None)
    assert (build.flags["runner"], build.programs["program"].read_text()) == ("executor_runner", "executor_runner")
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
    with pytest.raises(BuildFailed, match=r"(?m)lacks submodules: .* --depth 1 backends/xnnpack/third-party/XNNPACK$"):
        stage.build(platform)


@pytest.mark.parametrize("platform", ["host", "android"])
@pytest.mark.usefixtures("ndk")
@pytest.mark.parametrize("failure", REFUSED)
def test_where_our_runner_does_not_compile_upstreams_is_built_and_says_why(
    stage: Stage, platform: str, failure: str
) -> None:
    stage.install_cmake("bin", "3.28.1", broken="harness_runner", failure=REFUSED[failure])
    build = stage.build(platform)
    assert (build.flags["runner"], build.programs["program"].read_text()) == ("executor_runner", "executor_runner")
    assert build.options["runner"] == "executor_runner"
    assert build.flags["runner_reason"] == "our native runner does not build against this commit"


def test_a_commit_without_a_library_of_our_runner_is_measured_with_upstreams(stage: Stage) -> None:
    program = stage.install_cmake("bin", "3.28.1")
    configured = (
        'case "$*" in *-B*) while [ "$1" != -B ]; do shift; done; echo etdump > "$2/harness_runner.missing";; esac'
    )
    program.write_text(program.read_text().replace('[ "$1" = --build ]', f'{configured}\n[ "$1" = --build ]'))
    build = stage.build("host")
    assert build.flags["runner_reason"] == "this commit has no CMake target etdump"
    assert "harness_runner" not in stage.cmake_arguments()


@pytest.mark.parametrize("failure", BROKEN)
def test_a_build_that_fails_for_another_reason_than_our_code_fails(stage: Stage, failure: str) -> None:
    stage.install_cmake("bin", "3.28.1", broken="harness_runner", failure=BROKEN[failure])
    of_the_machine = {
        "a compiler that is killed": "memory was full",
        "a linker that is killed": "memory was full",
        "a full disk": "make room",
    }
    kind = EnvironmentProblem if failure in of_the_machine else BuildFailed
    with pytest.raises(kind) as caught:
        stage.build("host")
    assert of_the_machine.get(failure, "the whole log") in str(caught.value.hint)
    assert next((line for line in BROKEN[failure].splitlines() if "error" in line), "status 1") in caught.value.message
    assert "executor_runner" not in stage.cmake_arguments(), "that one would hide what is wrong"


def test_a_newer_cmake_is_used_where_a_commit_needs_it(stage: Stage) -> None:
    (stage.checkout / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.29)\nproject(executorch)\n")
    with pytest.raises(BuildFailed, match=r"cmake 3\.28\.1 is too old, 3\.29 or later is needed: pip install"):
        stage.build("host")
    newer = stage.install_cmake("newer", "3.31.10")
    stage.install_cmake("bin", "3.3.2")
    assert stage.build("host").flags["cmake"] == f"{newer} (3.31.10)"


@pytest.mark.parametrize(
    ("missing", "problem"), [("bin/cmake", "no cmake: apt install cmake"), ("system/c++", r"no C\+\+ compiler c\+\+")]
)
def test_missing_tools_are_reported_before_the_files_are_fetched(stage: Stage, missing: str, problem: str) -> None:
    (stage.folder / missing).unlink()
    with pytest.raises(EnvironmentProblem, match=f"cannot be built here: {problem}"):
        stage.build("host")
    assert stage.materialised() == []


def test_an_interpreter_without_torch_is_reported_before_the_files_are_fetched(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = write_program(stage.folder / "bin/python", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(EnvironmentProblem, match="needs torch and pyyaml"):
        stage.build("host")
    assert stage.materialised() == []


def test_a_failing_cmake_fails_the_build(stage: Stage) -> None:
    program = stage.install_cmake("bin", "3.28.1")
    program.write_text(
        program.read_text().replace('[ "$1" = --build ]', 'echo "CMake Error: no such generator"; false')
    )
    program.write_text(program.read_text().replace("|| exit 0", "|| exit 1"))
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


def test_missing_compilers_for_android_are_named_before_files_are_fetched(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        EnvironmentProblem, match=r"no Android NDK and no aarch64-linux-gnu-g\+\+: .* set ANDROID_NDK"
    ) as no:
        stage.build("android", "arm64-v8a")
    assert "apt install g++-aarch64-linux-gnu" in no.value.message
    monkeypatch.setenv("ANDROID_NDK", str(stage.folder))
    with pytest.raises(EnvironmentProblem, match="is no Android NDK"):
        stage.build("android", "arm64-v8a")
    assert stage.materialised() == []


def test_without_an_ndk_a_cross_compiler_links_the_android_runner_statically(stage: Stage) -> None:
    for name in ("gcc", "g++"):
        write_program(stage.folder / "system" / f"aarch64-linux-gnu-{name}", "#!/bin/sh\n")
    strip = stage.folder / "system" / "aarch64-linux-gnu-strip"
    write_program(strip, '#!/bin/sh\nprintf stripped > "$1"\n')
    build = stage.build("android", "arm64-v8a")
    arguments = stage.cmake_arguments()
    assert {
        "-DCMAKE_SYSTEM_NAME=Linux",
        "-DCMAKE_SYSTEM_PROCESSOR=aarch64",
        "-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc",
        "-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++",
        "-DHARNESS_FOREIGN_LIBC=ON",
    } <= set(arguments)
    assert any(word.startswith("-DCMAKE_EXE_LINKER_FLAGS=-static ") for word in arguments)
    assert (build.flags["abi"], build.flags["libc"]) == ("arm64-v8a", "glibc")
    assert build.programs["program"].read_text() == "stripped"


def test_an_ndk_is_preferred_to_a_cross_compiler(stage: Stage, ndk: Path) -> None:
    write_program(stage.folder / "system" / "aarch64-linux-gnu-g++", "#!/bin/sh\n")
    build = stage.build("android", "arm64-v8a")
    assert f"-DCMAKE_TOOLCHAIN_FILE={ndk}/build/cmake/android.toolchain.cmake" in stage.cmake_arguments()
    assert build.flags["libc"] == "bionic"


@pytest.mark.skipif(sys.platform == "darwin", reason="what a Mac says is another thing")
def test_ios_is_reported_to_need_a_mac(stage: Stage) -> None:
    with pytest.raises(BuildFailed, match="can be built on a Mac only"):
        stage.build("ios")
