"""Scripts in a folder with a module that is called like a package of the harness: `import` finds the user's first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_RUN = """
import harness
try:
    harness.run("sort")
except harness.HarnessError as error:
    print(error.message)
"""
_LIST = "from harness.config.built_in import find_specifications; print('sort' in find_specifications())"


def run_script(folder: Path, hidden: str, script: str) -> tuple[str, str]:
    """Run a script beside a module; return what it prints, and what goes to standard error."""
    (folder / hidden).parent.mkdir(exist_ok=True)
    (folder / hidden).write_text("x = 1\n")
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        (sys.executable, "script.py"), cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("hidden", ["platforms.py", "platforms/__init__.py"])
def test_a_module_that_hides_a_package_is_named(tmp_path: Path, hidden: str) -> None:
    stdout, stderr = run_script(tmp_path, hidden, _RUN)
    assert stdout == f"{tmp_path / hidden} hides a package of the harness, which has the same name"
    assert stdout in stderr, "its options are unknown, too"


def test_specifications_are_found_whatever_the_user_has(tmp_path: Path) -> None:
    assert run_script(tmp_path, "specifications.py", _LIST) == ("True", "")
