"""State of a search, saved to be resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.bisect.queries import Query
from harness.analysis.bisect.search import Search
from harness.config.settings import Settings
from harness.core.commit import Commit
from harness.core.errors import EnvironmentProblem
from harness.flows.bisect.bisect import BisectRequest, SearchFile, _begin_or_resume, _measurement_key
from harness.flows.compare.requests import CompareRequest
from harness.flows.measure.workload import BenchmarkSelection, load_benchmarks
from harness.testing.progress import RecordedProgress
from tests.cli.project import Project, generic, one_test

COMMITS = tuple(Commit(source="git:/src", id=name * 40) for name in "abc")


def search_file(folder: Path, *measured: str) -> SearchFile:
    return SearchFile(folder, COMMITS, measured)


def resumed(file: SearchFile, *, max_pairs: int | None = None, resume: bool = True) -> tuple[Search, list[str]]:
    display = RecordedProgress()
    return _begin_or_resume(BisectRequest("a", "c", None, max_pairs, resume), COMMITS, file, display), display.lines


def save_answers(file: SearchFile) -> Search:
    search = Search.begin([commit.id for commit in COMMITS]).learn(COMMITS[0].id, COMMITS[2].id, [0.03] * 8)
    search = search.model_copy(update={"run": "ab12"})
    file.save(search)
    return search


def test_a_search_is_resumed_with_its_answers_and_the_current_budget(tmp_path: Path) -> None:
    file = search_file(tmp_path, "latency")
    saved = save_answers(file)
    assert resumed(file)[0] == saved
    again, _ = resumed(file, max_pairs=8)
    assert (again.answers, again.config.max_pairs) == (saved.answers, 8)
    assert not isinstance(again.next(), Query), "the budget is spent"
    assert isinstance(resumed(file, max_pairs=9)[0].next(), Query)
    new, _ = resumed(file, resume=False)
    assert new.answers == ()
    assert new.run not in {"", saved.run}


def test_answers_about_another_metric_are_ignored_with_a_message(tmp_path: Path) -> None:
    save_answers(search_file(tmp_path, "digest", "latency"))
    search, lines = resumed(search_file(tmp_path, "digest", "peak memory"))
    assert search.answers == ()
    assert lines == ["there is no such search to resume: starting a new one"]


def test_measurements_differ_by_metric_definition_and_device(tmp_path: Path) -> None:
    folder = Project(tmp_path, tmp_path / "cache")

    def key(iterations: int, request: CompareRequest, device: str = "board") -> tuple[str, ...]:
        spec = folder.write("spec.json", generic(one_test("work", "{program} {iter}", iter=iterations)))
        settings = Settings(benchmark_file=(spec,))
        (benchmark,) = load_benchmarks(settings)
        return _measurement_key(request, settings, BenchmarkSelection(benchmark.title, device), {benchmark.digest})

    plain = key(10, CompareRequest())
    assert plain == key(10, CompareRequest())
    other_keys = [
        key(20, CompareRequest()),
        key(10, CompareRequest(metrics=("NET peak_memory",))),
        key(10, CompareRequest(), "phone"),
    ]
    assert len({plain, *other_keys}) == 4


def test_an_unwritable_search_is_an_error_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be saved") as caught:
        save_answers(search_file(tmp_path / "file" / "bisect"))
    assert "--resume" in (caught.value.hint or "")
