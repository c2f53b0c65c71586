"""`docs/scripting.md`: its programs run, and what it says about names is so."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

from tests.cli import scripts
from tests.cli.project import Project, generic, observe, one_test
from tests.docs.pages import blocks


def test_the_programs_of_the_page_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, tmp_path / "cache")
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        scripts.script(project, name, scripts.text(1000.0))
    spec = generic(one_test("quick", "{program}"))
    programs = [block.text for block in blocks("scripting.md", "python") if block.label == "run"]
    assert len(programs) == 3
    project.write("spec.json", generic(one_test("quick", observe(1, 2, 3))))
    project.write("program.py", programs[0])
    runpy.run_path("program.py")
    assert "m/quick 2.0 us" in capsys.readouterr().out
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    project.write("program.py", "import harness\n" + programs[1])
    runpy.run_path("program.py")
    assert "m/quick no change" in capsys.readouterr().out
    project.write("program.py", "import harness\n" + programs[2])
    runpy.run_path("program.py")
    assert "quick" in capsys.readouterr().out
