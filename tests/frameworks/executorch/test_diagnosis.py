"""What `harness doctor` is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

import pytest

from frameworks.definitions import _torchvision_release
from frameworks.executorch import create
from frameworks.executorch.options import ExecuTorchOptions
from frameworks.executorch.runners import toolchain, wheel
from frameworks.packages import install_command
from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.protocols import Finding
from harness.files import distributions, installation
from tests.frameworks.executorch.scripts import script

Kind = Literal["auto", "native", "python"]


def diagnose(cache_dir: Path, runner: Kind = "auto") -> Mapping[str, Finding]:
    return {
        finding.name: finding
        for finding in create(Settings(cache_dir=cache_dir, plug_ins=(ExecuTorchOptions(runner=runner),))).diagnose()
    }


def hide(monkeypatch: pytest.MonkeyPatch, packages: Sequence[str]) -> None:
    """Let packages look as if they were not installed."""
    find = metadata.distribution

    def distribution(name: str) -> metadata.Distribution:
        if name in packages:
            raise metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    read_versions_anew(monkeypatch)


def read_versions_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither use the versions that were read before, nor leave any."""
    monkeypatch.setattr(distributions, "_read_version", distributions._read_version.__wrapped__)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that say their versions and do nothing else."""
    monkeypatch.setenv("CXX", "c++")
    names = ("c++", "cmake", "make", "aarch64-linux-gnu-g++", "x86_64-linux-gnu-g++")
    paths = {name: script(tmp_path / name, f"echo {name} 12.2") for name in names}
    monkeypatch.setattr(toolchain, "_which", paths.get)


@pytest.mark.usefixtures("tools")
def test_a_complete_installation_has_no_problems(tmp_path: Path) -> None:
    findings = diagnose(tmp_path / "cache")
    assert list(findings) == [
        *("executorch", "torch", "torchao"),
        *("C++ compiler", "CMake", "C++ SDK", "native runner", "runners for Android"),
        *("torchvision", "model definitions", "export recipes", "OpenVINO"),
    ]
    needed = [finding for name, finding in findings.items() if name != "OpenVINO"]
    assert all(finding.ok for finding in needed)
    assert findings["C++ compiler"].found == f"{tmp_path / 'c++'}: c++ 12.2"
    assert findings["native runner"].found.startswith("not compiled yet")


@pytest.mark.slow
def test_an_existing_runner_is_shown(native: Build, runner_cache: Path) -> None:
    assert diagnose(runner_cache)["native runner"] == Finding("native runner", True, str(native.programs["program"]))


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(("runner", "ok"), [("auto", None), ("python", None), ("native", False)])
def test_a_missing_compiler_is_a_problem_only_for_the_native_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: Kind, ok: bool | None
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    findings = diagnose(tmp_path, runner)
    assert findings["C++ compiler"].ok is ok
    assert "apt install g++" in findings["C++ compiler"].remedy
    assert ("Python runner" in findings["C++ compiler"].remedy) == (ok is None)
    assert findings["native runner"].ok is ok
    assert findings["CMake"].ok


@pytest.mark.parametrize("ndk", [None, "/opt/ndk"])
def test_a_missing_cross_compiler_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ndk: str | None
) -> None:
    monkeypatch.delenv("ANDROID_NDK_HOME", raising=False)
    monkeypatch.delenv("ANDROID_NDK", raising=False)
    if ndk is not None:
        monkeypatch.setenv("ANDROID_NDK", ndk)
    monkeypatch.setattr(toolchain, "_which", lambda name: None)
    phones = diagnose(tmp_path)["runners for Android"]
    assert phones.ok is None
    assert "no compiler for arm64-v8a" in phones.found
    assert ("the NDK in /opt/ndk" in phones.found) == (ndk is not None)
    assert "apt install g++-aarch64-linux-gnu" in phones.remedy


@pytest.mark.usefixtures("tools")
def test_an_outdated_wheel_is_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = wheel.Wheel(version="1.4.1", package=tmp_path, record="")
    monkeypatch.setattr(wheel, "installed_wheel", lambda: old)
    sdk = diagnose(tmp_path)["C++ SDK"]
    assert sdk.ok is None
    assert "executorch 1.4.1 contains no C++ SDK" in sdk.found
    assert "1.5 or later" in sdk.remedy


@pytest.mark.parametrize(
    ("missing", "ok"),
    [(("executorch", "torch", "torchao"), None), (("executorch",), False), (("torch", "torchao"), False)],
)
def test_what_the_extra_brings_is_missed_only_where_a_part_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: Sequence[str], ok: bool | None
) -> None:
    hide(monkeypatch, missing)
    findings = diagnose(tmp_path)
    remedy = install_command(*missing)
    for name in missing:
        assert findings[name] == Finding(name, ok, "not installed: needed to export and run models", remedy)
    assert not [name for name, finding in findings.items() if finding.ok is False and name not in missing]


def test_a_version_that_the_tests_do_not_use_is_shown_with_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        metadata, "requires", lambda name: ["torch>=2.13; extra == 'all'", "torch==1.2; extra == 'tested'"]
    )
    torch = diagnose(tmp_path)["torch"]
    assert torch.ok
    assert torch.found.endswith(" (the tests use 1.2)")


@pytest.mark.usefixtures("tools")
def test_an_unwritable_cache_is_reported_without_an_exception(tmp_path: Path) -> None:
    (tmp_path / "runners").write_text("a file where a folder should be")
    findings = diagnose(tmp_path)
    assert findings["C++ compiler"].ok is None
    assert "--cache-dir" in findings["C++ compiler"].remedy


@pytest.mark.parametrize(
    ("versions", "ok", "words"),
    [
        ({"torchvision": "0.28.0", "torch": "2.13.0+cpu", "pillow": "12.0"}, True, "0.28.0"),
        ({"torchvision": "0.28.0", "torch": "2.13.0", "pillow": "12.0"}, True, "0.28.0"),
        (
            {"torchvision": "0.28.0", "torch": "2.12.1", "pillow": "12.0"},
            None,
            "made for torch 2.13.0 and not for 2.12.1",
        ),
        ({"torchvision": "0.28.0", "torch": "2.13.0"}, None, "needs pillow"),
        ({"torch": "2.13.0"}, None, "not installed"),
    ],
)
@pytest.mark.parametrize("requirement", ["torch (==2.13.0)", "torch==2.13.0"])
def test_torchvision_must_match_the_installed_torch(
    monkeypatch: pytest.MonkeyPatch, versions: Mapping[str, str], ok: bool | None, words: str, requirement: str
) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(metadata, "version", version)
    read_versions_anew(monkeypatch)
    monkeypatch.setattr(metadata, "requires", lambda name: ["numpy", requirement])
    findings = _torchvision_release.diagnose()
    assert findings.ok is ok
    assert words in findings.found
    torch = versions["torch"].partition("+")[0]
    assert findings.remedy == ("" if ok else installation.install_command(["vision"], f"torch=={torch}"))


def test_diagnosing_imports_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from harness.config.settings import Settings;"
        "from frameworks.executorch import create; create(Settings(cache_dir=Path(sys.argv[1]))).diagnose();"
        "sys.exit('torch' in sys.modules or 'executorch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 0
