"""The contract of reporters, as checks that any reporter's tests can run.

    CASE = ReporterCase(lambda: MyReporter(...), create_broken=lambda: MyReporter("/nowhere"))

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_reporter_keeps_the_contract(check: Check) -> None:
        check(CASE)

A check passes silently or raises `ContractBroken`. It asks for a reporter of its own, and closes it. What is right for
one reporter only (where its files are, what its lines say) is that reporter's own to test.
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
    """A reporter under test.

    Attributes:
        create: Makes a working one; called once per check, with standard output and error already redirected.
        create_broken: Makes one that cannot tell anything: a server that is down, a folder that cannot be written.
        writes_stdout: Whether standard output is its business.
        writes_stderr: Whether standard error is.
        one_place: Whether all results go to one place, such as a table; else each place must be another.
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

HALF_A_PAIR: Final = "\ud800"
"""What JSON's `"\\ud800"` becomes: no character, and nothing that UTF-8 could hold (see `make_writable`)."""


def check_reporter(case: ReporterCase) -> None:
    """Run every check.

    Raises:
        ContractBroken: With the first that fails.
    """
    for check in CHECKS:
        check(case)


def it_has_a_name(case: ReporterCase) -> None:
    """Messages name it."""
    with _reporter(case) as reporter:
        expect(bool(reporter.name.strip()), "its `name` is empty")


def it_tells_every_outcome(case: ReporterCase) -> None:
    """A failure is a result like any other."""
    _tell(case, [ok_result() if outcome is Outcome.OK else failed_result(outcome) for outcome in Outcome])


def it_tells_numbers_that_are_not_trusted(case: ReporterCase) -> None:
    """Warnings are for the reader, and no reason to stay silent."""
    _tell(case, [noisy_result()])


def it_tells_failures_before_there_was_a_device_or_build(case: ReporterCase) -> None:
    """Much can fail before a device is held or a runner built."""
    _tell(
        case,
        [
            failed_result(Outcome.FAILED, device=None, build=None),
            failed_result(Outcome.FAILED, build=None),
            failed_result(Outcome.SKIPPED, device=None, hint=None),
        ],
    )


def it_tells_huge_results(case: ReporterCase) -> None:
    """Raw samples are always kept, however many."""
    _tell(case, [ok_result(samples=[1.0 + i / HUGE for i in range(HUGE)], launches=50)])


def it_tells_odd_names(case: ReporterCase) -> None:
    """Names come from specifications and devices, and hold what their authors like."""
    named = [
        ok_result(model=name, identifier=name, device=DEVICE.model_copy(update={"name": name})) for name in ODD_NAMES
    ]
    _require_apart(case, _tell(case, named), "results whose names differ")


def it_tells_text_that_is_not_unicode(case: ReporterCase) -> None:
    """A specification can hold half a surrogate pair, and a command a file name that is not UTF-8."""
    result = ok_result(identifier=HALF_A_PAIR, meta={HALF_A_PAIR: HALF_A_PAIR})
    launch = result.launches[0].model_copy(update={"commands": (("runner", os.fsdecode(b"\xff")),)})
    _tell(case, [result.model_copy(update={"launches": (launch,)}), failed_result(reason=HALF_A_PAIR)])


def it_keeps_results_of_one_benchmark_apart(case: ReporterCase) -> None:
    """A benchmark is measured again and again; equal identifiers of different models are no rarity either."""
    results = [ok_result(), ok_result(), ok_result(model="mv3"), failed_result(), failed_result(model="mv3")]
    _require_apart(case, _tell(case, results), "results of one benchmark or identifier")


def it_takes_logs(case: ReporterCase) -> None:
    """Logs may be long, empty, odd, or have one name."""
    report = report_of(ok_result(), stdout="iteration 1\r\n" * 10_000, stderr="", **{"../odd": "\x00\x1b[0m�"})
    with _reporter(case) as reporter:
        reporter.report(report.model_copy(update={"logs": (*report.logs, *report.logs)}))


def it_leaves_the_result_alone(case: ReporterCase) -> None:
    """The next reporter receives the same object."""
    report = report_of(ok_result(meta={"list": [1, {"deep": "value"}]}), stdout="text")
    before = report.model_dump_json()
    with _reporter(case) as reporter:
        reporter.report(report)
    expect(report.model_dump_json() == before, "it changed the report that it was given")


def it_works_in_any_thread(case: ReporterCase) -> None:
    """One thread at a time uses it, but not always the one that made it."""
    errors: list[ContractBroken] = []

    def tell(reporter: Reporter) -> None:
        try:
            _report(reporter, report_of(ok_result()))
        except ContractBroken as error:
            errors.append(error)

    with _reporter(case) as reporter:
        for _ in range(2):
            thread = threading.Thread(target=tell, args=(reporter,))
            thread.start()
            thread.join()
    for error in errors:
        raise error


def it_closes_without_having_told_anything(case: ReporterCase) -> None:
    """A run may end before its first result."""
    with _reporter(case):
        pass


def it_leaves_the_process_as_it_was(case: ReporterCase) -> None:
    """Working folder, environment and threads belong to the harness."""
    with process_unchanged():
        _tell(case, [ok_result(), failed_result()])


def it_raises_reporter_failed_when_it_cannot_tell(case: ReporterCase) -> None:
    """A broken reporter says so each time: with one kind of error, one that says what to do."""
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
    it_has_a_name,
    it_tells_every_outcome,
    it_tells_numbers_that_are_not_trusted,
    it_tells_failures_before_there_was_a_device_or_build,
    it_tells_huge_results,
    it_tells_odd_names,
    it_tells_text_that_is_not_unicode,
    it_keeps_results_of_one_benchmark_apart,
    it_takes_logs,
    it_leaves_the_result_alone,
    it_works_in_any_thread,
    it_closes_without_having_told_anything,
    it_leaves_the_process_as_it_was,
    it_raises_reporter_failed_when_it_cannot_tell,
)


def _tell(case: ReporterCase, results: Sequence[Result]) -> list[str | None]:
    with _reporter(case) as reporter:
        return [_report(reporter, report_of(result)) for result in results]


def _report(reporter: Reporter, report: Report) -> str | None:
    """Report one result, holding a working reporter to returning a place or None."""
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
        return error  # any other error breaks the contract, and shows itself best
    return None


@contextlib.contextmanager
def _reporter(case: ReporterCase) -> Iterator[Reporter]:
    """A working reporter, closed once, whose streams are watched."""
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
        said = stream.getvalue()
        expect(allowed or not said, f"it wrote to standard {name}: {said[:200]!r}")


def _require_apart(case: ReporterCase, places: Sequence[str | None], what: str) -> None:
    told = [place for place in places if place is not None]
    twice = {place for place in told if told.count(place) > 1}
    expect(case.one_place or not twice, f"{what} have the same place: {sorted(twice)}")
