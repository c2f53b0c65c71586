"""`harness self-check` from the command line."""

from __future__ import annotations

import json

from tests.cli.project import Project
from tests.cli.scripts import script, text

SPEC = {
    "model": {"name": "m", "format": "none", "framework": "generic"},
    "tests": [{"metric": "delay", "identifier": "a", "commands": ["{program}"]}],
}


def test_a_self_check_is_shown_stored_and_remembered_by_doctor(project: Project) -> None:
    spec, program = project.write("spec.json", SPEC), script(project, "runner", text())
    done = project.harness("self-check", spec, "--program", program, "--minutes", "0.08", "--seed", "1", "--json")
    assert done.code == 0, done.stderr
    (check,) = json.loads(done.stdout)["self_checks"]
    (benchmark,) = check["sensitivity"]["benchmarks"]
    assert (benchmark["title"], check["schema_version"]) == ("m/a", 2)
    assert benchmark["pairs"] > 0
    assert len(done.read()) == 1
    assert check["identity"] in {path.stem for path in (project.cache / "self-checks").iterdir()}
    doctor = project.harness("doctor")
    assert f"{check['device']} on " in doctor.stdout
    assert "(just now)" in doctor.stdout


def test_a_self_check_whose_program_fails_has_no_good_news(project: Project) -> None:
    spec, program = project.write("spec.json", SPEC), script(project, "runner", text(before="sys.exit(3)"))
    done = project.harness("self-check", spec, "--program", program, "--minutes", "0.08")
    assert done.code == 4
    assert "Nothing could be measured" in done.stdout
    assert "not checked: m/a" in done.stdout


def test_the_built_in_benchmark_is_for_this_machine(project: Project) -> None:
    done = project.harness("self-check", "-p", "android")
    assert done.code == 2
    assert "harness self-check -b FILE -p android" in done.stderr


def test_a_self_check_takes_some_time(project: Project) -> None:
    assert project.harness("self-check", "--minutes", "0").code == 2


def test_a_self_check_has_no_plan(project: Project) -> None:
    done = project.harness("self-check", "--dry-run")
    assert done.code == 2
    assert "no plan to show" in done.stderr
