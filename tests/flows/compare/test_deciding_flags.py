"""Validation of the flags that control decisions."""

from __future__ import annotations

import pytest

from harness.core.errors import UsageError
from harness.flows.compare.requests import validate_parameters


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_pairs": 0}, "--pairs 0: must be at least 1"),
        ({"max_seconds": 0.0}, "--seconds 0.0: must be above 0"),
        ({"alpha": 1.5}, "--alpha 1.5: must be below 1"),
        ({"max_pairs": "many"}, "--pairs many: input should be a valid integer"),
    ],
)
def test_an_invalid_value_is_refused_with_its_flag_and_limit(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        validate_parameters({"seed": 1, **values})
    assert caught.value.message.startswith(message)
