from __future__ import annotations

import json
import subprocess

import pytest

from tests.cli.project import Project, command, generic, observe, one_test

GOOD = observe(1, 2, 3, 4, 5, 6)


def test_help_can_be_read_without_a_specification(project: Project) -> None:
    done = project.harness("--help")
    assert done.code == 0
    assert "validate" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--local_reporter", "--local-reporter"])
def test_flags_are_known_with_underscores_and_dashes(project: Project, flag: str) -> None:
    spec = project.write("spec.json", generic(one_test("good", GOOD)))
    done = project.harness("-b", spec, flag, project.folder / "elsewhere")
    assert done.code == 0, done.stderr
    assert list((project.folder / "elsewhere").rglob("result.json"))


def test_a_misspelt_flag_is_an_error_with_a_suggestion(project: Project) -> None:
    done = project.harness("-b", "spec.json", "--local_reportr", "x")
    assert done.code == 2
    assert "local-reporter" in done.stderr


def test_an_unsupported_fai_pep_flag_is_rejected_with_an_explanation(project: Project) -> None:
    done = project.harness("-b", "spec.json", "--hash_platform_mapping", "x")
    assert done.code == 2
    assert "--hash-platform-mapping" in done.stderr


def test_a_token_in_arguments_is_rejected_and_not_shown(project: Project) -> None:
    done = project.harness("-b", "spec.json", "--remote_access_token", "s3cret")
    assert done.code == 2
    assert "HARNESS_REMOTE_TOKEN" in done.stderr
    assert "s3cret" not in done.stderr


@pytest.mark.slow
def test_a_missing_specification_is_a_usage_error(project: Project) -> None:
    assert project.harness("run").code == 2
    assert project.harness("-b", "missing.json").code == 2


@pytest.mark.slow
def test_validate_reports_every_problem(project: Project) -> None:
    spec = project.write("spec.json", generic({**one_test("a", GOOD), "iterr": 3}, {"metric": "delay"}))
    done = project.harness("validate", spec)
    assert done.code == 2
    assert "did you mean `iter`" in done.stderr
    assert "spec.json:" in done.stderr
    assert "/tests/1" in done.stderr


@pytest.mark.slow
def test_validate_lists_the_benchmarks_of_a_valid_file(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a-{n}", GOOD, matrix={"n": [1, 2, 3]})))
    done = project.harness("validate", spec)
    assert done.code == 0
    assert "a-3" in done.stdout


@pytest.mark.slow
def test_a_dry_run_shows_the_plan_and_writes_nothing(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    done = project.harness("-b", spec, "--dry_run")
    assert done.code == 0
    assert "m/a" in done.stdout
    assert not done.results.exists()


@pytest.mark.slow
def test_standard_output_has_one_line_of_json_per_result_and_nothing_else(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD), one_test("b", GOOD)))
    done = project.harness("-b", spec, "--simple_screen_reporter")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["benchmark"]["identifier"] for line in lines] == ["a", "b"]


@pytest.mark.slow
def test_patterns_select_benchmarks(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("fast", GOOD), one_test("slow", GOOD)))
    assert project.harness("-b", spec, "--skip", "*slow").outcomes() == {"fast": "ok"}
    nothing = project.harness("-b", spec, "--only", "*medium*")
    assert nothing.code == 2
    assert "m/fast" in nothing.stderr


@pytest.mark.slow
def test_default_args_of_a_file_override_configuration_and_are_overridden_by_flags(project: Project) -> None:
    inner = generic(one_test("a", GOOD))
    project.write("config/config.json", {"user": "config"})
    spec = project.write("spec.json", {**inner, "default_args": {"--user": "file"}})
    assert project.harness("-b", spec).read()[-1]["meta"]["user"] == "file"
    assert project.harness("-b", spec, "--user", "flag").read()[-1]["meta"]["user"] == "flag"


def test_an_unknown_key_in_saved_defaults_is_an_error(project: Project) -> None:
    project.write("config/config.json", {"model_cach": "x"})
    done = project.harness("-b", project.write("spec.json", generic(one_test("a", GOOD))))
    assert done.code == 2
    assert "model_cache" in done.stderr


@pytest.mark.slow
def test_reset_options_deletes_the_saved_defaults(project: Project) -> None:
    saved = project.write("config/config.json", {"nonsense": 1})
    done = project.harness("-b", project.write("spec.json", generic(one_test("a", GOOD))), "--reset_options")
    assert done.code == 0, done.stderr
    assert not saved.exists()


def test_init_does_not_block_without_a_terminal(project: Project) -> None:
    done = project.harness("init")
    assert done.code == 2
    assert "no terminal" in done.stderr


@pytest.mark.slow
def test_a_program_can_be_given_by_flag_or_info_json(project: Project) -> None:
    program = project.folder / "my runner"
    program.write_text(f"#!/bin/sh\nexec {observe(1, 2, 3, 4, 5)}\n")
    program.chmod(0o755)
    spec = project.write("spec.json", generic(one_test("a", "{program} --iter 3")))
    assert project.harness("-b", spec, "--program", program).outcomes() == {"a": "ok"}
    assert project.harness("-b", spec, "--pre_built_binary", program).code == 0
    info = {"treatment": {"commit": "abc", "commit_time": 7, "programs": {"program": {"location": str(program)}}}}
    done = project.harness("-b", spec, "--info", json.dumps(info))
    assert done.code == 0, done.stderr
    assert done.read()[-1]["build"]["commit"] == "abc"


@pytest.mark.slow
def test_a_run_leaves_no_temporary_files(project: Project) -> None:
    temporary = project.folder / "tmp"
    temporary.mkdir()
    spec = project.write("spec.json", generic(one_test("a", GOOD), one_test("b", "false")))
    project.harness("-b", spec, TMPDIR=str(temporary))
    assert not [path for path in temporary.rglob("*") if path.is_file() or path.parent != temporary]
    assert not list((project.cache / "host" / "sessions").iterdir())


@pytest.mark.slow
def test_a_run_works_without_a_user_name(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    environment = {name: value for name, value in project.environment.items() if name not in {"USER", "LOGNAME"}}
    done = subprocess.run(command("-b", spec), env=environment, cwd=project.folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_devices_shows_this_machine(project: Project) -> None:
    done = project.harness("devices")
    assert done.code == 0
    assert "identity" in done.stdout


@pytest.mark.slow
def test_an_absent_device_is_an_error(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    done = project.harness("-b", spec, "--device", "phone-7")
    assert done.code == 3
    assert "phone-7" in done.stderr


@pytest.mark.slow
def test_doctor_lists_installed_components(project: Project) -> None:
    done = project.harness("doctor")
    assert "executorch" in done.stdout
    assert done.code in {0, 3}
