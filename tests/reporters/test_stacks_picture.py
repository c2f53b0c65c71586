"""The picture of sampled stacks on the page of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.probe import Artifact, ProbePass
from harness.core.result import Report
from harness.presentation.functions import build_functions_table
from harness.probes.stacks import Frame, StackProfile
from harness.testing.results import ok_result
from reporters.document.picture import Label, Rectangle
from reporters.html.page import render
from reporters.html.pictures.stacks import WIDTH, draw_stacks
from reporters.local import LocalReporter
from reporters.pages import ReportedRun


def sampled(*stacks: tuple[int, tuple[str, ...]]) -> ProbePass:
    """Return a pass with so many samples of each stack, which begins with the innermost function."""
    profile = StackProfile()
    for count, names in stacks:
        for _ in range(count):
            profile.add([Frame(name, "/lib/libnet.so") for name in names])
    return ProbePass(
        probe="perf-record",
        samples=profile.samples,
        functions=profile.list_functions(),
        stacks=profile.list_frames(),
        artifacts=(Artifact(name="perf-record.folded.txt", content=b"x").describe(),),
    )


def test_widths_are_shares_and_callees_lie_below_their_callers() -> None:
    picture = draw_stacks(sampled((3, ("conv", "run", "main")), (1, ("pool", "run", "main"))), "s0")
    assert picture is not None
    cells = {mark.title.partition(":")[0]: mark for mark in picture.marks if isinstance(mark, Rectangle)}
    assert {name: cell.width for name, cell in cells.items()} == pytest.approx(
        {"main": WIDTH, "run": WIDTH, "conv": 0.75 * WIDTH, "pool": 0.25 * WIDTH}
    )
    assert cells["pool"].x == pytest.approx(0.75 * WIDTH)
    assert cells["main"].y < cells["run"].y < cells["conv"].y == cells["pool"].y
    assert cells["conv"].title == "conv: 75.0 %"
    assert [mark.text for mark in picture.marks if isinstance(mark, Label)] == ["main", "run", "conv", "pool"]


def test_deep_stacks_with_hardly_a_sample_cost_no_height() -> None:
    deep = tuple(f"f{number}" for number in range(100))
    picture = draw_stacks(sampled((99, ("conv", "main")), (1, deep)), "s0")
    assert picture is not None
    assert picture.height < 100


def test_a_pass_without_samples_has_no_picture() -> None:
    assert draw_stacks(ProbePass(probe="perf-stat"), "s0") is None


def test_pages_show_functions_stacks_and_files(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    result = ok_result().model_copy(update={"probes": (sampled((3, (hostile, "main"))),)})
    folder = Path(
        LocalReporter(tmp_path / "results").report(
            Report(result=result, artifacts=(Artifact(name="perf-record.folded.txt", content=b"x"),))
        )
    )
    assert (folder / "artifacts" / "perf-record.folded.txt").read_bytes() == b"x"
    page = render(
        ReportedRun([result], tmp_path, finished=True, places={result.uid: folder}, page=tmp_path / "page.html")
    )
    assert "Stacks of perf-record" in page
    assert "artifacts/perf-record.folded.txt" in page
    assert hostile not in page


def test_the_table_has_as_many_functions_as_wanted() -> None:
    result = ok_result().model_copy(update={"probes": (sampled((3, ("conv",)), (2, ("pool",)), (1, ("relu",))),)})
    names = {column.name: [cell.text for cell in column.cells] for column in build_functions_table([result], 2)}
    assert names["function"] == ["conv", "pool"]
    assert names["share"] == ["50.0 %", "33.3 %"]
    assert names["module"] == ["libnet.so", "libnet.so"]
