"""Flags that say how runners are built and what is measured of them: part of every command that measures again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from harness.config.settings import Settings


def measuring_flags(recipes: Sequence[Path], settings: Settings) -> tuple[str, ...]:
    """Return these flags as far as they were given, so that a command with them works in any folder.

    Args:
        recipes: Folders of further recipes.
        settings: How to measure.
    """
    flags = {
        "--frameworks-dir": [str(folder.resolve()) for folder in recipes],
        "--submodules": settings.submodules or (),
        "--framework": [settings.framework] if settings.framework else [],
        "--root-model-dir": [str(settings.root_model_dir.resolve())] if settings.root_model_dir else [],
        "--string-map": [json.dumps(settings.string_map)] if settings.string_map else [],
        "--env": [f"{name}={value}" for name, value in settings.env.items()],
        "--backend": [settings.backend] if settings.backend else [],
    }
    words = [word for flag, values in flags.items() if values for word in (flag, *values)]
    return (*words, *([f"--command-args={settings.command_args}"] if settings.command_args else []))
