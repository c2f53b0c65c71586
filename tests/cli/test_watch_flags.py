"""What the continuous mode refuses before it touches anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from tests.cli.project import Project, generic, one_test
from tests.e2e.repositories import need, run


@pytest.fixture
def arguments(project: Project, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Flags of a specification with two benchmarks, and of a repository."""
    need("git")
    for name, value in project.environment.items():
        if name.startswith("HARNESS_"):
            monkeypatch.setenv(name, value)
    spec = project.write("spec.json", generic(one_test("a", "{program}"), one_test("b", "{program}")))
    for name in ("old", "new"):
        project.write(name, "#!/bin/sh\n").chmod(0o755)
    monkeypatch.chdir(project.folder)
    folder = project.folder / "user"
    folder.mkdir()
    run(folder, "git", "init", "--quiet", "--initial-branch=main")
    run(folder, "git", "commit", "--quiet", "--allow-empty", "-m", "Begin")
    return ["-b", str(spec), "--repo_dir", str(folder)]


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(str(ended.value.code)), capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--dry_run"], "depends on commits to come"),
        (["--self_check"], "compares the installed runner with itself"),
        (["--control_program", "./old", "--treatment_program", "./new"], "no ready programs"),
        (["--since", "main~3", "--commit", "main~3"], "both say where to begin"),
        (["--interval", "-1"], "is no interval"),
        (["--interval", "nan"], "is no interval"),
        (["--step", "0"], "names no commit"),
        (["--on_alarm", ""], "names no command"),
        (["--on_alarm", "tell 'me"], "close every quotation mark"),
        (["--on_alarm", "./nosuch.sh --loud"], "--on-alarm ./nosuch.sh: there is no such program"),
        (["--on_alarm", "./spec.json"], "--on-alarm ./spec.json: there is no such program"),
        (["--hook", "ftp://example.org/secret"], "is no http(s) URL"),
        (["--intervall", "5"], "did you mean --interval?"),
        (["--platforms", "host", "--reboot"], "--reboot: platform `host` cannot do that"),
        (["--platforms", "host", "android", "--reboot", "--interval", "-1"], "is no interval"),
    ],
)
def test_flags_without_effect_are_rejected(
    arguments: list[str], project: Project, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    code, error = run_command(capsys, "watch", *arguments, *flags)
    assert code == 2
    assert message in error
    assert "ftp://" not in error, "paths of web hooks are secrets"
    assert not (project.folder / "results" / "watch.db").exists(), "nothing was begun"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--dry_run"], "depends on the answers"),
        (["--control", "v1"], "give the ends with --good and --bad"),
        (["--treatment", "v2"], "give the ends with --good and --bad"),
    ],
)
def test_bisect_accepts_only_good_and_bad(
    arguments: list[str], capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    code, error = run_command(capsys, "bisect", *arguments, "--good", "v1", "--bad", "v2", *flags)
    assert code == 2
    assert message in error


@pytest.mark.parametrize("command", ["watch", "bisect"])
def test_a_folder_without_a_repository_is_an_error(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    ends = ("--good", "v1", "--bad", "v2") if command == "bisect" else ()
    code, error = run_command(capsys, command, *arguments[:3], str(tmp_path), *ends)
    assert code == 2
    assert f"{tmp_path} is not a git repository" in error


@pytest.mark.parametrize("command", ["watch", "bisect"])
def test_a_source_of_commits_is_required(
    arguments: list[str], capsys: pytest.CaptureFixture[str], command: str
) -> None:
    ends = ("--good", "v1", "--bad", "v2") if command == "bisect" else ()
    code, error = run_command(capsys, command, *arguments[:2], *ends)
    assert code == 2
    assert "--repo-dir" in error


def test_status_without_a_state_file_is_an_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, error = run_command(capsys, "status", "--state", str(tmp_path / "none.db"))
    assert code == 2
    assert "there is no state" in error
    assert not (tmp_path / "none.db").exists()
