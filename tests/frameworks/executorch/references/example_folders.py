"""Example folders of given arrays, and a task that keeps what it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from harness.core.examples import DataRequest, Split, TensorInfo
from harness.files.examples import write_examples


@dataclass
class Silent:
    texts: list[str | None] = field(default_factory=list)

    def update(self, *, completed: float | None = None, total: float | None = None, text: str | None = None) -> None:
        self.texts.append(text)


def write_test_examples(folder: Path, *inputs: NDArray[Any]) -> Path:
    """Write examples: one array for each input, with one row for each example."""
    infos = [
        TensorInfo(name=f"x{number}", dtype=str(array.dtype), shape=array.shape[1:])
        for number, array in enumerate(inputs)
    ]
    request = DataRequest(provider="random")
    with write_examples(folder, infos, request=request, split=Split.EVALUATION, description="of a test") as writer:
        for example in zip(*inputs, strict=True):
            writer.add(example)
    return folder
