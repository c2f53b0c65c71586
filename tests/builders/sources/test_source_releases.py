from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import plugins
from harness.builders.sources.releases import ReleasesSource
from harness.core.command import Command, Completed
from harness.core.commit import BranchingSource
from harness.core.errors import BuildFailed, EnvironmentProblem, UsageError
from tests.builders.sources.repositories import PACKAGE, Shelf, missing

pytestmark = pytest.mark.slow  # pip starts slowly


@pytest.fixture
def packages() -> ReleasesSource:
    return ReleasesSource(PACKAGE)


def test_versions_are_resolved_as_commits(release: Shelf, packages: ReleasesSource) -> None:
    for version in ("1.10.0", "1.2.0", "1.9.1", "2.0.0rc1"):
        release(version)
    latest = packages.resolve("latest")
    assert (latest.id, latest.short, latest.time) == ("1.10.0", "1.10.0", None)
    assert latest.subject == f"{PACKAGE} 1.10.0"
    assert latest.source == f"releases:{PACKAGE}"
    assert packages.resolve("1.2").id == "1.2.0"
    between = packages.between(packages.resolve("1.2.0"), latest)
    assert [commit.id for commit in between] == ["1.9.1", "1.10.0"]
    assert packages.between(latest, latest) == ()
    with pytest.raises(UsageError, match="is not before"):
        packages.between(latest, packages.resolve("1.2.0"))


def test_a_preview_is_used_only_when_named(release: Shelf, packages: ReleasesSource) -> None:
    for version in ("1.0.0", "1.1.0rc1", "1.1.0rc2", "1.1.0"):
        release(version)
    preview = packages.resolve("1.1.0rc2")
    assert [commit.id for commit in packages.between(packages.resolve("1.0.0"), preview)] == ["1.1.0rc2"]
    assert [commit.id for commit in packages.between(preview, packages.resolve("1.1.0"))] == ["1.1.0"]


@pytest.mark.parametrize("name", ["9.9.9", "main", "-rf", "--pre", "1.0.0 ; touch x", "1.0.*", ">=1.0"])
def test_an_unknown_version_is_refused(release: Shelf, packages: ReleasesSource, name: str) -> None:
    release("1.0.0")
    with pytest.raises(UsageError) as caught:
        packages.resolve(name)
    assert caught.value.hint


def test_new_releases_are_found_after_a_fetch(release: Shelf, packages: ReleasesSource) -> None:
    release("1.0.0")
    assert packages.resolve("latest").id == "1.0.0"
    release("1.1.0")
    assert packages.resolve("latest").id == "1.0.0"
    packages.fetch()
    assert packages.resolve("latest").id == "1.1.0"


def test_an_unknown_package_is_refused(release: Shelf) -> None:
    release("1.0.0")
    with pytest.raises(UsageError, match="no versions of nobody-released-this"):
        ReleasesSource("nobody-released-this").resolve("latest")


@pytest.mark.parametrize("package", ["-r", "--index-url=x", "a b", "a==1", "git+https://x", "", "../x"])
def test_an_invalid_package_name_is_refused(package: str, cache: Path) -> None:
    with pytest.raises(UsageError, match="is not the name of a Python package"):
        plugins.source("releases", package, remote=None, cache_dir=cache)


def test_an_unreachable_index_is_an_environment_problem(
    release: Shelf, packages: ReleasesSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    release("1.0.0")
    latest_release = packages.resolve("latest")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(EnvironmentProblem, match="cannot be asked") as caught:
        packages.fetch()
    assert "PIP_INDEX_URL" in str(caught.value.hint)
    assert packages.resolve("latest") == latest_release


def test_a_wheel_is_unpacked_with_its_checksum(release: Shelf, packages: ReleasesSource, tmp_path: Path) -> None:
    release("1.0.0", {"bin/runner": "#!/bin/sh\n", "data/model": "x"})
    packages.materialise(packages.resolve("1.0.0"), tmp_path / "tree")
    assert (tmp_path / "tree" / "runner" / "__init__.py").read_text() == "VERSION = '1.0.0'\n"
    assert os.access(tmp_path / "tree" / "bin" / "runner", os.X_OK)
    assert not os.access(tmp_path / "tree" / "data" / "model", os.X_OK)
    (wheel,) = (tmp_path / "shelf").iterdir()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert (tmp_path / "tree" / "wheel.sha256").read_text() == f"{digest}  {wheel.name}\n"


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside-of-the-wheel", "runner/../../outside"])
def test_a_wheel_cannot_write_outside_its_folder(
    release: Shelf, packages: ReleasesSource, tmp_path: Path, name: str
) -> None:
    release("1.0.0", {name: "x"})
    with pytest.raises(BuildFailed):
        packages.materialise(packages.resolve("1.0.0"), tmp_path / "tree")
    assert not (tmp_path / "tree").exists()
    assert not (tmp_path / "outside").exists()


def test_a_damaged_wheel_leaves_no_files(release: Shelf, packages: ReleasesSource, tmp_path: Path) -> None:
    release("1.0.0", {"data/model": "x" * 1000})
    commit = packages.resolve("1.0.0")
    (wheel,) = (tmp_path / "shelf").iterdir()
    wheel.write_bytes(wheel.read_bytes().replace(b"x" * 1000, b"y" * 1000))
    with pytest.raises(BuildFailed):
        packages.materialise(commit, tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_a_withdrawn_release_is_reported(release: Shelf, packages: ReleasesSource, tmp_path: Path) -> None:
    release("1.0.0")
    commit = packages.resolve("1.0.0").model_copy(update={"id": "2.0.0"})
    with pytest.raises(BuildFailed, match=r"2\.0\.0 cannot be downloaded") as caught:
        packages.materialise(commit, tmp_path / "tree")
    assert caught.value.hint
    assert not (tmp_path / "tree").exists()


def test_an_unreachable_index_is_not_blamed_on_the_release(
    release: Shelf, packages: ReleasesSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release("1.0.0")
    commit = packages.resolve("1.0.0")
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(EnvironmentProblem, match=r"1\.0\.0 cannot be downloaded") as caught:
        packages.materialise(commit, tmp_path / "tree")
    assert not isinstance(caught.value, BuildFailed)
    assert not (tmp_path / "tree").exists()


def test_releases_have_no_branches(packages: ReleasesSource) -> None:
    assert not isinstance(packages, BranchingSource)


def test_two_releases_of_executorch_come_from_the_index(tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "executorch"], capture_output=True, text=True, check=False
    )
    if completed.returncode != 0:
        missing(f"pip cannot reach the package index: {completed.stderr[-300:]}")
    executorch = ReleasesSource("executorch")
    older, newer = executorch.resolve("1.4.1"), executorch.resolve("1.5.1")
    assert [commit.id for commit in executorch.between(older, newer)] == ["1.5.0", "1.5.1"]
    for commit in (older, newer):
        executorch.materialise(commit, tmp_path / commit.id)
        version = (tmp_path / commit.id / "executorch" / "version.py").read_text()
        assert commit.id in version
        assert (tmp_path / commit.id / f"executorch-{commit.id}.dist-info" / "METADATA").exists()


def test_an_older_pip_that_lists_no_json_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def run(*words: str, timeout_s: float) -> Completed:
        asked.append(words)
        if "--json" in words:
            return Completed(Command(words), exit_code=2, stderr="\nno such option: --json\n")
        listing = "executorch (1.5.1)\nAvailable versions: 1.5.1, 1.5.0, 1.4.1, 1.10.0\n  INSTALLED: 1.5.1\n"
        return Completed(Command(words), exit_code=0, stdout=listing)

    monkeypatch.setattr("harness.builders.sources.releases.pip.run", run)
    versions = ReleasesSource("executorch")
    assert versions.resolve("latest").id == "1.10.0"
    assert versions.resolve("1.4.1").id == "1.4.1"
    assert len(asked) == 2
