"""`docs/scripting.md`: its programs run, and what it says about names is so."""

from __future__ import annotations

import json
import runpy
import shlex
from pathlib import Path

import pytest
import yaml

from harness.cli import app
from tests.cli import scripts
from tests.cli.project import Project, generic, observe, one_test
from tests.docs.pages import ROOT, blocks


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


def test_the_hook_calls_a_command_that_takes_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (shown,) = (block for block in blocks("scripting.md", "yaml") if not block.label)
    assert yaml.safe_load(shown.text)["repos"][0]["hooks"][0]["id"] == hook["id"]
    program, *words = shlex.split(hook["entry"])
    assert program == "harness"
    command, bound, _ = app.parse_args([*words, "a.json", "b.yaml"], exit_on_error=False, print_error=False)
    assert command.__name__ == "validate"
    assert bound.args == ("a.json", "b.yaml")
    assert bound.arguments["each"] is True


def test_the_workflow_gives_the_action_inputs_that_it_takes() -> None:
    action = yaml.safe_load((ROOT / ".github" / "actions" / "compare" / "action.yml").read_text())
    (shown,) = (block for block in blocks("scripting.md", "yaml") if block.label == "workflow")
    step = yaml.safe_load(shown.text)["jobs"]["compare"]["steps"][-1]
    assert "/.github/actions/compare@" in step["uses"]
    assert step["with"].keys() <= action["inputs"].keys()
    assert {name for name, field in action["inputs"].items() if field.get("required")} <= step["with"].keys()
