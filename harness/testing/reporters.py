"""Contract of reporters, as checks that the tests of any reporter can run.

    CASE = ReporterCase(lambda: MyReporter(...), create_broken=lambda: MyReporter("/nowhere"))

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_reporter_keeps_the_contract(check: Check) -> None:
        check(CASE)

A check passes silently or raises `ContractBroken`. It makes a reporter of its own, and closes it. What concerns one
reporter only (where its files are, what its lines say) is for its own tests.
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from harness.core.errors import ReporterFailed
from harness.core.protocols import Reporter
from harness.core.result import Outcome, Report, Result
from harness.testing.contract import ContractBroken, expect, process_unchanged
from harness.testing.results import DEVICE, failed_result, noisy_result, ok_result, report_of


@dataclass(frozen=True, slots=True)
class ReporterCase:
    """Reporter under test.

    Attributes:
        create: Makes a working one; called once per check, with standard output and error already redirected.
        create_broken: Makes one that cannot report: its server is down, its folder cannot be written.
        writes_stdout: Whether it may write to standard output.
        writes_stderr: Whether it may write to standard error.
        one_place: Whether all results go to one place, such as a table; otherwise each needs a place of its own.
    """

    create: Callable[[], Reporter]
    create_broken: Callable[[], Reporter] | None = None
    writes_stdout: bool = False
    writes_stderr: bool = False
    one_place: bool = False


Check = Callable[[ReporterCase], None]

HUGE: Final = 50_000
"""Samples of the longest result that the checks report: an hour of a model that takes 70 ms."""

ODD_NAMES: Final = (
    "",
    ".",
    "..",
    "/",
    "../../x",
    "null",
    "a b",
    "a\nb",
    "\x00\x1b[31m",
    "ünïcödé \u2028 🐍",
    "x" * 300,
)

LONE_SURROGATE: Final = "\ud800"
"""Value of JSON's `"\\ud800"`: no character, and not encodable as UTF-8 (see `make_writable`)."""


def has_a_name(case: ReporterCase) -> None:
    """Messages contain its name."""
    with _reporter(case) as reporter:
        expect(bool(reporter.name.strip()), "its `name` is empty")


def reports_every_outcome(case: ReporterCase) -> None:
    """Failures are results too."""
    _report_all(case, [ok_result() if outcome is Outcome.OK else failed_result(outcome) for outcome in Outcome])


def reports_untrusted_results(case: ReporterCase) -> None:
    """Results that are not trusted are reported too."""
    _report_all(case, [noisy_result()])


def reports_failures_without_device_or_build(case: ReporterCase) -> None:
    """Results have no device or build where something failed before."""
    _report_all(
        case,
        [
            failed_result(Outcome.FAILED, device=None, build=None),
            failed_result(Outcome.FAILED, build=None),
            failed_result(Outcome.SKIPPED, device=None, hint=None),
        ],
    )


def reports_huge_results(case: ReporterCase) -> None:
    """Results may have tens of thousands of samples."""
    _report_all(case, [ok_result(samples=[1.0 + i / HUGE for i in range(HUGE)], launches=50)])


def reports_odd_names(case: ReporterCase) -> None:
    """Names may have any characters, because they come from specifications and devices."""
    named = [
        ok_result(model=name, identifier=name, device=DEVICE.model_copy(update={"name": name})) for name in ODD_NAMES
    ]
    _require_apart(case, _report_all(case, named), "results whose names differ")


def reports_invalid_unicode(case: ReporterCase) -> None:
    """A specification can hold a lone surrogate, and a command a file name that is not UTF-8."""
    result = ok_result(identifier=LONE_SURROGATE, meta={LONE_SURROGATE: LONE_SURROGATE})
    launch = result.launches[0].model_copy(update={"commands": (("runner", os.fsdecode(b"\xff")),)})
    _report_all(case, [result.model_copy(update={"launches": (launch,)}), failed_result(reason=LONE_SURROGATE)])


def keeps_results_of_one_benchmark_apart(case: ReporterCase) -> None:
    """Repeated results of one benchmark, and results of different models with one identifier, have their own places."""
    results = [ok_result(), ok_result(), ok_result(model="mv3"), failed_result(), failed_result(model="mv3")]
    _require_apart(case, _report_all(case, results), "results of one benchmark or identifier")


def accepts_logs(case: ReporterCase) -> None:
    """Logs may be long, empty or binary, and several may have the same name."""
    report = report_of(ok_result(), stdout="iteration 1\r\n" * 10_000, stderr="", **{"../odd": "\x00\x1b[0m�"})
    with _reporter(case) as reporter:
        reporter.report(report.model_copy(update={"logs": (*report.logs, *report.logs)}))


def does_not_change_the_report(case: ReporterCase) -> None:
    """The report is the same afterwards: the next reporter receives the same object."""
    report = report_of(ok_result(meta={"list": [1, {"deep": "value"}]}), stdout="text")
    before = report.model_dump_json()
    with _reporter(case) as reporter:
        reporter.report(report)
    expect(report.model_dump_json() == before, "it changed the report that it was given")


def works_in_any_thread(case: ReporterCase) -> None:
    """Threads other than the one that created it may use it, one at a time."""
    errors: list[ContractBroken] = []

    def report(reporter: Reporter) -> None:
        try:
            _report(reporter, report_of(ok_result()))
        except ContractBroken as error:
            errors.append(error)

    with _reporter(case) as reporter:
        for _ in range(2):
            thread = threading.Thread(target=report, args=(reporter,))
            thread.start()
            thread.join()
    for error in errors:
        raise error


def closes_without_any_report(case: ReporterCase) -> None:
    """It can be closed without a result."""
    with _reporter(case):
        pass


def leaves_the_process_unchanged(case: ReporterCase) -> None:
    """Working folder, environment and threads are the same afterwards."""
    with process_unchanged():
        _report_all(case, [ok_result(), failed_result()])


def raises_reporter_failed_when_broken(case: ReporterCase) -> None:
    """A broken reporter raises `ReporterFailed` with a hint for every result."""
    if case.create_broken is None:
        return
    with _streams(case):
        reporter = case.create_broken()
        for result in (ok_result(), failed_result()):
            error = _failure(partial(reporter.report, report_of(result)))
            expect(error is not None, "report() of a broken reporter returned as if all were well")
            expect(error is None or bool(error.hint), f"its error has no hint: {error}")
        _failure(reporter.close)


CHECKS: Final[tuple[Check, ...]] = (
    has_a_name,
    reports_every_outcome,
    reports_untrusted_results,
    reports_failures_without_device_or_build,
    reports_huge_results,
    reports_odd_names,
    reports_invalid_unicode,
    keeps_results_of_one_benchmark_apart,
    accepts_logs,
    does_not_change_the_report,
    works_in_any_thread,
    closes_without_any_report,
    leaves_the_process_unchanged,
    raises_reporter_failed_when_broken,
)


def _report_all(case: ReporterCase, results: Sequence[Result]) -> list[str | None]:
    with _reporter(case) as reporter:
        return [_report(reporter, report_of(result)) for result in results]


def _report(reporter: Reporter, report: Report) -> str | None:
    """Report one result with a working reporter, and return its place."""
    title = f"{report.result.outcome} result of {report.result.benchmark.model!r}"
    try:
        place = reporter.report(report)
    except ReporterFailed as error:
        raise ContractBroken(f"it refused the {title}: {error}") from error
    expect(place != "", f"it returned an empty place for the {title}")
    return place


def _failure(call: Callable[[], object]) -> ReporterFailed | None:
    try:
        call()
    except ReporterFailed as error:
        return error  # any other error breaks the contract, and its traceback says where
    return None


@contextlib.contextmanager
def _reporter(case: ReporterCase) -> Iterator[Reporter]:
    """Yield a working reporter; close it, and check that it wrote to no stream that it may not use."""
    with _streams(case):
        reporter = case.create()
        try:
            yield reporter
        finally:
            reporter.close()


@contextlib.contextmanager
def _streams(case: ReporterCase) -> Iterator[None]:
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        yield
    for name, stream, allowed in (("output", stdout, case.writes_stdout), ("error", stderr, case.writes_stderr)):
        text = stream.getvalue()
        expect(allowed or not text, f"it wrote to standard {name}: {text[:200]!r}")


def _require_apart(case: ReporterCase, places: Sequence[str | None], what: str) -> None:
    known = [place for place in places if place is not None]
    shared = {place for place in known if known.count(place) > 1}
    expect(case.one_place or not shared, f"{what} have the same place: {sorted(shared)}")
