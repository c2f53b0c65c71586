"""The recipe for releases: our native runner against real executorch wheels, before and since the C++ SDK."""

from __future__ import annotations

import shutil
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from harness import shell
from harness.builders.builds import build_commit
from harness.builders.cache import BuildCache
from harness.builders.recipes import find_recipe
from harness.core.build import Build
from harness.core.command import Command, Completed
from harness.core.commit import Commit
from harness.core.errors import BuildFailed
from harness.testing.progress import RecordedProgress
from tests.builders.recipe_parts import OURS, TOOLS, Folder
from tests.builders.sources.repositories import missing
from tests.shared_folders import share_tiny_programs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("releases")]  # each is built once

ROOT = Path(__file__).parents[2]
OLDER = "1.4.1"
NEWER = metadata.version("executorch")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked wheel from before the SDK."""
    folder = tmp_path_factory.mktemp("wheel")
    argv = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), f"executorch=={OLDER}")
    completed = shell.run(Command(argv, timeout_s=300))
    if not completed.ok:
        missing(f"executorch {OLDER} cannot be downloaded: pip {completed.describe()}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed package, as if unpacked: what a runner is compiled and linked against."""
    folder = tmp_path_factory.mktemp("installed")
    package = Path(str(metadata.distribution("executorch").locate_file("executorch")))
    for part in ("include", "lib", "share"):
        shutil.copytree(package / part, folder / "executorch" / part)
    (folder / f"executorch-{NEWER}.dist-info").mkdir()
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return share_tiny_programs(tmp_path_factory)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> BuildCache:
    return BuildCache(tmp_path_factory.mktemp("cache"))


def make(wheel: Path, version: str, cache: BuildCache) -> Build:
    return build_commit(
        Folder(wheel),
        Commit(source="releases:executorch", id=version),
        find_recipe("executorch", "host", [OURS], released=True, runner_source=ROOT / "frameworks/executorch/native"),
        platform="host",
        cache=cache,
        progress=RecordedProgress(),
        toolchain=TOOLS,
    )


@pytest.fixture(scope="module", params=[pytest.param(OLDER, marks=pytest.mark.exhaustive), NEWER])
def build(request: pytest.FixtureRequest, cache: BuildCache) -> Build:
    wheel = request.getfixturevalue("older" if request.param == OLDER else "newer")
    return make(wheel, request.param, cache)


def run(build: Build, program: Path, *more: str) -> Completed:
    argv = (str(build.programs["program"]), "--model", str(program), "--threads", "1", "--iter", "3", *more)
    return shell.run(Command(argv, timeout_s=60))


@pytest.mark.parametrize("name", ["add", "linear"])
def test_the_runner_of_a_release_measures_portable_and_delegated_programs(
    build: Build, programs: Path, name: str
) -> None:
    completed = run(build, programs / f"{name}.pte")
    assert completed.ok, completed.stderr
    assert completed.stdout.count('"metric": "latency"') == 3
    assert f"executorch {build.commit} native" in completed.stdout


def test_libraries_that_the_runner_needs_are_copied_beside_it(build: Build) -> None:
    folder = build.programs["program"].parent
    assert set(build.programs) == {"program"}
    assert any((folder / "lib").iterdir())
    if shutil.which("ldd"):
        linked = shell.run(Command(("ldd", str(build.programs["program"])))).stdout
        assert "not found" not in linked
        lines = [line for line in linked.splitlines() if "executorch" in line or "_portable_lib" in line]
        assert lines
        assert all(str(folder / "lib") in line for line in lines)


def test_build_flags_of_a_release_are_recorded(build: Build) -> None:
    assert build.flags["executorch"] == build.commit
    assert build.flags["torch_beside"] == metadata.version("torch")


def test_failures_are_explained_with_every_release(build: Build, programs: Path) -> None:
    completed = run(build, programs / "unknown_operator.pte")
    assert completed.exit_code == 3
    assert "needs operator aten::adx.out" in completed.stderr


@pytest.mark.exhaustive
def test_both_releases_compute_the_same_outputs(
    older: Path, newer: Path, cache: BuildCache, programs: Path, tmp_path: Path
) -> None:
    outputs = []
    for wheel, version in ((older, OLDER), (newer, NEWER)):
        built = make(wheel, version, cache)
        assert run(built, programs / "linear.pte", "--outputs", str(tmp_path / version)).ok
        outputs.append((tmp_path / f"{version}-0.bin").read_bytes())
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 16


def test_a_wheel_without_sdk_and_extension_is_reported(tmp_path: Path, cache: BuildCache) -> None:
    (tmp_path / "wheel/executorch").mkdir(parents=True)
    (tmp_path / "wheel/executorch-0.9.dist-info").mkdir()
    with pytest.raises(BuildFailed, match=r"executorch 0\.9: the wheel has neither"):
        make(tmp_path / "wheel", "0.9", cache)


def test_a_file_that_is_not_a_wheel_is_reported(tmp_path: Path, cache: BuildCache) -> None:
    (tmp_path / "wheel").mkdir()
    with pytest.raises(BuildFailed, match="is no unpacked wheel"):
        make(tmp_path / "wheel", "0", cache)
