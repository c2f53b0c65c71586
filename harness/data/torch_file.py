"""Process that converts a file of `torch.save` to files of NumPy.

    python -m harness.data.torch_file FILE FOLDER

It writes `names.json`, the names of the tensors (numbers where they have none), and in that order `0.npy`, `1.npy`, ...
The file may hold a tensor, a list or tuple of tensors, or a dictionary of them; code in it is not executed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch


def main(file: str, folder: str) -> None:
    """Convert a file.

    Args:
        file: The file.
        folder: An existing folder for the arrays.
    """
    tensors = _by_name(torch.load(file, map_location="cpu", weights_only=True))
    for number, tensor in enumerate(tensors.values()):
        values = tensor.detach()
        if values.dtype == torch.bfloat16:
            values = values.float()
        np.save(Path(folder) / f"{number}.npy", values.contiguous().numpy())
    (Path(folder) / "names.json").write_text(json.dumps(list(tensors)), encoding="utf-8")


def _by_name(content: object) -> dict[str, torch.Tensor]:
    if isinstance(content, torch.Tensor):
        content = [content]
    if isinstance(content, list | tuple):
        content = {str(number): tensor for number, tensor in enumerate(content)}
    if isinstance(content, dict):
        tensors = {str(name): tensor for name, tensor in content.items() if isinstance(tensor, torch.Tensor)}
        if tensors and len(tensors) == len(content):
            return tensors
    raise TypeError(f"it holds {type(content).__name__}, expected a tensor, or a list or dictionary of tensors")


if __name__ == "__main__":
    main(*sys.argv[1:])
