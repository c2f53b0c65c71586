"""Catalogue of the recipes that lower models, as `frameworks.executorch.recipes` describes them."""

from __future__ import annotations

from typing import Final

from frameworks.exporting.catalogue import recipes_of

RECIPES: Final = recipes_of("executorch")
