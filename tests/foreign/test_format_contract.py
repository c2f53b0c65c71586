"""Every format that is installed keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import plugins
from harness.testing.foreign import check_format

_SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("name", plugins.installed_names("format"))
def test_formats_keep_their_contract(name: str) -> None:
    files = {file.name: file.read_text(encoding="utf-8") for file in _SAMPLES.glob(f"{name}.*")}
    assert check_format(plugins.foreign_format(name), files)
