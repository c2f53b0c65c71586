"""Recipes: how a model is lowered to an ExecuTorch program.

Every public module of this folder is a recipe of that name. It has one function,

    lower(module, example_inputs, calibration) -> EdgeProgramManager

which gets the module in evaluation mode, a tuple of example tensors, and an iterable of tuples like them that only a
recipe with static quantisation reads, once. It may change the module. A new recipe is a new file.

Finding recipes imports none of them, because they import ExecuTorch's exporter.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from frameworks.executorch.exporting.catalogue import Entry, choose, public_modules, summary


def known() -> Mapping[str, Entry]:
    """The recipes by name."""
    return {
        name: Entry(name, f"{__name__}.{name}", "lower", summary(source))
        for name, source in public_modules(Path(__file__).parent).items()
    }


def find(recipe: str) -> Entry:
    """The recipe of that name.

    Raises:
        ExportFailed: There is none.
    """
    return choose("export recipe", recipe, known())
