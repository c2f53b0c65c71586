"""Values of the flags that decide, refused in the words of the command line."""

from __future__ import annotations

import pytest

from harness.core.errors import UsageError
from harness.flows.compare.requests import decided_by


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"max_pairs": 0}, "--pairs 0: it has to be at least 1"),
        ({"max_seconds": 0.0}, "--seconds 0.0: it has to be above 0"),
        ({"alpha": 1.5}, "--alpha 1.5: it has to be below 1"),
        ({"max_pairs": "many"}, "--pairs many: input should be a valid integer"),
    ],
)
def test_a_value_that_cannot_be_names_its_flag_and_the_limit(values: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        decided_by({"seed": 1, **values})
    assert caught.value.message.startswith(told)
