"""Lines below a table of measurements."""

from __future__ import annotations

from harness.core.benchmark import Export
from harness.core.cached_files import ExportReport
from harness.core.note import Note
from harness.core.result import FileInfo, Result, without_samples
from harness.presentation.folded_remarks import fold_remarks
from harness.presentation.remarks import list_remarks
from harness.testing.results import ok_result


def _exported(md5: str, **versions: str) -> Result:
    export = ExportReport(
        export=Export(definition="mv2", recipe="xnnpack_q8"), versions=versions, md5=md5, size_bytes=1
    )
    file = FileInfo(filename="mv2_q8.pte", md5=md5, size_bytes=1, source="export", export=export)
    return ok_result().model_copy(update={"files": {"files.model": file}})


def test_rows_whose_model_was_exported_by_other_versions_say_so() -> None:
    old, new = (
        _exported("a" * 32, executorch="1.4.1", torch="2.13.0"),
        _exported("b" * 32, executorch="1.5.1", torch="2.13.0"),
    )
    lines = [line.text for line in list_remarks([old, new]) if "mv2_q8.pte" in line.text]
    assert lines == ["· mv2/mv2_q8.pte: not the same bytes in all rows: exported by executorch 1.4.1 and 1.5.1"]


def test_equal_bytes_are_one_model_whoever_exported_them() -> None:
    results = [_exported("a" * 32, executorch=version) for version in ("1.4.1", "1.5.1")]
    assert not [line for line in list_remarks(results) if "mv2_q8.pte" in line.text]


def test_medians_of_one_launch_share_a_line_that_says_why_they_have_no_interval() -> None:
    single, repeated = ok_result(launches=1), ok_result(launches=2)
    single = single.model_copy(update={"benchmark": single.benchmark.model_copy(update={"launches": 1})})
    repeated = repeated.model_copy(update={"benchmark": repeated.benchmark.model_copy(update={"launches": 2})})
    for shown in (single, without_samples(single)):
        lines = [line.text for line in fold_remarks([shown, shown, repeated]) if "one launch" in line.text]
        assert lines == ["· 2 of 3: one launch: no interval over launches; set `repeat`"]
    assert not [line for line in fold_remarks([repeated]) if "one launch" in line.text]


def test_notes_that_stand_for_several_are_counted_once() -> None:
    notes = [
        Note(code="bad_lines", message="value NaN is not finite (and 1 more like it)", trust=False),
        Note(code="bad_lines", message="no JSON (and 2 more like it)", trust=False),
    ]
    results = [ok_result(uid=str(number), notes=[note]) for number, note in enumerate(notes)]
    (line,) = [line.text for line in fold_remarks(results) if "NaN" in line.text]
    assert line.endswith("value NaN is not finite (and 4 more like it)")
