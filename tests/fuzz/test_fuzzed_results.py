"""Stored results, their index and journals with edits: they are shown, or refused as what they are."""

# ruff: noqa: ANN401 - documents have any shape

from __future__ import annotations

import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.settings import Settings
from harness.core.build import Build
from harness.core.comparison import OperatorMedians
from harness.core.errors import EnvironmentProblem, HarnessError
from harness.core.result import Report
from harness.display.console import CleanConsole
from harness.flows.compare.journal import Header, Journal, LostLaunches
from harness.flows.compare.reevaluate import reevaluate
from harness.flows.inspect import reports
from harness.store.canonical_json import load_result, to_pretty_json
from harness.store.index import read_index
from harness.testing.results import failed_result, noisy_result, ok_result
from reporters import html, markdown
from reporters.local import LocalReporter
from reporters.simple_screen import SimpleScreenReporter
from tests.fuzz.mutations import CUTS, EDITS, Cut, Edit, cut, edited, fuzzed
from tests.presentation.comparison_samples import compared, every_kind, made_operators, made_pairs

RESULTS = [
    *every_kind(),
    ok_result(uid="ok"),
    failed_result(uid="failed"),
    noisy_result(uid="noisy"),
    compared("operators", made_pairs(0.02, 12), operators=made_operators({"conv": 0.1, "add": None}, 12)),
    compared("rate", made_pairs(0.02, 12), higher_is_better=True),
]
DOCUMENTS = [json.loads(to_pretty_json(result)) for result in RESULTS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def _look(file: Path) -> None:
    """Do everything with a file that commands do with a stored result."""
    tree = file.parent / "tree"
    console = CleanConsole(file=io.StringIO(), width=120)
    settings = Settings(local_reporter=tree)
    with contextlib.suppress(HarnessError):
        reports.show(file, settings, console)
    with contextlib.suppress(HarnessError):
        reevaluate(file, {}, console, tree=file.parent)
    try:
        result = load_result(file)
    except HarnessError:
        return
    shutil.rmtree(tree, ignore_errors=True)
    pages = Settings(
        local_reporter=tree, reporters={"html": str(file.parent / "p.html"), "markdown": str(file.parent / "p.md")}
    )
    made = (html.create(pages), markdown.create(pages), SimpleScreenReporter(io.StringIO()), LocalReporter(tree))
    for reporter in made:
        if reporter is not None:
            with contextlib.suppress(HarnessError):
                reporter.report(Report(result=result))
            with contextlib.suppress(HarnessError):
                reporter.close()
    reports.latest(settings, console)


@fuzzed(150)
@given(st.sampled_from(DOCUMENTS), EDITS)
def test_an_edited_result_is_shown_or_refused(folder: Path, document: Any, edits: list[Edit]) -> None:
    file = folder / "result.json"
    file.write_text(json.dumps(edited(document, edits)))
    _look(file)


@fuzzed(50)
@given(st.sampled_from(DOCUMENTS), CUTS)
def test_a_damaged_result_is_shown_or_refused(folder: Path, document: Any, cuts: list[Cut]) -> None:
    file = folder / "result.json"
    file.write_bytes(cut(json.dumps(document).encode(), cuts))
    _look(file)


@fuzzed(20)
@given(CUTS)
def test_a_damaged_index_lists_every_result(tmp_path_factory: pytest.TempPathFactory, cuts: list[Cut]) -> None:
    tree = tmp_path_factory.mktemp("tree")
    for result in RESULTS[:3]:
        LocalReporter(tree).report(Report(result=result))
    index = tree / "index.jsonl"
    index.write_bytes(cut(index.read_bytes(), cuts))
    entries = read_index(tree).entries
    assert len(entries) == 3
    reports.latest(Settings(local_reporter=tree), CleanConsole(file=io.StringIO(), width=120))
    shutil.rmtree(tree)


def _journal(folder: Path) -> Journal:
    build = Build(source="none", commit="none")
    return Journal(folder, "subject", build, build)


@fuzzed(50)
@given(CUTS, EDITS, st.booleans())
def test_a_damaged_journal_is_resumed_or_set_aside(
    folder: Path, cuts: list[Cut], edits: list[Edit], whole: bool
) -> None:
    shutil.rmtree(folder / "journals", ignore_errors=True)
    journal = _journal(folder / "journals")
    journal.start(Header(seed=1, metric="NET latency", unit="ms", statistics=("min", "p25", "median", "mean", "p90")))
    for pair in made_pairs(0.01, 6):
        journal.append_pair(pair, OperatorMedians(pair=pair.index, control={"conv": 1.0}), LostLaunches(seconds=1.0))
    journal.append_discarded(6, LostLaunches())
    (file,) = (folder / "journals").iterdir()
    lines = file.read_bytes().splitlines()
    if whole:
        lines[edits[0].place % len(lines)] = json.dumps(edited(json.loads(lines[1]), edits)).encode()
    file.write_bytes(b"\n".join(lines) + b"\n" if whole else cut(file.read_bytes(), cuts))
    again = _journal(folder / "journals")
    contents = again.read()
    assert contents is None or contents.header.statistics
    assert all(isinstance(place, str) for place in again.report_places())


def test_operators_with_fewer_figures_than_pairs_are_refused(folder: Path) -> None:
    document = json.loads(to_pretty_json(RESULTS[-2]))
    document["comparison"]["operators"][0]["control"].pop()
    file = folder / "result.json"
    file.write_text(json.dumps(document))
    with pytest.raises(EnvironmentProblem, match="cannot be evaluated"):
        reevaluate(file, {}, CleanConsole(file=io.StringIO(), width=120), tree=file.parent)
