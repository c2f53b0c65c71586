"""Shell scripts that run on phones, for Android's shell (mksh) and tools (toybox)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from importlib import resources


def read_script(name: str) -> str:
    """Return the text of a script without its comment lines, which no phone needs.

    Args:
        name: File name in this package, for example `state.sh`.
    """
    text = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return "".join(f"{line}\n" for line in text.splitlines() if not line.lstrip().startswith("#"))


def assign_variables(values: Mapping[str, str]) -> str:
    """Return lines that assign variables of a shell, one for each value."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
