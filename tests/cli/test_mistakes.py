"""Mistakes at the command line end with words, a remedy and the right exit code."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.cli import app, main
from tests.cli.project import Project, command, generic, observe, one_test
from tests.cli.scripts import git_of_scripts

pytestmark = pytest.mark.slow

GOOD = observe(5, 6, 7)


def test_debug_shows_the_traceback_and_keeps_the_exit_code(project: Project) -> None:
    missing = project.harness("-b", "missing.json", "--debug")
    assert missing.code == 2
    assert "Traceback" in missing.stderr
    assert "missing.json" in missing.stderr
    (project.folder / "results").write_text("a file where a folder should be")
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    assert project.harness("-b", spec, "--debug").code == 3


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_the_exit_code_is_kept_when_the_error_message_cannot_be_written(project: Project, redirected: str) -> None:
    line = ["sh", "-c", f'"$@" {redirected}', "sh", *command("-b", "missing.json")]
    done = subprocess.run(line, cwd=project.folder, env=project.environment, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_mistake_in_the_defaults_of_a_project_is_a_finding_of_doctor_and_stops_no_list(project: Project) -> None:
    file = project.write("harness.toml", 'platform = "androd"\n')
    examined = project.harness("doctor")
    assert examined.code == 3
    assert f"{file}:1: no platform `androd`" in " ".join(examined.stdout.split())
    assert "results folder" in examined.stdout
    assert "missing or wrong" in examined.stdout
    listed = project.harness("list", "platforms")
    assert listed.code == 0
    assert "android" in listed.stdout
    assert f"{file}:1: no platform `androd`" in listed.stderr
    assert project.harness("doctor", "--program", "nothing").code == 2


def test_a_missing_model_file_is_reported(project: Project) -> None:
    for path in ("models/nothing.py", "nothing.json"):
        done = project.harness("export", path)
        assert done.code == 2
        assert f"there is no file {path}" in done.stderr


@pytest.mark.parametrize(
    ("words", "message", "command"),
    [
        (("export",), "requires an argument", "harness export"),
        (("run", "mv2", "--timeout", "x"), 'unable to convert "x" into a number.', "harness run"),
        (("list", "models2"), 'Invalid value "models2"', "harness list"),
    ],
)
def test_a_line_that_cannot_be_parsed_names_the_help(
    words: tuple[str, ...], message: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.endswith(f"\n  hint: `{command} --help` says what it takes\n")


def test_the_hint_of_a_comparison_without_sides_names_the_flags_of_the_readme(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    done = project.harness("compare", spec)
    assert done.code == 2
    assert "--repo-dir FOLDER --control A --treatment B" in done.stderr


def test_a_folder_that_is_given_as_a_program_is_called_one(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    (project.folder / "build").mkdir()
    done = project.harness("run", spec, "--program", "build")
    assert done.code == 2
    assert "build is a folder, and no program" in done.stderr


def test_the_files_to_validate_are_described(project: Project) -> None:
    assert "Specifications, or lists of them" in project.harness("validate", "--help").stdout


@pytest.mark.parametrize("command", ["run", "compare", "watch", "bisect", "status", "report"])
def test_the_help_of_each_flag_is_one_paragraph(command: str) -> None:
    helps = {argument.name: argument.parameter.help or "" for argument in app[command].assemble_argument_collection()}
    assert len(helps) > 3
    assert [name for name, text in helps.items() if "\n" in text.strip()] == []


@pytest.mark.parametrize("words", [("run",), ("self-check",), ("compare", "--self-check")])
def test_a_program_that_nobody_gave_is_a_mistake(project: Project, words: Sequence[str]) -> None:
    done = project.harness(*words, project.write("spec.json", generic(one_test("a", "{program}"))))
    assert done.code == 2
    assert "no program is given" in done.stderr
    assert not done.read(), "nothing was measured"


def test_a_dry_run_of_a_comparison_shows_both_sides_and_measures_nothing(project: Project) -> None:
    trace = project.folder / "started"
    program = project.write("program.sh", f"#!/bin/sh\ntouch {trace}\n")
    program.chmod(0o755)
    other = project.write("other.sh", "#!/bin/sh\n")
    other.chmod(0o755)
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    sides = ("--control-program", program, "--treatment-program", other)
    done = project.harness("compare", "-b", spec, "--dry-run", *sides)
    assert done.code == 0
    for expected in (f"control: program {program}", f"treatment: program {other}", "Plan", "m/a"):
        assert expected in done.stdout
    assert "{program} is not given" not in done.stdout
    assert not trace.exists()
    assert not done.results.exists()


@pytest.mark.parametrize("flags", [("--dry-run",), ()])
def test_a_program_that_cannot_be_executed_is_refused_before_anything_is_measured(
    project: Project, flags: tuple[str, ...]
) -> None:
    program, good = project.write("a program", "#!/bin/sh\n"), project.write("good", "#!/bin/sh\n")
    good.chmod(0o755)
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    for words in (
        ("run", "--program", program),
        ("compare", "--control-program", program, "--treatment-program", good),
        ("compare", "--control-program", good, "--treatment-program", program),
    ):
        done = project.harness(words[0], "-b", spec, *words[1:], *flags)
        assert (done.code, done.read()) == (2, [])
        assert f"the program {program} cannot be executed\n  hint: chmod +x '{program}'\n" in done.stderr


def test_a_run_in_which_nothing_can_start_stores_nothing(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program}"), one_test("b", "{program} 1")))
    done = project.harness("run", "-b", spec)
    assert (done.code, done.read()) == (2, [])
    assert "every benchmark starts {program}\n  hint: name it with --program PATH" in done.stderr
    both = project.write("both.json", generic(one_test("a", "{program}"), one_test("b", "true")))
    assert "`{program}` starts a program, and none is given" in project.harness("run", "-b", both).stdout


def test_a_dry_run_remarks_on_a_missing_program_where_nothing_builds_it(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    assert "{program} is not given" in project.harness("-b", spec, "--dry-run").stdout
    assert "{program} is not given" in project.harness("compare", "-b", spec, "--dry-run", "--self-check").stdout
    clone = git_of_scripts(project)
    commit = project.harness("-b", spec, "--dry-run", "--repo-dir", clone.folder, "--commit", "main")
    assert commit.code == 0
    assert f'commit: main ({clone.commits["broken"][:12]}) "Make it broken"' in commit.stdout
    assert "{program} is not given" not in commit.stdout


@pytest.mark.parametrize("command", [("compare",), ("watch",), ("bisect", "--good", "a", "--bad", "b"), ("run",)])
def test_a_missing_folder_of_recipes_is_rejected(project: Project, command: tuple[str, ...]) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    source = ("--repo-dir", project.folder, "--frameworks-dir", "recipse")
    done = project.harness(*command, "-b", spec, *source)
    assert done.code == 2
    assert "--frameworks-dir: there is no folder recipse" in done.stderr


def test_a_dry_run_of_a_commit_comparison_resolves_the_commits_and_builds_nothing(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", "{program}")))
    clone = git_of_scripts(project)
    subprocess.run(["git", "tag", "v1", clone.commits["base"]], cwd=clone.folder, check=True)
    words = ("compare", "-b", spec, "--dry-run", "--repo-dir", clone.folder, "--control", "v1")
    done = project.harness(*words, "--treatment", clone.commits["slower"])
    assert done.code == 0, done.stderr
    base, slower, same = (clone.commits[state][:12] for state in ("base", "slower", "same"))
    date = r"\d{4}-\d\d-\d\d"
    assert re.search(rf'^control: v1 \({base}\) "Make it base" {date} from git:', done.stdout, re.MULTILINE)
    assert re.search(rf'^treatment: {slower} "Make it slower" {date} from git:', done.stdout, re.MULTILINE)
    assert "{program} is not given" not in done.stdout, "the commit gives it"
    assert not list(project.cache.glob("builds/logs/*"))
    several = project.harness(*words, "--treatment", project.write("list.txt", "main~2\nv1\nmain~1\n"))
    lines = [line for line in several.stdout.splitlines() if line.startswith(("control:", "treatment:"))]
    assert [line.split(' "')[0] for line in lines] == [
        f"control: v1 ({base})",
        f"treatment: main~2 ({slower})",
        f"treatment: v1: skipped, because control and treatment are both {base}",
        f"treatment: main~1 ({same})",
    ]
    unknown = project.harness(*words, "--treatment", "v2")
    assert unknown.code == 2
    assert "has a commit v2" in unknown.stderr
    unclear = project.harness("compare", "-b", spec, "--dry-run")
    assert unclear.code == 2
    assert "nothing to compare" in unclear.stderr
    old, new = project.write("old build", ""), project.write("new", "")
    files = project.harness("compare", "-b", spec, "--control", old, "--treatment", new)
    assert files.code == 2
    assert f"give --control-program '{old}' --treatment-program {new}" in " ".join(files.stderr.split())


@pytest.mark.parametrize(
    "flag", ["--control", "--treatment", "--source", "--control-program", "--treatment-program", "--repo-dir"]
)
def test_a_self_check_rejects_control_and_treatment(project: Project, flag: str) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    value = project.write("program.sh", "#!/bin/sh\n")
    done = project.harness("compare", "-b", spec, "--self_check", flag, value)
    assert done.code == 2
    assert f"{flag} beside --self-check" in done.stderr


@pytest.mark.parametrize("flag", ["remote_reporter", "--local-reporter", "program", "model_cache"])
def test_a_specification_cannot_set_the_results_folder_or_the_program(project: Project, flag: str) -> None:
    inner = generic(one_test("a", GOOD))
    spec = project.write("spec.json", {**inner, "default_args": {flag: "/x"}})
    for arguments in (("-b", spec), ("validate", spec)):
        done = project.harness(*arguments)
        assert done.code == 2
        assert f"/default_args/{flag}" in done.stderr
        assert "command line" in done.stderr


def test_a_secret_in_the_environment_of_a_program_is_not_stored(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    done = project.harness("-b", spec, "--env", "API_TOKEN=hunter2", "PLAIN=seen")
    (result,) = done.read()
    assert result["launches"][0]["env"] == {"API_TOKEN": "***", "PLAIN": "seen"}
    assert "hunter2" not in json.dumps(result)


def test_an_unknown_variable_is_reported_once(project: Project) -> None:
    spec = project.write("spec.json", generic(one_test("a", GOOD)))
    done = project.harness("validate", spec, HARNESS_COLOUR_OF_HORSE="brown")
    assert done.code == 0
    assert done.stderr.count("HARNESS_COLOUR_OF_HORSE") == 1


def test_a_lost_latency_is_not_a_success(project: Project, tmp_path: Path) -> None:
    bad = """PyTorchObserver {"type": "NET", "metric": "latency", "unit": "us", "value": "fast"}"""
    good = """PyTorchObserver {"type": "conv", "metric": "latency", "unit": "us", "value": "3"}"""
    output = project.write("said.txt", f"{good}\n{bad}\n")
    done = project.harness("-b", project.write("spec.json", generic(one_test("a", f"cat {output}"))))
    assert done.code == 4
    assert done.outcomes() == {"a": "failed"}


@pytest.mark.parametrize(
    ("line", "command", "words"),
    [
        ("doctor now", "harness doctor", "`now`"),
        ("devices phone1 phone2", "harness devices", "`phone1`, `phone2`"),
        ("lab return phone lab:8786 please", "harness lab return", "`please`"),
    ],
)
def test_words_behind_all_that_a_command_takes_are_named(
    line: str, command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error == f"harness: `{command}` takes no {words}\n  hint: `{command} --help` says what it takes\n"


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("--devics", "did you mean --devices?"),
        ("--marign", "did you mean --margin?"),
        ("--modelcache", "did you mean --model-cache?"),
        *((flag, "`harness run --help` lists every flag") for flag in ("--foo", "--iter", "--bar", "-x")),
    ],
)
def test_a_misspelt_flag_gets_a_suggestion_or_a_pointer_to_the_help(
    flag: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["-b", "spec.json", flag])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"harness: unknown option {flag}\n  hint: {hint}\n"


def test_pairs_of_a_ranking_are_its_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rank", "spec.json", "--pairs", "20"])
    assert ended.value.code == 2
    assert "hint: a ranking measures in rounds" in capsys.readouterr().err


def test_a_watcher_without_a_document_says_what_has_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["watch", "-b", "spec.json", "--json"])
    assert ended.value.code == 2
    hint = "`harness status --json` says what a watcher does; --simple-screen-reporter writes a line a result"
    assert capsys.readouterr().err == f"harness: unknown option --json\n  hint: {hint}\n"
