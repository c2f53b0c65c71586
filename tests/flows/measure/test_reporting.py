"""Whether a result is stored, and what counts."""

from __future__ import annotations

from pathlib import Path

from harness.core.comparison import Verdict
from harness.core.errors import ExitCode
from harness.core.result import Outcome, Report
from harness.flows.measure.reporting import Reporting
from harness.testing.progress import RecordedProgress
from reporters.local import LocalReporter
from tests.flows.runs import Kept
from tests.presentation.comparison_samples import compared, made_pairs

RESULT = compared("a", made_pairs(0.05, 8))


def test_the_reporter_that_stores_says_where(tmp_path: Path) -> None:
    reporting = Reporting((Kept(), LocalReporter(tmp_path)), RecordedProgress())
    place = reporting.report(Report(result=RESULT))
    assert place is not None
    assert Path(place, "result.json").is_file()
    assert reporting.stored
    assert reporting.complete


def test_those_that_are_told_later_know_where_it_is_kept(tmp_path: Path) -> None:
    seen: list[str | None] = []

    class Later(Kept):
        def report(self, report: Report) -> None:
            seen.append(report.place)

    place = Reporting((Later(), LocalReporter(tmp_path)), RecordedProgress()).report(Report(result=RESULT))
    assert seen == [place]


def test_what_is_not_stored_has_no_place_and_is_told_to_the_others(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    kept = Kept()
    reporting = Reporting((kept, LocalReporter(tmp_path / "results")), RecordedProgress())
    assert reporting.report(Report(result=RESULT)) is None
    assert not reporting.complete
    assert kept.results == [RESULT]


def test_what_is_recalled_counts_and_is_told_to_listeners_alone(tmp_path: Path) -> None:
    kept, listener = Kept(), Kept()
    reporting = Reporting((kept, LocalReporter(tmp_path)), RecordedProgress(), (listener,))
    reporting.recall(RESULT)
    assert (kept.results, listener.results) == ([], [RESULT])
    assert list(tmp_path.iterdir()) == []
    assert reporting.verdicts == {Verdict.REGRESSION: 1}
    assert reporting.exit_code() is ExitCode.REGRESSION
    assert reporting.summary() == "1 regression"
    reporting.recall(RESULT)
    assert reporting.summary() == "2 regressions"


def test_a_lost_device_leaves_something_to_go_on_with(tmp_path: Path) -> None:
    reporting = Reporting((LocalReporter(tmp_path),), RecordedProgress())
    reporting.report(Report(result=RESULT.model_copy(update={"outcome": Outcome.DEVICE_LOST, "reason": "gone"})))
    assert reporting.stored
    assert not reporting.complete


class _Archive:
    """A reporter that may keep results, at a place of its own."""

    name = "archive"

    def __init__(self, place: str | None, *, keeps_results: bool) -> None:
        self.place, self.keeps_results = place, keeps_results

    def report(self, report: Report) -> str | None:  # a place whatever it gets
        return self.place

    def close(self) -> None:
        return


def test_the_first_archive_names_the_place() -> None:
    archives = (_Archive("/first", keeps_results=True), _Archive(None, keeps_results=True))
    assert Reporting(archives, RecordedProgress()).report(Report(result=RESULT)) == "/first"


def test_a_reporter_that_denies_to_be_an_archive_is_none() -> None:
    reporting = Reporting((_Archive("/elsewhere", keeps_results=False),), RecordedProgress())
    assert reporting.report(Report(result=RESULT)) is None
