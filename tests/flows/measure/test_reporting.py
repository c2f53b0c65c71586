"""Reporting: storing results, and counting them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import ExitCode, ReporterFailed
from harness.core.result import Outcome, Report
from harness.core.verdict import Verdict
from harness.flows.measure.reporting import Reporting
from harness.testing.progress import RecordedProgress
from harness.testing.results import ok_result
from reporters.local import LocalReporter
from tests.flows.runs import RecordingReporter
from tests.presentation.comparison_samples import compared, made_pairs

RESULT = compared("a", made_pairs(0.05, 8))


def test_storing_a_result_returns_its_place(tmp_path: Path) -> None:
    reporting = Reporting((RecordingReporter(), LocalReporter(tmp_path)), RecordedProgress())
    place = reporting.report(Report(result=RESULT))
    assert place is not None
    assert Path(place, "result.json").is_file()
    assert reporting.stored
    assert reporting.complete


def test_later_reporters_get_the_place_of_the_stored_result(tmp_path: Path) -> None:
    places: list[str | None] = []

    class Later(RecordingReporter):
        def report(self, report: Report) -> None:
            places.append(report.place)

    place = Reporting((Later(), LocalReporter(tmp_path)), RecordedProgress()).report(Report(result=RESULT))
    assert places == [place]


def test_an_unstored_result_is_still_sent_to_other_reporters(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    recorder = RecordingReporter()
    reporting = Reporting((recorder, LocalReporter(tmp_path / "results")), RecordedProgress())
    assert reporting.report(Report(result=RESULT)) is None
    assert not reporting.complete
    assert [result.uid for result in recorder.results] == [RESULT.uid]


def test_results_of_one_run_share_its_identifier(tmp_path: Path) -> None:
    recorder = RecordingReporter()
    for _ in range(2):
        reporting = Reporting((recorder,), RecordedProgress())
        for _ in range(2):
            reporting.report(Report(result=RESULT))
    runs = [result.run for result in recorder.results]
    assert runs[0] == runs[1] != runs[2] == runs[3]
    assert all(runs)


def test_a_recalled_result_counts_and_is_sent_to_listeners_only(tmp_path: Path) -> None:
    recorder, listener = RecordingReporter(), RecordingReporter()
    reporting = Reporting((recorder, LocalReporter(tmp_path)), RecordedProgress(), (listener,))
    reporting.recall(RESULT)
    assert (recorder.results, listener.results) == ([], [RESULT])
    assert list(tmp_path.iterdir()) == []
    assert reporting.verdicts == {Verdict.REGRESSION: 1}
    assert reporting.exit_code() is ExitCode.REGRESSION
    assert reporting.summary() == "1 regression"
    reporting.recall(RESULT)
    assert reporting.summary() == "2 regressions"


def test_a_run_with_a_lost_device_is_incomplete(tmp_path: Path) -> None:
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


class _Late(RecordingReporter):
    """A reporter that fails when it is given a result, when it is closed, or both."""

    def __init__(self, *, failures: int = 0, fails_at_end: bool = False) -> None:
        super().__init__()
        self._failures, self._fails_at_end = failures, fails_at_end

    def report(self, report: Report) -> None:
        super().report(report)
        if len(self.results) <= self._failures:
            raise ReporterFailed("no place", hint="make some")

    def close(self) -> None:
        if self._fails_at_end:
            raise ReporterFailed("no place", hint="make some")


def reported(reporter: RecordingReporter, results: int = 3) -> Reporting:
    """Return the reporting of some results, after its end."""
    reporting = Reporting((reporter,), RecordedProgress())
    for _ in range(results):
        reporting.report(Report(result=ok_result()))
    reporting.close()
    return reporting


@pytest.mark.parametrize(
    ("reporter", "words"),
    [
        (_Late(), "3 ok"),
        (_Late(failures=2), "3 ok, 2 not reported by `recording`"),
        (_Late(failures=2, fails_at_end=True), "3 ok, 2 not reported by `recording`"),
        (_Late(fails_at_end=True), "3 ok, `recording` not finished"),
    ],
)
def test_the_failures_of_a_reporter_count_results(reporter: _Late, words: str) -> None:
    reporting = reported(reporter)
    assert reporting.summary() == words
    assert reporting.exit_code() is (ExitCode.OK if words == "3 ok" else ExitCode.ENVIRONMENT)


@pytest.mark.parametrize("unreported", [0, 1, 3])
def test_a_reporter_that_knows_what_it_could_not_report_is_believed(unreported: int) -> None:
    class Counting(_Late):
        @property
        def unreported(self) -> int:
            return unreported

    reporting = reported(Counting(failures=2))
    assert reporting.unreported == ({"recording": unreported} if unreported else {})
    assert reporting.exit_code() is (ExitCode.ENVIRONMENT if unreported else ExitCode.OK)
