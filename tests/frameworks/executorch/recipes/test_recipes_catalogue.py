from __future__ import annotations

import pytest

from frameworks.executorch import recipes
from harness.core.errors import ExportFailed


def test_every_recipe_is_listed_with_a_summary() -> None:
    known = recipes.known()

    assert set(known) == {
        "portable",
        "xnnpack_fp16",
        "xnnpack_fp32",
        "xnnpack_q8",
        "xnnpack_q8_dynamic",
        "xnnpack_q8_relu6",
    }
    assert all(entry.summary for entry in known.values())


def test_a_misspelt_recipe_gets_a_suggestion_and_the_list() -> None:
    with pytest.raises(ExportFailed, match="unknown export recipe `xnnpack-q8`") as failure:
        recipes.find("xnnpack-q8")

    hint = failure.value.hint or ""
    assert "did you mean `xnnpack_q8`?" in hint
    assert "portable" in hint
