"""What a person sees who made two dozen mistakes in one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import SpecificationError
from harness.specification.load import load

EXAMPLES = Path(__file__).parent / "examples"


def test_all_problems_of_a_file_are_explained_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    with pytest.raises(SpecificationError) as caught:
        load([Path("broken.json")])
    assert str(caught.value) + "\n" == (EXAMPLES / "broken.txt").read_text(encoding="utf-8")
