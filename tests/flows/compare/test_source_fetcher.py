"""Each source is asked for new commits once in a command."""

from __future__ import annotations

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.testing.progress import RecordedProgress
from tests.watch.watching import Line


def test_a_source_is_asked_once_however_many_of_its_commits_are_named() -> None:
    progress = RecordedProgress()
    fetcher = SourceFetcher(progress)
    for name in ("c0", "c1", "main"):
        source = Line(["c0", "c1"])
        with fetcher.fetch(source, [name]):
            source.resolve(name)
    with fetcher.fetch(Line(["d0"], name="another:"), ["d0"]):
        pass
    assert progress.tasks == ["looking for commits in line:", "looking for commits in another:"]


def test_a_source_that_cannot_be_asked_is_told_once_and_excuses_every_name_that_it_does_not_know() -> None:
    progress = RecordedProgress()
    fetcher = SourceFetcher(progress)
    away = EnvironmentProblem("no network", hint="plug it in")
    for name in ("c9", "c8"):
        source = Line(["c0"], problem=away)
        with pytest.raises(EnvironmentProblem, match=f"no {name}; no network"), fetcher.fetch(source, [name]):
            source.resolve(name)
    assert progress.lines == ["no network: continuing with the commits that are known here"]


def test_a_name_that_a_source_does_not_know_is_a_mistake_where_it_could_be_asked() -> None:
    source = Line(["c0"])
    with pytest.raises(UsageError, match="no c9"), SourceFetcher(RecordedProgress()).fetch(source, ["c9"]):
        source.resolve("c9")
