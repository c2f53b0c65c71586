"""Our reporters keep the contract, and its checks catch reporters that do not. (`remote`: see its own tests.)"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from harness.config.settings import Settings
from harness.core.errors import ReporterFailed
from harness.core.protocols import Reporter
from harness.core.result import Report
from harness.testing import reporters as contract
from harness.testing.contract import ContractBroken
from harness.testing.reporters import CHECKS, Check, ReporterCase
from reporters import bencher, github_action_benchmark, html, markdown, openmetrics, pytorch_v3, screen
from reporters.local import LocalReporter
from reporters.simple_local import SimpleLocalReporter
from reporters.simple_screen import SimpleScreenReporter

_EXPORTS: dict[str, Callable[[Settings], Reporter | None]] = {
    "bencher": bencher.create,
    "github_action_benchmark": github_action_benchmark.create,
    "openmetrics": openmetrics.create,
    "pytorch_v3": pytorch_v3.create,
}
_NOWHERE = Path(os.devnull) / "results"


def _fresh() -> Path:
    return Path(tempfile.mkdtemp())


def _screen() -> Reporter:
    reporter = screen.create(Settings())
    assert reporter is not None
    return reporter


def _page(create: Callable[[Settings], Reporter | None], name: str, file: Path) -> Reporter:
    reporter = create(Settings(reporters={name: str(file)}))
    assert reporter is not None
    return reporter


def _export(create: Callable[[Settings], Reporter | None], name: str) -> Reporter:
    return _page(create, name, _fresh() / "export.json")


def _into_nothing() -> Reporter:
    reader, writer = os.pipe()
    os.close(reader)
    stream = os.fdopen(writer, "w")
    reporter = SimpleScreenReporter(stream)
    # Closing the stream flushes it once more, which must go nowhere.
    reporter.close = stream.close  # type: ignore[method-assign]
    return reporter


CASES = {
    "html": ReporterCase(
        lambda: _page(html.create, "html", _fresh() / "x.html"),
        lambda: _page(html.create, "html", _NOWHERE),
        one_place=True,
    ),
    "markdown": ReporterCase(
        lambda: _page(markdown.create, "markdown", _fresh() / "x.md"),
        lambda: _page(markdown.create, "markdown", _NOWHERE),
        one_place=True,
    ),
    **{
        name: ReporterCase(
            partial(_export, create, name),
            partial(_page, create, name, _NOWHERE),
            writes_stderr=True,  # a line about what the format cannot say
            one_place=True,
        )
        for name, create in _EXPORTS.items()
    },
    "local": ReporterCase(lambda: LocalReporter(_fresh()), lambda: LocalReporter(_NOWHERE)),
    "simple_local": ReporterCase(lambda: SimpleLocalReporter(_fresh()), lambda: SimpleLocalReporter(_NOWHERE)),
    "simple_screen": ReporterCase(lambda: SimpleScreenReporter(sys.stdout), _into_nothing, writes_stdout=True),
    "screen": ReporterCase(_screen, writes_stdout=True),
}


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_our_reporters_keep_the_contract(case: ReporterCase, check: Check) -> None:
    check(case)


class _Careless:
    """Keeps the contract by doing nothing; each test below spoils one thing."""

    name = "careless"

    def report(self, report: Report) -> str | None:
        return self.on_report(report)

    def close(self) -> None:
        self.on_close()

    def __init__(
        self,
        on_report: Callable[[Report], str | None] = lambda report: None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.on_report = on_report
        self.on_close = on_close


class _OneThread(_Careless):
    """Like a database connection that belongs to the thread that opened it."""

    def __init__(self) -> None:
        self.home = threading.get_ident()
        super().__init__(self._refuse)

    def _refuse(self, report: Report) -> None:
        if threading.get_ident() != self.home:
            raise ReporterFailed("made in another thread")


def _refuse_failures(report: Report) -> None:
    if not report.result.ok:
        raise ReporterFailed("only numbers are welcome")


def _change(report: Report) -> None:
    report.result.meta["seen"] = True


def _pollute(report: Report) -> None:
    os.environ["CARELESS"] = "1"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_reporter_that_does_nothing_keeps_the_contract(check: Check) -> None:
    check(ReporterCase(_Careless))


@pytest.mark.parametrize(
    ("spoilt", "broken", "message"),
    [
        (lambda: _Careless(_refuse_failures), contract.reports_every_outcome, "refused the skipped result"),
        (lambda: _Careless(lambda report: print("told")), contract.reports_huge_results, "standard output: 'told"),
        (lambda: _Careless(on_close=lambda: print("x", file=sys.stderr)), contract.has_a_name, "standard error"),
        (lambda: _Careless(lambda report: "here"), contract.reports_odd_names, "same place"),
        (lambda: _Careless(lambda report: "here"), contract.keeps_results_of_one_benchmark_apart, "same place"),
        (lambda: _Careless(lambda report: ""), contract.reports_untrusted_results, "empty place"),
        (lambda: _Careless(_change), contract.does_not_change_the_report, "changed the report"),
        (_OneThread, contract.works_in_any_thread, "another thread"),
        (lambda: _Careless(_pollute), contract.leaves_the_process_unchanged, "another environment"),
    ],
)
def test_the_checks_detect_a_broken_reporter(
    spoilt: Callable[[], Reporter], broken: Check, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARELESS", "0")
    with pytest.raises(ContractBroken, match=message):
        broken(ReporterCase(spoilt))


def test_the_checks_detect_a_failing_reporter_that_raises_nothing() -> None:
    with pytest.raises(ContractBroken, match="as if all were well"):
        contract.raises_reporter_failed_when_broken(ReporterCase(_Careless, _Careless))


def test_the_checks_detect_an_error_without_a_remedy() -> None:
    def refuse(report: Report) -> str:
        raise ReporterFailed("no")

    with pytest.raises(ContractBroken, match="has no hint"):
        contract.raises_reporter_failed_when_broken(ReporterCase(_Careless, lambda: _Careless(refuse)))


def test_the_checks_propagate_unexpected_errors() -> None:
    def fail(report: Report) -> str:
        raise KeyError(report.result.uid)

    with pytest.raises(KeyError):
        contract.raises_reporter_failed_when_broken(ReporterCase(_Careless, lambda: _Careless(fail)))
