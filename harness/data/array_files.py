"""Files with arrays: `.npy`, `.npz`, and those of `torch.save`, which a process of their own reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from harness import shell
from harness.core.command import Command
from harness.core.errors import DataUnavailable
from harness.files.distributions import find_version
from harness.files.drafts import open_scratch_folder
from harness.files.installation import install_command
from harness.files.tensors import Array

SUFFIXES: Final = (".npy", ".npz", ".pt", ".pth")
"""Endings of files that are read."""

_TIMEOUT_S: Final = 600.0


def read_arrays(file: Path, names: Sequence[str]) -> list[Array]:
    """Return the array of each input, from the disk as far as the format allows.

    Args:
        file: The file.
        names: Names of the inputs that it holds. One array may have any name; several have the names of the inputs, or
            none and their order.

    Raises:
        DataUnavailable: It cannot be read, or does not hold the inputs.
    """
    arrays = _read(file)
    if len(arrays) == len(names) == 1:
        return list(arrays.values())
    if all(name in arrays for name in names):
        return [arrays[name] for name in names]
    if len(arrays) == len(names) and all(name.isdecimal() for name in arrays):
        return list(arrays.values())
    raise DataUnavailable(
        f"{file} holds {', '.join(f'`{name}`' for name in arrays) or 'nothing'}, the inputs are "
        f"{', '.join(f'`{name}`' for name in names)}",
        hint="save the arrays by the names of the inputs, or give a path for each input",
    )


def _read(file: Path) -> dict[str, Array]:
    if file.suffix not in SUFFIXES:
        raise DataUnavailable(f"{file}: files of examples end in {', '.join(SUFFIXES)}")
    if file.suffix in {".pt", ".pth"}:
        return _read_torch(file)
    try:
        if file.suffix == ".npy":
            return {"0": np.load(file, mmap_mode="r", allow_pickle=False)}
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise DataUnavailable(f"{file} cannot be read as an array: {reason}") from error


def _read_torch(file: Path) -> dict[str, Array]:
    """Return the tensors of a file; they stay mapped although the converted files are deleted."""
    if find_version("torch") is None:
        raise DataUnavailable(
            f"{file}: reading it needs torch, which is not installed",
            hint=f"save a `.npy` file, or {install_command({'executorch'})}",
        )
    with open_scratch_folder() as folder:
        argv = (sys.executable, "-P", "-m", "harness.data.torch_file", str(file.absolute()), str(folder))
        completed = shell.run(Command(argv, timeout_s=_TIMEOUT_S))
        if not completed.ok:
            lines = completed.stderr.strip().splitlines()
            raise DataUnavailable(f"{file} cannot be read: {lines[-1] if lines else completed.describe()}")
        names = json.loads((folder / "names.json").read_bytes())
        return {name: np.load(folder / f"{number}.npy", mmap_mode="r") for number, name in enumerate(names)}
