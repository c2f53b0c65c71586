"""Alarms of a watcher whose culprit came with a merge."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from harness.builders.sources.git import GitSource
from harness.core.alarm import AlarmStage, Verification
from harness.core.effect import Effect
from harness.core.verdict import Verdict
from harness.flows.compare.commits import CommitComparer
from harness.flows.watch.searches import SavedSearches
from harness.flows.watch.worker import WatchWorker
from harness.testing.progress import RecordedProgress
from harness.watch.store.state import open_state
from tests.builders.sources.repositories import GitRepository, require
from tests.builders.sources.test_source_merges import branch, merge
from tests.flows.bisect.test_merges import Bench
from tests.watch.watching import alarm, change


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    require("git")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    repository = GitRepository(tmp_path / "user")
    repository.commit("base")
    branch(repository, "side", "side 1", "slow 2", "side 3")
    return repository


@pytest.mark.parametrize("only", [True, False], ids=["the only commit in question", "one of several"])
def test_the_commit_of_a_branch_is_among_the_candidates_and_the_culprit(
    repository: GitRepository, tmp_path: Path, only: bool
) -> None:
    before = repository.commit("main 1", {"main": "x"})
    if not only:
        repository.commit("main 2", {"main": "y"})
    joined = merge(repository, "merge", "side")
    source, bench = GitSource(repository.path, cache_dir=tmp_path / "cache"), Bench(repository)
    verification = Verification(
        confirmed=True,
        verdict=Verdict.REGRESSION,
        reason="slower",
        effect=Effect(log_ratio=0.058),
        log_ratios=(0.058, 0.0579, 0.0581, 0.058) * 3,
    )
    raised = alarm(AlarmStage.CONFIRMED, change(first=before, last=joined))
    saved: list[str] = []
    with open_state(tmp_path / "watch.db") as state:
        worker = WatchWorker([cast("CommitComparer", bench)], source, state, None, RecordedProgress())
        verified = raised.model_copy(update={"verification": verification})
        result, candidates = worker.find_culprits(verified, None, saved.append)
        again, same_candidates = worker.find_culprits(verified, saved[-1], saved.append)
    (culprit,) = result.culprits
    assert source.resolve(culprit.commits[0]).subject == "slow 2"
    assert culprit.merges == (joined,)
    subjects = [candidate.commit.subject for candidate in candidates]
    assert subjects == [*([] if only else ["main 2"]), "side 1", "slow 2", "side 3", "merge"]
    assert (again, same_candidates) == (result, candidates), "what was measured is not measured again"


def test_a_search_that_an_earlier_harness_saved_goes_on() -> None:
    searches = SavedSearches.read('{"commits": ["a", "b", "c"], "answers": [], "skipped": ["b"]}')
    search = searches.of_line(("a", "b", "c"))
    assert search is not None
    assert search.skipped == ("b",)
    kept = SavedSearches.read(searches.keep(search))
    assert kept.by_line == searches.by_line
