"""Defaults of a project stand in a file of TOML, above the saved ones and below the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import layers
from harness.config.arguments import resolve_settings
from harness.config.flags import InspectFlags
from harness.config.options import OptionTable
from harness.config.project import read_project
from harness.config.settings import Settings
from harness.core.errors import UsageError

TABLE = OptionTable(Settings)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a repository, two levels below its root."""
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "a" / "b").mkdir(parents=True)
    return tmp_path / "repository" / "a" / "b"


def resolved(folder: Path, **environment: str) -> Settings:
    return layers.resolve(
        {},
        table=TABLE,
        config={"timeout": 5, "cooldown": 5},
        environment=environment,
        default_args={},
        project=read_project(folder, TABLE),
    )


def test_a_project_is_above_the_saved_defaults_and_below_the_environment(folder: Path) -> None:
    (folder / "harness.toml").write_text("# ours\ntimeout = 60\nlock-timeout = 7 # s\n")
    settings = resolved(folder, HARNESS_LOCK_TIMEOUT="8")
    assert (settings.timeout, settings.cooldown, settings.lock_timeout) == (60, 5, 8)
    assert settings.requested == frozenset()


def test_the_nearest_file_up_to_the_root_of_the_repository_counts(folder: Path) -> None:
    root = folder.parents[1]
    (root.parent / "harness.toml").write_text("timeout = 1")
    assert resolved(folder).timeout == 5
    (root / "pyproject.toml").write_text("[project]\nname = 'edge-harness-demo'\n[tool.edge-harness]\ntimeout = 2\n")
    assert resolved(folder).timeout == 2
    (folder.parent / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert resolved(folder).timeout == 2
    (folder / "harness.toml").write_text("timeout = 3")
    assert resolved(folder).timeout == 3


def test_a_folder_in_no_repository_reads_nothing_above_it(tmp_path: Path) -> None:
    (tmp_path / "harness.toml").write_text("timeout = 1")
    (tmp_path / "below").mkdir()
    assert read_project(tmp_path / "below", TABLE) is None
    assert resolved(tmp_path).timeout == 1


def test_paths_are_relative_to_the_file_and_lists_and_tables_are_toml(folder: Path) -> None:
    runner = folder.parent / "runner"
    runner.write_text("")
    text = """
        local-reporter = "results"
        only = ["a*", "b"]
        program = { program = "runner" }
        reporters = ["html=page.html"]
        [env]
        A = "1"
    """
    (folder.parent / "harness.toml").write_text(text)
    settings = resolved(folder)
    assert settings.local_reporter == folder.parent / "results"
    assert settings.only == ("a*", "b")
    assert settings.program == {"program": runner}
    assert settings.reporters == {"html": "page.html"}
    assert settings.env == {"A": "1"}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("\ntimeoutt = 60", ":2: no setting `timeoutt`", "did you mean `timeout`?"),
        ("pairs = 9", ":1: `pairs` belongs on the command line", "remove it, and give --pairs to the commands"),
        ("base_commit = 'a'", ":1: `base_commit` belongs on the command line", "give --base-commit to the commands"),
        ("rounds = 3", ":1: `rounds` belongs on the command line", "give --rounds to the commands"),
        ("dry-run = true", ":1: `dry-run` belongs on the command line", "remove it"),
        ("# x\n\ntimeout = -1", ":3: --timeout -1: input should be greater than 0", "`harness run --help`"),
        ('cpus = "x"', ":1: cpus: `x` is no list of CPUs", "as in 2,3"),
        ("timeout = \nuser = 1", "line 1", "file of TOML"),
    ],
)
def test_a_mistake_names_file_line_key_and_remedy(folder: Path, text: str, message: str, hint: str) -> None:
    file = folder / "harness.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        resolved(folder)
    assert error.value.message.startswith(str(file))
    assert message in error.value.message
    assert hint in (error.value.hint or "")


def test_the_table_with_an_underscore_is_a_mistake_and_entry_points_are_none(folder: Path) -> None:
    file = folder / "pyproject.toml"
    file.write_text("[project.entry-points.'edge_harness.platforms']\nx = 'x:create'\n")
    resolved(folder)
    file.write_text("[project]\nname = 'x'\n\n[tool.edge_harness]\ntimeout = 60\n")
    with pytest.raises(UsageError) as error:
        resolved(folder)
    assert error.value.message == f"{file}:4: no table tool.edge_harness"
    assert error.value.hint == "write [tool.edge-harness]"


MISTAKES = """
timeoutt = 60
dry-run = true
cpus = "x"
timeout = -1
lock-timeout = 7
"""


@pytest.mark.parametrize(("name", "header"), [("harness.toml", ""), ("pyproject.toml", "[tool.edge-harness]")])
def test_all_mistakes_are_told_at_once_with_line_and_remedy(folder: Path, name: str, header: str) -> None:
    file = folder / name
    file.write_text(header + MISTAKES)
    with pytest.raises(UsageError) as error:
        resolved(folder)
    expected = [
        f"4 problems in {name}",
        f"{file}:2: no setting `timeoutt`",
        "    hint: did you mean `timeout`?",
        f"{file}:3: `dry-run` belongs on the command line",
        "    hint: remove it",
        f"{file}:4: cpus: `x` is no list of CPUs",
        "    hint: as in 2,3 or 0-3 or none, or prime, big, little; the largest number is 4095",
        f"{file}:5: --timeout -1: input should be greater than 0",
        "    hint: `harness run --help` says what --timeout takes",
    ]
    assert str(error.value).splitlines() == expected


def test_two_wrong_values_are_told_at_once(folder: Path) -> None:
    (folder / "harness.toml").write_text("cooldown = -1\ntimeout = -1\n")
    with pytest.raises(UsageError, match=r"^2 problems in harness\.toml\n") as error:
        resolved(folder)
    assert "--cooldown -1" in error.value.message
    assert "--timeout -1" in error.value.message


def test_a_wrong_value_that_a_variable_replaces_is_no_mistake_of_the_run(folder: Path) -> None:
    (folder / "harness.toml").write_text("timeout = -1")
    assert resolved(folder, HARNESS_TIMEOUT="3").timeout == 3


def test_a_mistake_in_a_variable_names_the_variable(tmp_path: Path) -> None:
    for variable, value in (("HARNESS_TIMEOUT", "-1"), ("HARNESS_CPUS", "x")):
        with pytest.raises(UsageError, match=f"^{variable}: "):
            resolved(tmp_path, **{variable: value})


def test_an_unknown_platform_is_told_with_its_line_and_beside_the_other_mistakes(folder: Path) -> None:
    file = folder / "harness.toml"
    file.write_text('# x\nplatform = "androd"\n')
    with pytest.raises(UsageError) as error:
        resolved(folder)
    assert error.value.message == f"{file}:2: no platform `androd`"
    assert error.value.hint == "did you mean `android`?"
    file.write_text('platform = "androd"\ntimeout = -1\n')
    with pytest.raises(UsageError, match=r"^2 problems in harness\.toml\n.*:1: no platform `androd`\n"):
        resolved(folder)
    file.write_text('platform = "androd"\nlab = "https://lab:1"\n')
    assert resolved(folder).platform == "androd"


def test_mistakes_of_variables_and_of_the_file_are_told_at_once(folder: Path) -> None:
    with pytest.raises(UsageError) as error:
        resolved(folder, HARNESS_TIMEOUT="abc", HARNESS_PLATFORM="androd", HARNESS_DEVICS="x")
    assert error.value.message.startswith("3 problems in the environment\nHARNESS_TIMEOUT: --timeout abc: ")
    assert "\nHARNESS_PLATFORM: no platform `androd`\n    hint: did you mean `android`?\n" in error.value.message
    assert "\nenvironment: no setting `HARNESS_DEVICS`\n" in error.value.message
    (folder / "harness.toml").write_text("cooldown = -1\n")
    with pytest.raises(UsageError, match=r"^2 problems in harness\.toml and the environment\n"):
        resolved(folder, HARNESS_TIMEOUT="abc")


def test_settings_know_the_places_of_what_files_and_variables_set(folder: Path) -> None:
    file = folder / "harness.toml"
    file.write_text('only = "x"\nskip = "y"\n')
    assert resolved(folder, HARNESS_SKIP="z").places == {"only": f"{file}:1", "skip": "HARNESS_SKIP"}


def test_verbose_says_which_file_was_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HARNESS_CONFIG_DIR", str(folder))
    (folder / "harness.toml").write_text("verbose = true\ntimeout = 9")
    assert resolve_settings(InspectFlags()).timeout == 9
    assert str(folder / "harness.toml") in capsys.readouterr().err
