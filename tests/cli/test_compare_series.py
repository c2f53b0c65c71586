"""Lists of commits: what becomes of one hides nothing of the others, and nothing is held when it is over."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.config.settings import Settings
from harness.core.errors import ExitCode
from harness.flows.compare.batch import compare_batch
from harness.flows.compare.commits import CommitComparer
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.runners import Programs
from harness.flows.measure.workload import load_workload
from harness.testing.progress import RecordedProgress
from tests.cli.project import Outcome, Project, generic, one_test
from tests.cli.scripts import History, git_of_scripts, script, text

pytestmark = pytest.mark.slow
FEW = ("--pairs", "15", "--seed", "3")


@pytest.fixture
def spec(project: Project) -> Path:
    return project.write("spec.json", generic(one_test("work", "{program}", threads=1)))


@pytest.fixture
def clone(project: Project) -> History:
    return git_of_scripts(project)


def compared(project: Project, spec: Path, clone: History, control: str, treatment: str | Path) -> Outcome:
    where = ("--repo_dir", clone.folder, "--frameworks_dir", clone.recipes)
    return project.harness("compare", "-b", spec, *where, "--control", control, "--treatment", str(treatment), *FEW)


def descriptors() -> int:
    return psutil.Process().num_fds()


def listed(project: Project, *names: str) -> Path:
    return project.write("commits.txt", "\n".join(names))


@pytest.mark.parametrize("last", ["nosuchcommit", "base", "broken"])
def test_a_regression_is_not_hidden_by_a_later_commit(project: Project, spec: Path, clone: History, last: str) -> None:
    commits = clone.commits
    done = compared(project, spec, clone, commits["base"], listed(project, commits["slower"], commits.get(last, last)))
    assert done.code == ExitCode.REGRESSION, done.stderr
    assert done.read()[0]["comparison"]["verdict"] == "regression"
    assert {"nosuchcommit": "✗ nosuchcommit", "base": "skipped", "broken": "✗ generic"}[last] in done.stderr


def test_an_unknown_commit_is_reported_and_counted_and_the_remaining_commits_are_compared(
    project: Project, spec: Path, clone: History
) -> None:
    done = compared(project, spec, clone, clone.commits["base"], listed(project, "nosuchcommit", clone.commits["same"]))
    assert done.code == ExitCode.USAGE
    assert "✗ nosuchcommit: neither" in done.stderr
    assert [result["build"]["commit"] for result in done.read()] == [clone.commits["same"]]


def test_a_commit_that_does_not_build_does_not_end_the_list(project: Project, spec: Path, clone: History) -> None:
    commits = clone.commits
    done = compared(project, spec, clone, commits["base"], listed(project, commits["broken"], commits["same"]))
    assert done.code == ExitCode.ENVIRONMENT
    assert [result["outcome"] for result in done.read()] == ["failed", "ok"]
    reason = done.read()[0]["reason"]
    assert "\n" not in reason
    assert "cannot be built" in reason


def test_names_of_commits_stand_beside_their_hashes(project: Project, spec: Path, clone: History) -> None:
    done = compared(project, spec, clone, "main~3", "main~1")
    base, same = clone.commits["base"], clone.commits["same"]
    for line in (f"control: main~3 ({base[:12]}) Make it base", f"treatment: main~1 ({same[:12]}) Make it same"):
        assert line in done.stderr
    (result,) = done.read()
    assert (result["build"]["commit"], result["build"]["commit_name"]) == (same, "main~1")
    assert (result["comparison"]["control"]["commit_name"]) == "main~3"
    assert f"main~1 ({same[:12]})" in done.stdout
    again = compared(project, spec, clone, base[:10], same)
    assert [result["build"]["commit_name"] for result in again.read()] == ["main~1", ""]


def test_without_a_control_the_treatment_is_not_built(project: Project, spec: Path, clone: History) -> None:
    done = compared(project, spec, clone, "main", clone.commits["slower"])
    assert done.code == ExitCode.ENVIRONMENT
    assert "generic: the treatment is not built, because there is no control to compare it with" in done.stderr
    (result,) = done.read()
    assert result["outcome"] == "failed"
    assert f"main ({clone.commits['broken'][:12]})" in result["reason"]
    assert len(list(project.cache.glob("builds/logs/*.log"))) == 1


def test_a_list_with_only_the_control_is_an_error(project: Project, spec: Path, clone: History) -> None:
    done = compared(project, spec, clone, "main~3", listed(project, clone.commits["base"]))
    assert done.code == ExitCode.USAGE


def test_a_program_named_like_a_branch_is_not_a_list(project: Project, spec: Path, clone: History) -> None:
    (project.folder / "main").write_bytes(b"\x7fELF\xff\xfe\x00")
    done = compared(project, spec, clone, clone.commits["base"], "main")
    assert done.code == ExitCode.ENVIRONMENT, done.stderr  # of `broken`, which `main` is at
    assert [result["outcome"] for result in done.read()] == ["failed"]


def test_a_text_file_named_like_a_branch_is_not_a_list(project: Project, spec: Path, clone: History) -> None:
    (project.folder / "main").write_text(f"{clone.commits['slower']}\n")
    assert compared(project, spec, clone, clone.commits["base"], "main").code == ExitCode.ENVIRONMENT


def test_a_text_file_not_named_like_a_commit_is_a_list(project: Project, spec: Path, clone: History) -> None:
    (project.folder / "suspects").write_text(f"{clone.commits['slower']}  # the one\n")
    assert compared(project, spec, clone, clone.commits["base"], "suspects").code == ExitCode.REGRESSION


def test_a_binary_list_is_an_error(project: Project, spec: Path, clone: History) -> None:
    (project.folder / "commits.txt").write_bytes(b"\xff\xfe\x00")
    done = compared(project, spec, clone, clone.commits["base"], "commits.txt")
    assert done.code == ExitCode.USAGE
    assert "is not a list of commits" in done.stderr


def test_local_commits_need_no_remote(project: Project, spec: Path, clone: History) -> None:
    subprocess.run(["git", "remote", "add", "origin", "/nonexistent/x.git"], cwd=clone.folder, check=True)
    done = compared(project, spec, clone, clone.commits["base"], clone.commits["slower"])
    assert done.code == ExitCode.REGRESSION, done.stderr
    assert "cannot fetch" not in done.stderr
    done = compared(project, spec, clone, clone.commits["base"], "main~2")
    assert done.code == ExitCode.REGRESSION, done.stderr
    assert "cannot fetch from origin" in done.stderr
    assert "known here" in done.stderr
    done = compared(project, spec, clone, clone.commits["base"], "somewhere-else")
    assert done.code == ExitCode.ENVIRONMENT
    assert "cannot fetch from origin" in done.stderr


def test_comparisons_close_all_file_descriptors(project: Project, spec: Path, clone: History) -> None:
    settings = Settings(
        benchmark_file=(spec,),
        cache_dir=project.cache,
        local_reporter=project.folder / "results",
        screen_reporter=False,
    )
    display = RecordedProgress()
    source = f"git:{clone.folder}"
    request = CompareRequest(source=source, recipes=(clone.recipes,), parameters={"seed": 3, "max_pairs": 2})
    workload = load_workload(settings)
    comparer = CommitComparer(workload, request, settings, display, lambda: None)
    base, slower = (comparer.source.resolve(clone.commits[name]) for name in ("base", "slower"))

    def of_programs(number: int) -> None:
        one, other = (
            Programs({"program": script(project, f"{side}{number}", text())}) for side in ("control", "treatment")
        )
        compare_batch(workload, [CompareRequest(one, other, parameters={"seed": 3, "max_pairs": 2})], settings, display)

    def of_commits() -> None:
        comparer.build(slower)
        comparer.compare(base, slower)

    of_programs(0)
    of_commits()
    before = descriptors()
    for number in range(1, 4):
        of_programs(number)
        of_commits()
    assert descriptors() == before


def test_the_printed_command_measures_again_from_any_folder(project: Project, spec: Path, clone: History) -> None:
    where = ("--repo_dir", clone.folder, "--frameworks_dir", clone.recipes.relative_to(project.folder))
    sides = ("--control", clone.commits["base"], "--treatment", clone.commits["slower"])
    project.harness("compare", "-b", spec, *where, *sides, *FEW, "--reporter", "markdown=report.md")
    page = (project.folder / "report.md").read_text(encoding="utf-8")
    command = shlex.split(page.partition("## How to measure again")[2].partition("```sh\n")[2].partition("\n")[0])
    elsewhere = project.folder / "elsewhere"
    elsewhere.mkdir()
    again = subprocess.run(
        (sys.executable, "-m", *command),
        cwd=elsewhere,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == ExitCode.REGRESSION, again.stderr
