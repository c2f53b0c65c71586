from __future__ import annotations

import pytest
from pydantic import JsonValue

from harness.core.same_work import DEFAULT_TOLERANCE, SameWorkRequest
from tests.specification.conftest import Complain, Expand


@pytest.mark.parametrize(
    ("of_model", "of_test", "expected"),
    [
        (None, None, None),
        (True, None, DEFAULT_TOLERANCE),
        (True, False, None),
        (False, True, DEFAULT_TOLERANCE),
        ({"tolerance": 0.01}, None, 0.01),
        ({"tolerance": 0.01}, {"reference": "eager", "tolerance": 0.02}, 0.02),
    ],
)
def test_the_test_decides_before_its_model(
    expand: Expand, of_model: JsonValue, of_test: JsonValue, expected: float | None
) -> None:
    model, test = ({} if entry is None else {"same_work": entry} for entry in (of_model, of_test))
    (benchmark,) = expand(model, test)

    assert benchmark.same_work == (None if expected is None else SameWorkRequest(tolerance=expected))


def test_a_proof_changes_nothing_of_what_is_measured(expand: Expand) -> None:
    assert expand({}, {})[0].digest == expand({}, {"same_work": True})[0].digest


@pytest.mark.parametrize("entry", [{"tolerance": 0}, {"tolerance": 1}, {"reference": "x"}, {"limit": 1}, "yes"])
def test_what_means_nothing_is_refused_at_its_place(complain: Complain, entry: JsonValue) -> None:
    (problem, *_) = complain({}, {"same_work": entry})

    assert problem.pointer.startswith("/tests/0/same_work")
