"""What the rig counts: it has to see the faults that it looks for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from tests.benchmarks.lab.rig import Rig, count, script


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    (tmp_path / "busy").mkdir()
    return Rig(tmp_path, hosts=1, devices=1, classes=1)


def launch(rig: Rig, seconds: float) -> subprocess.Popen[bytes]:
    words = ["sh", "-c", script(rig, seconds)]
    return subprocess.Popen(words, env={**os.environ, "RIG_DEVICE": "h1-0"}, stdout=subprocess.PIPE)


@pytest.mark.skipif(shutil.which("flock") is None, reason="flock is missing: install util-linux")
def test_a_device_that_is_used_by_two_is_seen(rig: Rig) -> None:
    with launch(rig, 0.5) as alone:
        assert alone.wait(30) == 0
    assert count(rig, [1.0])["conflicts"] == 0
    with launch(rig, 3) as first, launch(rig, 3) as second:
        assert sorted((first.wait(30), second.wait(30))) == [0, 77]
    assert count(rig, [1.0])["conflicts"] == 1


def test_jobs_that_are_lost_or_stored_twice_are_seen(rig: Rig) -> None:
    for number, identifier in enumerate(("j1", "j2", "j2")):
        file = rig.folder / "results" / str(number) / "result.json"
        file.parent.mkdir(parents=True)
        result = {"outcome": "ok", "benchmark": {"identifier": identifier}, "device": {"kind": "class 0"}}
        file.write_text(json.dumps(result))
    counts = count(rig, [1.0, 1.0, 1.0])
    assert (counts["lost"], counts["twice"], counts["outcomes"]) == (1, 1, {"ok": 3})
