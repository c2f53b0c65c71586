"""Options of this framework (`backend_options` of a specification). Imports nothing: the harness checks them, too."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "delegate": ("xnnpack", "none", "reference"),
        "precision": ("f32", "f16"),
        "api": ("interpreter", "compiled_model"),
        "layout": ("nchw", "nhwc"),
    }
)
"""Values of each option, the default first."""
