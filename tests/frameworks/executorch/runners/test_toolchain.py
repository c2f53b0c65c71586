from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.executorch.runners.toolchain import find_compiler
from tests.frameworks.executorch.scripts import script


def test_the_version_of_a_replaced_compiler_is_queried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = script(tmp_path / "cxx", "echo cxx 1.0")
    monkeypatch.setenv("CXX", str(compiler))
    assert find_compiler(tmp_path).version == "cxx 1.0"
    script(compiler, "echo cxx 10.0")
    assert find_compiler(tmp_path).version == "cxx 10.0"


def test_a_damaged_version_cache_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "cxx", "echo cxx 1.0")))
    (tmp_path / "tools.json").write_text("{")
    assert find_compiler(tmp_path).version == "cxx 1.0"
