"""The command that signs an app again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.core.errors import EnvironmentProblem, UsageError
from platforms.ios.apps.signing import sign_app, signing_words

PYTHON = f"'{sys.executable}' -c"


def test_the_command_gets_the_folder_of_the_app_and_no_shell_runs_it(tmp_path: Path) -> None:
    app = tmp_path / "it's $(touch x) a; b.app"
    app.mkdir()
    sign_app(
        app,
        f"{PYTHON} 'import sys, pathlib; pathlib.Path(sys.argv[1], \"signed\").write_text(sys.argv[2])' {{app}} 'a b'",
    )
    assert (app / "signed").read_text() == "a b"
    assert {path.name for path in tmp_path.iterdir()} == {app.name}


@pytest.mark.parametrize("command", ["", "codesign", "codesign 'x {app}", "{app}", "codesign \0 {app}"])
def test_a_command_that_cannot_be_one_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="--ios-sign") as raised:
        signing_words(command)
    assert "codesign --force" in (raised.value.hint or "")


def test_a_failure_is_told_with_what_the_command_wrote(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"x\.app was not signed: .* exit status 3: no identity") as raised:
        sign_app(
            tmp_path / "x.app",
            f'{PYTHON} \'import sys; print("looking"); sys.stderr.write("no identity"); sys.exit(3)\' {{app}}',
        )
    assert "looking\nno identity" in (raised.value.hint or "")


def test_a_command_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no such program"):
        sign_app(tmp_path / "x.app", "no-such-codesign {app}")
