"""A result with a comparison goes through every reporter that stores or sends, and comes back equal."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from harness.config.settings import Settings
from harness.core.errors import ExitCode
from harness.core.metric import ControlSide
from harness.core.result import Report, Result
from harness.flows.compare import reevaluate
from harness.store.canonical_json import load_result
from harness.store.tree import result_folder
from reporters import remote
from reporters.local import LocalReporter
from reporters.simple_local import SimpleLocalReporter
from reporters.simple_screen import SimpleScreenReporter
from tests.presentation.comparison_samples import compared, every_kind, made_pairs
from tests.reporters.test_remote_reporter import Server


def _whole(result: Result) -> Result:
    """Add the control's half to the metrics of a result."""
    side = ControlSide(
        control_values=(1.0, 2.0), control_launches=(0, 1), control_summary={"p50": 1.5}, diff_summary={"p50": 0.1}
    )
    return result.model_copy(
        update={"metrics": tuple(metric.model_copy(update={"control": side}) for metric in result.metrics)}
    )


RESULTS = [_whole(result) for result in every_kind()]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.uid)
def test_the_local_tree_keeps_the_whole_comparison(result: Result, tmp_path: Path) -> None:
    assert load_result(Path(LocalReporter(tmp_path).report(Report(result=result)))) == result


def test_a_result_of_an_older_version_is_read(tmp_path: Path) -> None:
    place = Path(LocalReporter(tmp_path).report(Report(result=RESULTS[0])))
    written = json.loads((place / "result.json").read_text())
    del written["comparison"]["statistics"]
    (place / "result.json").write_text(json.dumps({**written, "schema_version": "1.0"}))
    assert load_result(place) == RESULTS[0].model_copy(update={"schema_version": "1.0"})


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.uid)
def test_the_simple_tree_keeps_the_whole_comparison(result: Result, tmp_path: Path) -> None:
    assert load_result(Path(SimpleLocalReporter(tmp_path).report(Report(result=result)))) == result


def test_a_server_receives_the_whole_comparison(tmp_path: Path) -> None:
    server = Server()
    try:
        reporter = remote.create(Settings(remote_reporter=server.place, cache_dir=tmp_path))
        assert reporter is not None
        for result in RESULTS:
            reporter.report(Report(result=result))
        reporter.close()
    finally:
        server.stop()
    sent = [Result.model_validate(json.loads(request.body)["result"], strict=False) for request in server.requests]
    assert sent == RESULTS


def test_a_line_on_the_screen_has_the_comparison() -> None:
    stream = io.StringIO()
    for result in RESULTS:
        SimpleScreenReporter(stream).report(Report(result=result))
    read = [Result.model_validate_json(line) for line in stream.getvalue().splitlines()]
    assert [result.comparison for result in read] == [result.comparison for result in RESULTS]


def test_a_line_on_the_screen_does_not_grow_with_the_iterations() -> None:
    stream = io.StringIO()
    SimpleScreenReporter(stream).report(Report(result=_whole(compared("a", made_pairs(0.0, 9)))))
    document = json.loads(stream.getvalue())
    assert "control_launches" not in document
    assert not any({"control_values", "control_launches"} & set(metric["control"]) for metric in document["metrics"])
    assert document["metrics"][0]["control"]["control_summary"] == {"p50": 1.5}


def test_the_command_on_pages_finds_the_result_and_its_verdict(tmp_path: Path) -> None:
    result = compared("slower", made_pairs(0.02, 20))
    LocalReporter(tmp_path).report(Report(result=result))
    stream = io.StringIO()
    code = reevaluate.reevaluate(tmp_path / result_folder(result), {}, Console(file=stream), tree=tmp_path)
    assert code is ExitCode.REGRESSION
    assert "+1.99 %" in stream.getvalue()
