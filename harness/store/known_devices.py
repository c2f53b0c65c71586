"""Devices that results of a tree are of. Light: every command that loads a specification imports it."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Final

from harness.core.device import device_names

INDEX_FILE: Final = "index.jsonl"
"""Index of a tree of results (`harness.store.index`)."""


def was_measured_on(folder: Path, device: str) -> bool:
    """Return whether the index of a tree lists a result of a device, by its identity or its name."""
    try:
        lines = (folder / INDEX_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return device != "" and any(device in line and device in _names(line) for line in lines)


def _names(line: str) -> tuple[str, ...]:
    """Return the names of the device of one line (`harness.store.index.IndexEntry`); none of a damaged one."""
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        entry = json.loads(line)
        return (*device_names(str(entry.get("device") or "")), str(entry.get("device_name") or ""))
    return ()
