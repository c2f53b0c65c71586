"""Each source is fetched once per command."""

from __future__ import annotations

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from harness.flows.compare.source_fetcher import SourceFetcher
from harness.testing.progress import RecordedProgress
from tests.watch.watching import Line


def test_a_source_is_fetched_once_for_several_commits() -> None:
    progress = RecordedProgress()
    fetcher = SourceFetcher(progress)
    for name in ("c0", "c1", "main"):
        source = Line(["c0", "c1"])
        with fetcher.fetch(source, [name]):
            source.resolve(name)
    with fetcher.fetch(Line(["d0"], name="another:"), ["d0"]):
        pass
    assert progress.tasks == ["looking for commits in line:", "looking for commits in another:"]


def test_an_unreachable_source_is_reported_once_and_explains_every_unknown_name() -> None:
    progress = RecordedProgress()
    fetcher = SourceFetcher(progress)
    network_error = EnvironmentProblem("no network", hint="plug it in")
    for name in ("c9", "c8"):
        source = Line(["c0"], problem=network_error)
        with pytest.raises(EnvironmentProblem, match=f"no {name}; no network"), fetcher.fetch(source, [name]):
            source.resolve(name)
    assert progress.lines == ["no network: continuing with the commits that are known here"]


def test_an_unknown_name_of_a_reachable_source_is_a_usage_error() -> None:
    source = Line(["c0"])
    with pytest.raises(UsageError, match="no c9"), SourceFetcher(RecordedProgress()).fetch(source, ["c9"]):
        source.resolve("c9")
