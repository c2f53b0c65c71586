"""The public names of `import harness`."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys

import pytest

import harness
from harness import api
from tests.api import names_file


def test_importing_the_harness_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import harness; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == ["harness"]


def test_every_public_name_is_there_with_its_documentation() -> None:
    for name in set(harness.__all__) - {"__version__"}:
        assert getattr(harness, name) is getattr(api, name)
        assert getattr(harness, name).__doc__
    assert set(api.__all__) == set(harness.__all__) - {"__version__"}
    assert set(harness.__all__) <= set(dir(harness))


def test_no_public_name_is_that_of_a_module() -> None:
    """The import of a module would replace the name: `harness.run.x` makes `harness.run` a module."""
    modules = [name for name in harness.__all__ if importlib.util.find_spec(f"harness.{name}") is not None]
    assert not modules


def test_other_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        harness.rnu  # type: ignore[attr-defined]  # noqa: B018


def test_the_keywords_are_those_of_the_options() -> None:
    assert names_file.FILE.read_text() == names_file.current(), "run python -m tests.api.names_file"
