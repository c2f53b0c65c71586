"""Searches in real histories with merges: the commit of a branch is named, and not the merge that brought it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from harness.analysis.bisect.search import Search
from harness.builders.sources.git import GitSource
from harness.core.build import BuildInfo
from harness.core.commit import Commit
from harness.core.comparison import Comparison, Parameters
from harness.core.culprit import Culprit, SearchEnding, SearchResult
from harness.core.errors import BuildFailed
from harness.core.result import Result
from harness.core.verdict import Verdict
from harness.flows.bisect.merges import MergeSearch
from harness.flows.bisect.search import run_search
from harness.flows.compare.commits import CommitComparer
from harness.flows.measure.workload import BenchmarkSelection
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result
from tests.builders.sources.repositories import GitRepository, require
from tests.builders.sources.test_source_merges import branch, merge
from tests.flows.bisect.test_searching import pair


@dataclass
class Bench:
    """Compares commits of a real repository by their files: one called `slow...` makes it 6 % slower, `fast...` faster.

    Attributes:
        repository: The repository.
        compared: Short names of the commits that were compared.
    """

    repository: GitRepository
    compared: set[str] = field(default_factory=set)

    def level(self, commit: Commit) -> float:
        files = self.repository.git("ls-tree", "--name-only", commit.id).splitlines()
        if any(name.startswith("broken") for name in files):
            raise BuildFailed(f"{commit.short} does not compile")
        slow, fast = (sum(name.startswith(kind) for name in files) for kind in ("slow", "fast"))
        # builds of the same code are not equally fast
        return float(1.06**slow * 0.95**fast * (1 + 0.0004 * (zlib.crc32(commit.id.encode()) % 3)))

    def compare(self, control: Commit, treatment: Commit, *, max_pairs: int, **_: object) -> tuple[Result, ...]:
        self.compared |= {control.subject, treatment.subject}
        ratio = self.level(treatment) / self.level(control)
        comparison = Comparison(
            control=BuildInfo(source=control.source, commit=control.id),
            metric="NET latency",
            parameters=Parameters(seed=1),
            verdict=Verdict.UNDECIDED,
            pairs=tuple(pair(number, ratio) for number in range(max_pairs)),
        )
        return (ok_result().model_copy(update={"comparison": comparison}),)


@dataclass
class History:
    """A repository, and the search between two of its commits."""

    repository: GitRepository
    source: GitSource
    budget: int | None = None

    def __post_init__(self) -> None:
        self.bench = Bench(self.repository)
        self.progress = RecordedProgress()

    def search(self, good: str, bad: str = "main", *, lists_all: bool = False) -> tuple[SearchResult, MergeSearch]:
        commits = (older := self.source.resolve(good), *self.source.between(older, self.source.resolve(bad)))
        found = self._search_line(commits, 0)
        assert found is not None
        merges = MergeSearch(self.source, self._search_line, lists_all=lists_all, say=self.progress.say)
        return merges.run(found[1], commits), merges

    def _search_line(self, line: Sequence[Commit], pairs: int) -> tuple[Search, SearchResult] | None:
        if self.budget is not None and pairs >= self.budget:
            return None
        search = Search.begin([commit.id for commit in line])
        comparer = cast("CommitComparer", self.bench)
        return run_search(
            search,
            line,
            BenchmarkSelection("m/b"),
            comparer,
            progress=self.progress,
            save=lambda _: None,
            earlier_pairs=pairs,
        )

    def names(self, result: SearchResult) -> list[str]:
        return [self.subject(culprit.commits[-1]) for culprit in result.culprits]

    def merges_of(self, culprit: Culprit) -> list[str]:
        return [self.subject(commit) for commit in culprit.merges]

    def subject(self, commit: str) -> str:
        return self.repository.git("log", "-1", "--format=%s", commit)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    require("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repository = GitRepository(tmp_path / "user")
    repository.commit("base")
    repository.git("tag", "start")
    return History(repository, GitSource(repository.path, cache_dir=tmp_path / "cache"))


def grow(history: History, *subjects: str) -> None:
    for subject in subjects:
        history.repository.commit(subject, {subject: "x"})


def test_the_commit_of_a_branch_is_named_and_not_the_merge(history: History) -> None:
    branch(history.repository, "side", "side 1", "slow 2", "side 3")
    grow(history, "main 1", "main 2")
    merge(history.repository, "merge", "side")
    grow(history, "main 3")
    result, merges = history.search("start")
    assert result.ending is SearchEnding.FOUND
    assert history.names(result) == ["slow 2"]
    (culprit,) = result.culprits
    assert history.merges_of(culprit) == ["merge"]
    assert history.subject(culprit.before) == "side 1"
    assert culprit.effect.relative_change == pytest.approx(0.06, abs=0.003)
    assert "is a merge, whose 3 commits of a branch were compared with" in result.reason
    assert f"found {culprit.commits[0][:12]}" in result.reason
    assert [commit.subject for commit in merges.lines[0].commits] == ["base", "side 1", "slow 2", "side 3"]


def test_a_branch_that_is_older_than_the_beginning_of_the_search(history: History) -> None:
    branch(history.repository, "side", "slow 1", "side 2")
    grow(history, "main 1", "main 2")
    history.repository.git("tag", "later")
    merge(history.repository, "merge", "side")
    result, _ = history.search("later")
    assert history.names(result) == ["slow 1"]


def test_a_merge_of_several_branches_at_once(history: History) -> None:
    for name, subject in (("a", "a 1"), ("b", "slow b"), ("c", "c 1")):
        branch(history.repository, name, subject, base="start")
    grow(history, "main 1")
    merge(history.repository, "octopus", "a", "b", "c")
    result, _ = history.search("start")
    assert history.names(result) == ["slow b"]


def test_what_a_branch_took_over_from_the_main_one_is_not_accused(history: History) -> None:
    """The branch has a slow commit of the main one too, which the merge did not bring."""
    repository = history.repository
    branch(repository, "side", "side 1", "slow side")
    grow(history, "slow main", "fast main 1", "fast main 2", "fast main 3")
    merge(repository, "side takes main", "main", into="side")
    branch(repository, "side", "side 3")
    repository.git("tag", "before")
    grow(history, "main 5")
    merge(repository, "merge", "side")
    result, merges = history.search("before")
    assert history.names(result) == ["slow side"]
    assert history.merges_of(result.culprits[0]) == ["merge", "side takes main"]
    assert {"slow main", "fast main 2"}.isdisjoint(
        commit.subject for line in merges.lines for commit in line.commits[1:]
    )


def test_branches_that_were_merged_into_one_another(history: History) -> None:
    repository = history.repository
    branch(repository, "side", "slow shared")
    grow(history, "main 1")
    repository.git("branch", "main-before")
    merge(repository, "main takes side", "side")
    merge(repository, "side takes main", "main-before", into="side")
    branch(repository, "side", "side 2", "slow side", "side 3")
    grow(history, "main 2")
    repository.git("tag", "before")
    merge(repository, "merge", "side")
    result, _ = history.search("before")
    assert history.names(result) == ["slow side"]


def test_a_merge_inside_a_merge(history: History) -> None:
    repository = history.repository
    branch(repository, "side", "side 1")
    branch(repository, "deep", "deep 1", "slow deep", base="side")
    branch(repository, "side", "side 2")
    merge(repository, "inner", "deep", into="side")
    grow(history, "main 1")
    merge(repository, "outer", "side")
    result, _ = history.search("start")
    assert history.names(result) == ["slow deep"]
    assert history.merges_of(result.culprits[0]) == ["outer", "inner"]


@pytest.mark.parametrize(
    ("lists_all", "names"), [(False, ["slow 1", "slow 2"]), (True, ["slow 1", "slow 2", "fast 4"])]
)
def test_changes_of_a_branch_in_the_other_direction_are_listed_on_request(
    history: History, *, lists_all: bool, names: list[str]
) -> None:
    branch(history.repository, "side", "slow 1", "slow 2", "side 3", "fast 4")
    grow(history, "main 1")
    merge(history.repository, "merge", "side")
    result, _ = history.search("start", lists_all=lists_all)
    assert history.names(result) == names
    assert {tuple(history.merges_of(culprit)) for culprit in result.culprits} == {("merge",)}


def test_a_merge_that_changed_something_itself_stays_the_culprit(history: History) -> None:
    repository = history.repository
    branch(repository, "side", "side 1", "side 2")
    grow(history, "main 1")
    repository.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repository.commit("merge", {"slow": "by the resolution of a conflict"})
    result, _ = history.search("start")
    assert history.names(result) == ["merge"]
    assert result.culprits[0].merges == ()
    assert "none of them makes a quarter of the change" in result.reason


def test_a_branch_that_cannot_be_built_leaves_the_merge_as_the_culprit(history: History) -> None:
    repository = history.repository
    branch(repository, "side", "slow 1", "broken 2")
    grow(history, "main 1")
    repository.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repository.git("rm", "-q", "-f", "broken 2")
    repository.commit("merge", {"repaired": "x"})
    result, _ = history.search("start")
    assert history.names(result) == ["merge"]
    assert "its branch cannot be searched" in result.reason


def test_a_merge_that_is_no_culprit_is_not_searched(history: History) -> None:
    branch(history.repository, "side", "side 1", "side 2")
    grow(history, "slow main")
    merge(history.repository, "merge", "side")
    result, merges = history.search("start")
    assert history.names(result) == ["slow main"]
    assert not merges.lines
    assert {"side 1", "side 2"}.isdisjoint(history.bench.compared)


def test_without_pairs_for_it_the_merge_is_named_and_the_search_may_go_on(history: History) -> None:
    branch(history.repository, "side", "slow 1", "side 2")
    grow(history, "main 1")
    merge(history.repository, "merge", "side")
    history.budget = 1
    result, merges = history.search("start")
    assert history.names(result) == ["merge"]
    assert merges.is_undecided
    assert "no pairs are left to search what it brought" in result.reason


def test_counters_and_reasons_are_those_of_all_searches(history: History) -> None:
    """A merge brought a slow commit and a merge, which brought another one."""
    branch(history.repository, "inner", "inner 1", "slow deep", "inner 3")
    branch(history.repository, "side", "side 1", "slow side")
    merge(history.repository, "inner merge", "inner", into="side")
    grow(history, "main 1")
    merge(history.repository, "merge", "side")
    result, merges = history.search("start")
    assert history.names(result) == ["slow side", "slow deep"]
    counters = [int(line.split()[0]) for line in history.progress.lines if " pair" in line.split(";")[0]]
    assert counters == sorted(counters), "the counter never begins again"
    assert counters[-1] == result.pairs == merges.pairs
    begins = [line for line in history.progress.lines if "is a merge: searching" in line]
    assert len(begins) == 2
    # each search says what it ruled out: on the main line, on the branch, and on the branch of the branch
    assert result.reason.count("no other change of") == 3
    assert [out.until for out in result.ruled_out] == [history.source.resolve("main").id] + [
        line.commits[-1].id for line in merges.lines
    ]


def test_what_the_named_commits_leave_unexplained_is_told(history: History) -> None:
    """A merge brings two changes, of which the smaller one is no quarter of the merge's."""
    branch(history.repository, "side", "slow 1", "faster 2", "side 3")
    grow(history, "main 1")
    merge(history.repository, "merge", "side")
    history.repository.git("tag", "end")
    result, _ = history.search("start")
    assert result.total_log_ratio is not None
    assert result.unexplained_log_ratio is not None
    explained = sum(culprit.effect.log_ratio for culprit in result.culprits)
    assert result.unexplained_log_ratio == pytest.approx(result.total_log_ratio - explained)
