"""What a module tells about itself, and its capture."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from frameworks.exporting.capture import capture, find_constants, find_dynamic_shapes
from harness.core.errors import ExportFailed


class Sum(nn.Module):
    """Adds the numbers of each row; as many columns as there are."""

    def __init__(self, **constants: object) -> None:
        super().__init__()
        self.constants = constants

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.sum(dim=1)

    def dynamic_shapes(self) -> tuple[dict[int, object]]:
        return ({1: torch.export.Dim("columns", min=1, max=64)},)

    def constant_methods(self) -> dict[str, object]:
        return self.constants


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's own
def test_a_captured_program_takes_the_sizes_that_the_module_lets_vary() -> None:
    captured = capture(Sum(), (torch.ones(2, 3),)).module()

    assert captured(torch.ones(2, 64)).tolist() == [64, 64]
    assert captured(torch.ones(2, 1)).tolist() == [1, 1]
    with pytest.raises(AssertionError):
        captured(torch.ones(2, 65))


def test_a_module_that_tells_nothing_has_fixed_sizes_and_no_constants() -> None:
    assert find_dynamic_shapes(nn.ReLU()) is None
    assert find_constants(nn.ReLU()) == {}


def test_constants_are_numbers_truth_values_texts_and_lists_of_whole_numbers() -> None:
    constants = find_constants(Sum(get_size=3, use_cache=True, scale=0.5, name="a\nb", get_ids=[1, 2]))

    assert constants == {"get_size": 3, "use_cache": True, "scale": 0.5, "name": "a\nb", "get_ids": (1, 2)}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("forward", 1),
        ("get size", 1),
        ("../x", 1),
        ("", 1),
        ("ids", []),
        ("ids", [1.5]),
        ("ids", ["a"]),
        ("size", None),
    ],
)
def test_other_constants_are_refused_in_words(name: str, value: object) -> None:
    with pytest.raises(ExportFailed, match="cannot stand in a program"):
        find_constants(Sum(**{name: value}))
