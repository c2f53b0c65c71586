"""How far a search is, kept for those who go on with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.bisect.queries import Query
from harness.analysis.bisect.search import Search
from harness.config.settings import Settings
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem
from harness.flows.bisect.bisect import Between, _begun, _Kept, _measured
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.workload import Selection, load_benchmarks
from harness.testing.progress import RecordedProgress
from tests.cli.project import Project, generic, one_test

COMMITS = tuple(Commit(source="git:/src", id=name * 40) for name in "abc")


def kept_in(folder: Path, *measured: str) -> _Kept:
    return _Kept(folder, COMMITS, measured)


def begun(kept: _Kept, *, max_pairs: int | None = None, resume: bool = True) -> tuple[Search, list[str]]:
    display = RecordedProgress()
    return _begun(Between("a", "c", None, max_pairs, resume), COMMITS, kept, display), display.lines


def heard_something(kept: _Kept) -> Search:
    search = Search.begin([one.id for one in COMMITS]).learn(COMMITS[0].id, COMMITS[2].id, [0.03] * 8)
    kept.save(search)
    return search


def test_a_search_goes_on_with_what_it_heard_and_the_budget_of_now(tmp_path: Path) -> None:
    kept = kept_in(tmp_path, "latency")
    heard = heard_something(kept)
    assert begun(kept)[0] == heard
    again, _ = begun(kept, max_pairs=8)
    assert (again.answers, again.config.max_pairs) == (heard.answers, 8)
    assert not isinstance(again.next(), Query), "the budget is spent"
    assert isinstance(begun(kept, max_pairs=9)[0].next(), Query)
    assert begun(kept, resume=False)[0].answers == ()


def test_what_was_heard_of_something_else_is_no_evidence_and_beginning_anew_is_said(tmp_path: Path) -> None:
    heard_something(kept_in(tmp_path, "digest", "latency"))
    search, said = begun(kept_in(tmp_path, "digest", "peak memory"))
    assert search.answers == ()
    assert said == ["nothing is kept of such a search: it begins anew"]


def test_what_is_measured_is_told_apart_by_metric_definition_and_device(tmp_path: Path) -> None:
    folder = Project(tmp_path, tmp_path / "cache")

    def measured(iterations: int, request: CompareRequest, device: str = "board") -> tuple[str, ...]:
        spec = folder.write("spec.json", generic(one_test("work", "{program} {iter}", iter=iterations)))
        settings = Settings(benchmark_file=(spec,))
        (benchmark,) = load_benchmarks(settings)
        return _measured(request, settings, Selection(benchmark.title, device), {benchmark.digest})

    plain = measured(10, CompareRequest())
    assert plain == measured(10, CompareRequest())
    others = [
        measured(20, CompareRequest()),
        measured(10, CompareRequest(metric="NET peak_memory")),
        measured(10, CompareRequest(), "phone"),
    ]
    assert len({plain, *others}) == 4


def test_progress_that_cannot_be_kept_is_told_and_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be kept") as caught:
        heard_something(kept_in(tmp_path / "file" / "bisect"))
    assert "--resume" in (caught.value.hint or "")
