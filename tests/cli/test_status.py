"""`harness status` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from harness.core.alarm import AlarmStage
from harness.testing.results import DEVICE, ok_result, report_of
from harness.watch.store.state import open_state
from reporters.local import LocalReporter
from tests.watch.watching import alarm, change


def test_a_device_is_shown_by_name_and_identity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown_change = change("5f2b5f2b-mv2")
    with open_state(tmp_path / "watch.db") as state:
        state.alarms.open(shown_change, 1.0)
        state.alarms.update(alarm(AlarmStage.REPORTED, shown_change))
    for named, expected in ((False, shown_change.device), (True, f"Pixel 8 ({shown_change.device})")):
        if named:
            device = DEVICE.model_copy(update={"identity": shown_change.device, "name": "Pixel 8"})
            LocalReporter(tmp_path).report(report_of(ok_result(device=device)))
        with pytest.raises(SystemExit) as ended:
            main(["status", "--local-reporter", str(tmp_path)])
        assert not ended.value.code
        assert f" on {expected}, " in capsys.readouterr().out
