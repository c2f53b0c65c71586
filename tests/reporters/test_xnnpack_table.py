"""The table of XNNPACK's README: figures of a run above those that were published."""

from __future__ import annotations

from harness.core.note import Note
from harness.core.outcome import Outcome
from harness.core.result import Result
from harness.core.same_work import SameWork, WorkVerdict
from harness.testing.results import failed_result, ok_result
from reporters import xnnpack_table


def measured(definition: str, backend: str, *samples: float) -> Result:
    result = ok_result(model=f"xnnpack_{definition}", identifier=f"{definition}-{backend}", samples=samples)
    return placed(result, backend)


def placed(result: Result, backend: str, threads: int = 1) -> Result:
    info = result.benchmark.model_copy(update={"axes": {"backend": backend}, "threads": threads})
    return result.model_copy(update={"benchmark": info})


def rows(*results: Result) -> dict[tuple[str, str], list[str]]:
    text = xnnpack_table.render(results).texts[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return {(model, device): rest for model, device, *rest in cells[2:]}


def test_averages_stand_above_the_published_ones() -> None:
    table = rows(measured("mv2", "portable", 450.0, 452.0), measured("mv2", "xnnpack_fp32", 3.25, 3.35))

    own = next(cells for (model, device), cells in table.items() if model == "MobileNet V2 1.0" and device[0] != "*")
    assert own == ["451", "3.30", "", ""]
    assert table["MobileNet V2 1.0", "*Pixel 3a (XNNPACK's README)*"] == ["", "55", "", ""]
    assert not [model for model, _ in table if model == "MobileNet V3 Large"]


def test_failures_doubts_and_other_outputs_are_marked() -> None:
    doubt = Note(code="disturbed", message="another program used the CPU", trust=False)
    doubtful = measured("mv3_small", "xnnpack_fp32", 1.0).model_copy(update={"notes": (doubt,)})
    different = measured("mv3_small", "lite_interpreter", 2.0).model_copy(
        update={"same_work": SameWork(verdict=WorkVerdict.DIFFERENT, reason="by 10 %")}
    )
    crashed = placed(failed_result(model="xnnpack_mv3_small", identifier="mv3_small-xnnpack_q8"), "xnnpack_q8")

    table = rows(doubtful, different, crashed)
    own = next(cells for (_, device), cells in table.items() if device[0] != "*")
    assert own == ["", "1.00 !", Outcome.CRASHED.words, "2.00 ≠"]


def test_what_has_no_place_is_counted() -> None:
    others = (placed(measured("mv2", "portable", 1.0), "portable", threads=2), ok_result(model="resnet18"))
    run = xnnpack_table.render([measured("mv2", "portable", 1.0), *others])

    assert run.omitted == "2 other results"


def test_names_do_not_break_the_table() -> None:
    result = measured("mv2", "portable", 1.0)
    assert result.device is not None
    named = result.model_copy(update={"device": result.device.model_copy(update={"name": "a|b*c\n_"})})
    text = xnnpack_table.render([named]).texts[0]

    assert "| MobileNet V2 1.0 | a\\|b\\*c" in text
    assert all(line.count("|") - line.count("\\|") == 7 for line in text.splitlines() if line[:1] == "|")
