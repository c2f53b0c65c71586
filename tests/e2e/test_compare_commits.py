"""Two commits of a real C++ runner: built, compared and told, from git and from Mercurial."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.project import Project, generic, one_test
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import Repository, git_repository, hg_repository, need, snapshot

pytestmark = [pytest.mark.slow, MEASURING]
FEW = ("--pairs", "40", "--seed", "11")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, tmp_path / "cache")


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("work", "{program} {iter}", iter=15, threads=1)))


@pytest.fixture
def git(project: Project) -> Repository:
    need("git", "cmake", "g++")
    return git_repository(project.folder / "runner")


def test_a_slower_commit_is_a_regression(project: Project, spec: Path, git: Repository) -> None:
    (git.folder / "untracked.txt").write_text("mine")
    before = snapshot(git)
    done = project.harness(
        "compare",
        "-b",
        spec,
        "--repo_dir",
        git.folder,
        "--base_commit",
        git.commits["base"],
        "--commit",
        git.commits["slower"],
        *FEW,
    )
    assert done.code == 1, done.stderr
    (result,) = done.read()
    comparison = result["comparison"]
    assert comparison["verdict"] == "regression"
    assert 0.03 < comparison["difference"] < 0.2, "10 % more work, on a machine that may be busy"
    assert result["build"]["commit"] == git.commits["slower"]
    assert result["build"]["flags"]
    assert snapshot(git) == before, "the user's clone was changed"


def test_one_commit_is_measured_alone_when_there_is_nothing_to_compare_it_with(
    project: Project, spec: Path, git: Repository
) -> None:
    done = project.harness("-b", spec, "--repo_dir", git.folder, "--commit", git.commits["slower"])
    assert done.code == 0, done.stderr
    (result,) = done.read()
    assert result["build"]["commit"] == git.commits["slower"]
    assert result["comparison"] is None


def test_fai_peps_flags_request_the_same_comparison(project: Project, spec: Path, git: Repository) -> None:
    done = project.harness(
        "-b",
        spec,
        "--repo",
        "git",
        "--repo_dir",
        git.folder,
        "--base_commit",
        git.commits["slower"],
        "--commit",
        git.commits["base"],
        "--ab_testing",
        *FEW,
    )
    assert done.code == 0, done.stderr
    assert done.read()[0]["comparison"]["verdict"] == "improvement"


def test_a_commit_that_does_not_build_is_a_result_with_the_end_of_its_log(
    project: Project, spec: Path, git: Repository
) -> None:
    done = project.harness(
        "compare",
        "-b",
        spec,
        "--repo_dir",
        git.folder,
        "--control",
        "main~3",
        "--treatment",
        git.commits["broken"][:10],
    )
    assert done.code == 3
    (result,) = done.read()
    assert result["outcome"] == "failed"
    assert result["comparison"] is None
    assert "no_such_header_anywhere.h" in result["reason"]


def test_a_revert_builds_identical_bytes_and_is_not_measured(project: Project, spec: Path, git: Repository) -> None:
    done = project.harness(
        "compare", "-b", spec, "--repo_dir", git.folder, "--control", git.commits["base"], "--branch", "main"
    )
    assert done.code == 0, done.stderr
    comparison = done.read()[0]["comparison"]
    assert comparison["identical"]
    assert comparison["verdict"] == "no change"


def test_a_build_is_run_once(project: Project, spec: Path, git: Repository) -> None:
    arguments = ("compare", "-b", spec, "--repo_dir", git.folder, "--control", "main~3", "--treatment", "main~2")
    first = project.harness(*arguments, "--pairs", "3")
    second = project.harness(*arguments, "--pairs", "3")
    assert "building" in first.stderr
    assert "building" not in second.stderr
    listed = project.harness("builds")
    assert git.commits["base"][:12] in listed.stdout


def test_names_that_look_like_options_never_reach_the_program(project: Project, spec: Path, git: Repository) -> None:
    mark = project.folder / "touched"
    done = project.harness(
        "compare", "-b", spec, "--repo_dir", git.folder, f"--control=--upload-pack=touch {mark}", "--treatment", "main"
    )
    assert done.code == 2
    assert not mark.exists()


@pytest.mark.exhaustive
def test_mercurial_commits_are_compared_too(project: Project, spec: Path) -> None:
    need("hg", "cmake", "g++")
    hg = hg_repository(project.folder / "runner")
    done = project.harness(
        "compare",
        "-b",
        spec,
        "--repo",
        "hg",
        "--repo_dir",
        hg.folder,
        "--control",
        hg.commits["base"],
        "--treatment",
        hg.commits["slower"],
        *FEW,
    )
    assert done.code == 1, done.stderr
    assert done.read()[0]["comparison"]["verdict"] == "regression"


@pytest.mark.parametrize("ahead", ["--same_host", pytest.param("--no-same-host", marks=pytest.mark.exhaustive)])
def test_commits_of_a_file_are_compared_in_order_and_a_broken_commit_does_not_stop_them(
    project: Project, spec: Path, git: Repository, ahead: str
) -> None:
    listed = project.folder / "commits.txt"
    listed.write_text(f"{git.commits['broken']}  # does not build\n\n{git.commits['reverted']}\n")
    done = project.harness(
        *("compare", "-b", spec, "--repo_dir", git.folder, "--control", git.commits["base"], "--commit", listed),
        ahead,
    )
    assert done.code == 3
    assert sorted(result["outcome"] for result in done.read()) == ["failed", "skipped"]
