"""`harness bisect` on a real repository of a real runner."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import pytest

from harness.presentation.documents import SearchDocument
from tests.cli.project import Outcome, Project, command
from tests.e2e.groups import MEASURING
from tests.e2e.repositories import need
from tests.e2e.watched import WORK, Watch, watch_of
from tests.processes import wait_until

pytestmark = [pytest.mark.slow, MEASURING]


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    need("git", "g++")
    return watch_of(Project(tmp_path, tmp_path / "cache"))


def work(watch: Watch, last: int, *, slower: dict[int, float], broken: tuple[int, ...] = ()) -> None:
    for number in range(1, last + 1):
        watch.work.commit(f"Change {number}", slower=slower.get(number, 0.0), breaks=number in broken)


def ends(watch: Watch) -> tuple[str, ...]:
    return ("--good", watch.work.commits[0], "--bad", watch.work.commits[-1])


def bisect(watch: Watch, *arguments: str) -> Outcome:
    return watch.harness(*ends(watch), *arguments, command="bisect")


def named(watch: Watch, done: Outcome) -> list[int]:
    """Numbers of the commits that the table names, in order."""
    short = {commit[:12]: number for number, commit in enumerate(watch.work.commits)}
    rows = re.findall(r"^([0-9a-f]{12})  ", done.stdout, re.MULTILINE)
    return [short[row] for row in rows]


def test_bisect_identifies_the_slower_commit(watch: Watch) -> None:
    work(watch, 24, slower={17: 0.05})
    done = bisect(watch)
    assert done.code == 0, done.stderr + done.stdout
    assert named(watch, done) == [17]
    assert "Change 17" in done.stdout
    assert "not proven" not in done.stdout
    assert done.stderr.count("building") < 24, "not every commit was built"


def test_commits_that_do_not_build_are_skipped_and_grouped_with_the_next_as_culprits(watch: Watch) -> None:
    work(watch, 10, slower={6: 0.05}, broken=(2, 5, 8))
    done = bisect(watch)
    assert done.code == 0, done.stderr + done.stdout
    assert named(watch, done) == [5, 6], "one of two: the first of them does not build"


def test_two_culprits_are_distinguished(watch: Watch) -> None:
    work(watch, 12, slower={3: 0.06, 9: 0.05})
    done = bisect(watch, "--json")
    assert done.code == 0, done.stderr + done.stdout
    answer = SearchDocument.model_validate_json(done.stdout).search
    culprits = [commit for culprit in answer.result.culprits for commit in culprit.commits]
    assert culprits == [watch.work.commits[number] for number in (3, 9)]


def test_a_merge_is_searched_inside_and_resumed_there(watch: Watch) -> None:
    work(watch, 4, slower={})
    changes = [{"SIDE": "1"}, {"extra.h": f"#define EXTRA {int(0.08 * WORK)}\n"}, {"SIDE": "2"}]
    merge = watch.work.merge("Merge a feature", *changes)
    watch.work.commit("Change 5")
    commits = watch.work.commits
    begun = bisect(watch, "--pairs", "40")
    assert merge[:12] in begun.stdout, begun.stderr + begun.stdout
    done = bisect(watch, "--resume", "--pairs", "1000")
    assert done.code == 0, done.stderr + done.stdout
    assert named(watch, done) == [commits.index(merge) - 2]
    assert f"{merge[:12]} is a merge, whose 3 commits of a branch were compared" in " ".join(done.stdout.split())
    assert "there is no such search to resume" not in done.stderr


def test_bisect_also_identifies_improvements(watch: Watch) -> None:
    work(watch, 8, slower={3: -0.06})
    done = bisect(watch)
    assert done.code == 0, done.stderr + done.stdout
    assert named(watch, done) == [3]
    assert re.search(r" -\d+\.\d+ %", done.stdout), "what it changed is signed"


def test_bisecting_equal_commits_names_no_culprit(watch: Watch) -> None:
    work(watch, 6, slower={})
    done = bisect(watch, "--pairs", "80")
    assert done.code == 5, done.stderr + done.stdout
    assert "evidence" not in done.stdout


def test_bisecting_identical_builds_measures_nothing(watch: Watch) -> None:
    watch.work.commit("Refactor", same=True)
    done = watch.harness("--good", watch.work.commits[0], "--bad", "HEAD", command="bisect")
    assert done.code == 5, done.stderr + done.stdout
    first, last = (commit[:12] for commit in ends(watch)[1::2])
    assert f"1 commit from {first} to HEAD ({last})" in done.stderr
    assert "are the same bytes: there is nothing to find between them" in " ".join(done.stdout.split())
    assert "pairs" not in done.stderr + done.stdout
    assert named(watch, done) == []


def test_ends_that_cannot_be_built_are_reported(watch: Watch) -> None:
    work(watch, 3, slower={}, broken=(3,))
    done = bisect(watch)
    assert done.code == 3
    assert "no_such_header_anywhere.h" in done.stderr


def test_an_interrupted_search_is_resumed(watch: Watch) -> None:
    work(watch, 20, slower={11: 0.05})
    arguments = watch.arguments(*ends(watch), command="bisect")
    kept = watch.project.cache / "bisect"
    process = subprocess.Popen(
        command(*arguments), cwd=watch.project.folder, env=watch.project.environment, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            wait_until(lambda: len(list(kept.glob("*.json"))) == 1 and count_answers(kept) >= 2, 120)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "everything measured so far is kept; continue with `--resume`" in stderr
    before = count_answers(kept)
    done = bisect(watch, "--resume")
    assert done.code == 0, done.stderr + done.stdout
    assert named(watch, done) == [11]
    first = re.search(r"^(\d+) pairs; suspected", done.stderr, re.MULTILINE)
    assert first is not None
    assert int(first[1]) > 4 * before, "the pairs from before count"
    assert not list(kept.glob("*.json")), "nothing is left to go on with"


def test_pairs_of_another_recipe_are_not_resumed(watch: Watch) -> None:
    work(watch, 4, slower={2: 0.05})
    assert bisect(watch, "--pairs", "4").code == 5
    assert "no such search" not in bisect(watch, "--resume", "--pairs", "5").stderr
    (recipe,) = watch.project.folder.rglob("build.sh")
    recipe.write_text(recipe.read_text().replace("-O2", "-O1"))
    assert "there is no such search to resume" in bisect(watch, "--resume", "--pairs", "4").stderr


def count_answers(kept: Path) -> int:
    """Count the answers that a search has received."""
    (file,) = kept.glob("*.json")
    return file.read_text().count('"purpose"')


def test_the_same_commit_as_good_and_bad_is_an_error(watch: Watch) -> None:
    work(watch, 1, slower={})
    done = watch.harness("--good", "main", "--bad", "main", command="bisect")
    assert done.code == 2
    assert "name two commits" in done.stderr


def test_a_good_commit_newer_than_the_bad_commit_is_an_error(watch: Watch) -> None:
    work(watch, 2, slower={})
    done = watch.harness("--good", "main", "--bad", "main~1", command="bisect")
    assert done.code == 2
    assert "is not before" in done.stderr
    assert "exchange them" in done.stderr
    assert "merge base" not in done.stderr


def test_the_last_run_is_a_bisection_as_a_whole_with_its_answer(watch: Watch) -> None:
    work(watch, 4, slower={3: 0.08})
    done = bisect(watch)
    assert done.code == 0, done.stderr + done.stdout
    shown = watch.project.harness("report", "LAST")
    assert shown.code == 0, shown.stderr
    assert done.stdout in shown.stdout, "the answer, word for word"
    (last,) = re.findall(r"(\d+) pairs", done.stderr.splitlines()[-1])
    rows = re.findall(r"^ *[0-9a-f]{12} +[0-9a-f]{12} +(\d+) ", shown.stdout, re.MULTILINE)
    assert sum(map(int, rows)) == int(last), "every comparison"
