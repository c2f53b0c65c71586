from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

import pytest
from pydantic import ValidationError

from harness.core.comparison import Comparison
from harness.core.result import Result
from harness.testing.results import ok_result
from tests.presentation.comparison_samples import compared, made_pairs

COMPARED: Final = compared("a", made_pairs(0.1, 6))


def test_a_deferred_part_survives_json_and_keeps_its_class() -> None:
    assert isinstance(COMPARED.comparison, Comparison)
    again = Result.model_validate_json(COMPARED.model_dump_json())
    assert again == COMPARED
    assert isinstance(again.comparison, Comparison)
    assert Result.model_validate(COMPARED.model_dump()) == COMPARED


def test_what_is_written_of_it_follows_the_options_of_writing() -> None:
    assert COMPARED.comparison is not None
    whole = COMPARED.model_dump(mode="json", exclude_defaults=True)
    assert whole["comparison"] == COMPARED.comparison.model_dump(mode="json", exclude_defaults=True)
    assert "rank" not in whole


@pytest.mark.parametrize("mode", ["python", "json"])
def test_a_mistake_in_it_is_told_at_its_place(mode: str) -> None:
    document = json.loads(COMPARED.model_dump_json())
    document["comparison"]["pairs"][0]["control"] = "slow"
    document["comparison"]["new"] = 1
    with pytest.raises(ValidationError) as caught:
        Result.model_validate(document) if mode == "python" else Result.model_validate_json(json.dumps(document))
    places = {error["loc"][:3] for error in caught.value.errors()}
    assert places == {("comparison", "pairs", 0), ("comparison", "new")}


def test_another_value_in_its_place_is_refused() -> None:
    with pytest.raises(ValidationError):
        Result.model_validate({**ok_result().model_dump(), "rank": ok_result().benchmark})


def test_its_class_is_made_when_it_is_met_first() -> None:
    code = (
        "import sys; from harness.core.result import Result; from harness.testing.results import ok_result;"
        "module = 'harness.core.ranking'; text = ok_result().model_dump_json(); before = module in sys.modules;"
        "Result.model_json_schema(); print(before, module in sys.modules)"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
