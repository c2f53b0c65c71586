"""The folder of an alarm: what is in it, and which report stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from harness.core.alarm import AlarmReport
from harness.core.errors import ReporterFailed
from harness.core.values import replace_surrogates
from reporters.alarms.folder import DOCUMENT, PAGE, AlarmFolder
from tests.reporters.alarms.alarm_samples import bisected_step, changed, closed, found_step
from tests.reporters.alarms.any_alarm import reports


def write(report: AlarmReport, folder: Path) -> Path:
    return Path(AlarmFolder(folder).report(report))


def _kept(page: Path) -> AlarmReport:
    return AlarmReport.model_validate_json((page.parent / DOCUMENT).read_bytes())


def test_a_report_is_a_page_a_picture_and_a_document(tmp_path: Path) -> None:
    page = write(found_step(), tmp_path / "alarms")
    assert page == tmp_path / "alarms" / found_step().alarm.identity / PAGE
    assert sorted(file.name for file in page.parent.iterdir()) == ["alarm.json", "alarm.md", "series.svg"]
    assert _kept(page) == found_step()
    assert "](series.svg)" in page.read_text(encoding="utf-8")


def test_a_later_event_replaces_an_earlier_one(tmp_path: Path) -> None:
    for report in (found_step(), bisected_step(), closed()):
        page = write(report, tmp_path)
        assert _kept(page) == report
    assert len(list(page.parent.iterdir())) == 3
    assert page.read_text(encoding="utf-8").startswith("# ✓ ")


def test_late_notifications_replace_nothing(tmp_path: Path) -> None:
    page = write(bisected_step(), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert write(found_step(), tmp_path) == page
    assert page.read_text(encoding="utf-8") == text
    assert _kept(page) == bisected_step()


def test_a_later_report_of_an_earlier_version_is_kept(tmp_path: Path) -> None:
    page = write(found_step(), tmp_path)
    (page.parent / DOCUMENT).write_text('{"schema_version": "1.0", "event": "closed", "why": "over"}', encoding="utf-8")
    write(bisected_step(), tmp_path)
    assert '"why": "over"' in (page.parent / DOCUMENT).read_text(encoding="utf-8")


def test_the_same_event_again_is_written_again(tmp_path: Path) -> None:
    page = write(found_step(), tmp_path)
    page.unlink()
    write(found_step(), tmp_path)
    assert page.exists()


def test_a_document_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    page = write(closed(), tmp_path)
    (page.parent / DOCUMENT).write_text('{"schema_version": "9.0"}', encoding="utf-8")
    write(found_step(), tmp_path)
    assert _kept(page) == found_step()


@pytest.mark.parametrize("identity", ["../../etc", ".", "a/b", "x" * 400])
def test_no_identity_escapes_the_folder(tmp_path: Path, identity: str) -> None:
    page = write(changed(found_step(), identity=identity), tmp_path)
    assert page.parent.parent == tmp_path
    assert page.resolve().is_relative_to(tmp_path)


def test_a_path_that_is_not_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "alarms").write_text("", encoding="utf-8")
    with pytest.raises(ReporterFailed, match=r"cannot write the report of an alarm into .*alarms") as caught:
        write(found_step(), tmp_path / "alarms")
    assert caught.value.hint


@pytest.mark.slow
@given(reports)
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None, max_examples=25
)
def test_any_alarm_round_trips_through_its_document(tmp_path: Path, report: AlarmReport) -> None:
    page = write(report, tmp_path / str(len(list(tmp_path.iterdir()))))
    assert _kept(page) == replace_surrogates(report)
